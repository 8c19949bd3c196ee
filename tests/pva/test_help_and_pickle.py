"""What an interactive user sees (help, repr), and what may be handed to another process."""

from __future__ import annotations

import json
import os
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision import pva
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil
from tests.pva.made import make

ROOT = Path(__file__).parents[2]


def test_help_lists_classes_and_functions() -> None:
    text = pydoc.plain(pydoc.render_doc(pva))
    for name in pva.pva_core.__all__:
        assert f"    {name}(" in text or f"    class {name}" in text, name
    assert "libpva's names for a graph profile" in text


def test_help_of_the_name_that_scripts_use() -> None:
    script = "import pva, pydoc; print(pydoc.plain(pydoc.render_doc(pva)))"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'compat'}"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    for wanted in ("class Report", "class OnTileExecuteProgram", "openReport(", "openTrace(", "libpva's names"):
        assert wanted in done.stdout


ENUMS = [
    pva.Program.Type,
    pva.Target.Type,
    pva.IPU.Architecture,
    pva.InstrumentationSettings.ComputeInstrumentationLevel,
    pva.InstrumentationSettings.ExternalExchangeInstrumentationLevel,
]


@pytest.mark.parametrize("enum", ENUMS)
def test_members_of_enums_pickle_and_print(enum: Any) -> None:
    for member in enum:
        assert pickle.loads(pickle.dumps(member)) is member
        assert repr(member) == f"<{enum.__qualname__}.{member.name}: {member.value}>"


def test_enums_print_the_class_they_belong_to() -> None:
    assert repr(pva.Program.Type.DoExchange) == "<Program.Type.DoExchange: 8>"
    assert repr(pva.Target.Type.IpuModel) == "<Target.Type.IpuModel: 1>"


def test_programs_print_their_own_class(made: pva.Report) -> None:
    for program in made.compilation.programs:
        assert repr(program).startswith(f"{type(program).__name__}(_id={program._id}, type={program.type.name}")


def test_value_objects_pickle(made: pva.Report) -> None:
    c, step = made.compilation, made.execution.steps[5]
    memory = c.tiles[3].memory
    values = [
        made.poplarVersion,
        made.version,
        c.graph,
        memory.total,
        memory.category.variable,
        memory.category.variable.nonInterleaved,
        memory.vertices[0],
        memory.vertices[0].type,
        step.ipus[0].allCycles,
        step.ipus[0].allCycles.cyclesTo,
        made.execution.runs[0].microseconds,
        c.loweredVariables.forTile(0)[0].equivalenceClass.steps[0],
        c.programs[21].debugContexts[0].location,
    ]
    assert pickle.loads(pickle.dumps(values)) == values
    settings = pickle.loads(pickle.dumps(made.instrumentationSettings))
    assert (settings.compute, repr(settings)) == (
        made.instrumentationSettings.compute,
        repr(made.instrumentationSettings),
    )


def test_objects_of_a_report_say_that_they_cannot(made: pva.Report) -> None:
    c = made.compilation
    for each in (made, c.tiles[0], c.programs[3], c.loweredVariables.forTile(0)[0], made.execution.runs[0]):
        with pytest.raises(
            TypeError, match="objects of an opened report cannot be pickled: open the report in the other"
        ):
            pickle.dumps(each)


def test_arguments_keep_their_values_beside_the_records_own(tmp_path: Path) -> None:
    """A framework may name its arguments like keys of the record: id, name, layer, line ..."""
    device = IPUModel().createDevice()
    graph, program = Graph(device), Sequence()
    given = {"name": "dense", "id": "op:7", "parents": "none", "file": "model.onnx", "line": 12, "opName": "MatMul"}
    info = graph.addDebugInfo("layer", "onnx", **given)
    info.setValue("layer", "popart")
    t = graph.addVariable(FLOAT, [4], (info, "t"))
    poputil.mapTensorLinearly(graph, t)
    popops.addInPlace(graph, t, t, program, (info, "twice"))
    graph.createHostWrite("t", t)
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}) as engine:
        engine.load(device)
        engine.writeTensor("t", np.ones(4, np.float32))
        engine.run(0)
    report = pva.openReport(tmp_path / "profile.pop", tmp_path / "debug.cbor")
    pending = [context for p in report.compilation.programs for context in p.debugContexts]
    found = {}
    while pending:
        context = pending.pop()
        found[context.id] = context
        pending += context.parents
    mine = next(context for context in found.values() if json.loads(context.layer)["layer"] == "onnx")
    assert json.loads(mine.json).items() >= (given | {"layer": "popart"}).items()
    assert (mine.id, mine.name) == (mine.id, "layer")
    assert "outputs" in json.loads(mine.json)


def test_the_wrong_one_of_two_files_is_named(made_path: Path, tmp_path: Path) -> None:
    debug = made_path.with_name("debug.cbor")
    (tmp_path / "text.pop").write_text("no database")
    cases = [
        ((tmp_path / "gone.pop", debug), r"the first file of openReport, the profile: .*gone\.pop does not exist"),
        ((tmp_path / "text.pop", debug), r"the first file of openReport, the profile: .*text\.pop"),
        ((made_path, tmp_path / "gone.cbor"), r"the second file of openReport, the debug .*gone\.cbor does not exist"),
        ((made_path, tmp_path / "text.pop"), r"the second file of openReport, .*text\.pop is not debug information"),
        (
            (debug, made_path),
            r"two files in the wrong order: .*debug\.cbor is debug information .* give the profile\.pop",
        ),
        ((made_path.with_name("debug.json"), made_path), "two files in the wrong order"),
    ]
    for files, sentence in cases:
        with pytest.raises(pva.FormatError, match=sentence) as refused:
            pva.openReport(*files)
        assert "\n" not in str(refused.value)


def test_another_run_is_named_as_before(made_path: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    with pytest.raises(pva.FormatError, match=r"debug\.cbor was written by another run"):
        pva.openReport(made_path, other.with_name("debug.cbor"))
