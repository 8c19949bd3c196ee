"""Codelets as people write them, a feature each: every source of corpus/ compiles, runs, and equals its NumPy twin."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_twins import TWINS
from graphs import Bench

from simulator.poplar import FLOAT, CodeletFileType, Device

CORPUS = Path(__file__).parent / "corpus"
DOCUMENT = Path(__file__).parents[2] / "docs" / "codelets.md"
X = np.arange(1, 13, dtype=np.float32)
#: What fields of other names are connected to.
STATE = {"factor": 2.5, "flag": True, "table": [1.0, 2.0, 3.0]}


#: Names in the graph of templates and specialisations, as Poplar spells them.
NAMES = {
    "float2_as_template_argument": ["Feature<float2>"],
    "full_specialisation": ["Feature<float>"],
    "half2_as_template_argument": ["Feature<half2>"],
    "parameter_pack": ["Feature<1,2,3>"],
    "partial_specialisation": ["Feature<float,3>"],
    "specialised_and_instantiated": ["Feature<float>", "Feature<int>"],
}


def test_each_source_has_a_twin_and_a_line_in_the_document() -> None:
    sources = {path.stem: path.read_text().splitlines()[0].removeprefix("// ") for path in CORPUS.glob("*.cpp")}
    assert set(sources) == set(TWINS)
    document = DOCUMENT.read_text()
    rows = {name: f"| [{name}](../tests/codelets/corpus/{name}.cpp) | {shows} |" for name, shows in sources.items()}
    assert [name for name, row in rows.items() if row not in document] == []
    assert document.count("(../tests/codelets/corpus/") == len(rows)


@pytest.mark.parametrize("name", sorted(TWINS))
def test_source_equals_its_twin(name: str) -> None:
    bench = Bench(device=Device.createCPUDevice())  # nothing is counted there: half of the compiler's time
    source = CORPUS / f"{name}.cpp"
    flags = "--ipu-path=only" if "asm" in source.read_text() else ""  # assembly is for hardware
    bench.graph.addCodelets(str(source), CodeletFileType.Auto, flags)
    types = [type_ for type_ in bench.graph.store.vertex_types.values() if type_.name.startswith("Feature")]
    assert sorted(type_.name for type_ in types) == NAMES.get(name, [types[0].name])
    type_ = min(types, key=lambda type_: type_.name)
    fields: dict[str, Any] = {}
    for field in type_.fields:
        if field.name == "in":
            rows = bench.tensor("x", FLOAT, X)
            fields["in"] = [rows[3 * row : 3 * row + 3] for row in range(4)] if field.kind == "vectors" else rows
        else:
            fields[field.name] = STATE.get(field.name, 0)
    fields["out"] = bench.tensor("y", FLOAT, np.zeros(12))
    bench.vertex(type_.name, fields)
    twin: Callable[[Any], Any] = TWINS[name]
    np.testing.assert_allclose(bench.run(["y"])[0], twin(X), rtol=2e-6)
