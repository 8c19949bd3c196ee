"""All values that a script can reach from a report are plain Python values, and JSON can hold them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision import pva
from popvision.pva.listview import ListView
from tests.samples import SAMPLES

REPORTS = ["made", "pipeline", "replicated_training", "out_of_memory"]
PLAIN = (int, float, str, bool, type(None))
#: Methods to call, and their arguments; other methods are skipped.
ASKED = {
    "alwaysLiveVariablesForTile": (0,),
    "notAlwaysLiveMemoryForTile": (0,),
    "notAlwaysLiveMemoryForIpu": (0,),
    "forTile": (0,),
    "blocks": (0,),
    "programs": (),
}
#: Items visited in a long list.
MOST = 5


class Walk:
    """Everything below an object as dicts, lists and plain values; an object met before is a reference to it."""

    def __init__(self) -> None:
        self.seen: dict[Any, int] = {}
        self.kinds: set[str] = set()

    def of(self, value: Any) -> Any:
        if type(value) in PLAIN:
            return value
        if isinstance(value, Enum):
            assert type(value.value) is int
            return [value.name, value.value]
        if isinstance(value, dict):
            return {self.of(key): self.of(each) for key, each in value.items()}
        if isinstance(value, list | ListView) or type(value) is tuple:
            return self.items(value)
        assert type(value).__module__.startswith("popvision.pva"), f"{type(value)} leaks"
        self.kinds.add(type(value).__name__)
        key = (type(value).__name__, value) if not isinstance(value, tuple) else None
        if key in self.seen:
            return {"as": self.seen[key]}
        if key is not None:
            self.seen[key] = len(self.seen)
        return {name: self.of(each) for name, each in self.attributes(value)}

    def items(self, values: Sequence[Any]) -> list[Any]:
        if values and type(values[0]) in PLAIN:
            assert type(values) is list
            assert {type(each) for each in values} <= set(PLAIN)
            json.dumps(values)
            assert np.array(values).tolist() == values
            return values
        chosen = values if len(values) <= MOST else [*values[: MOST - 2], values[len(values) // 2], values[-1]]
        assert len(list(values)) == len(values)
        return [self.of(each) for each in chosen]

    def attributes(self, value: Any) -> list[tuple[str, Any]]:
        found = []
        for name in dir(value):
            if name.startswith("_") and name != "_id":
                continue
            if name == "unloweredVar" and not value.hasUnloweredVar:
                continue
            each = getattr(value, name)
            if isinstance(each, type):
                continue
            if not callable(each) or isinstance(each, int):
                found.append((name, each if not isinstance(each, int) or isinstance(each, bool | Enum) else int(each)))
            elif name in ASKED:
                found.append((name, each(*ASKED[name])))
        return found


def walked(path: Path) -> tuple[Any, set[str]]:
    report, walk = pva.openReport(path), Walk()
    facts = walk.of(report)
    if path.with_name("debug.cbor").exists():
        facts["operations"] = walk.of(pva.OperationAnalysis(report))
    return facts, walk.kinds


@pytest.mark.parametrize("name", REPORTS)
def test_no_value_is_numpys(name: str, made_path: Path) -> None:
    path = made_path if name == "made" else SAMPLES / name / "profile.pop"
    facts, kinds = walked(path)
    text = json.dumps(facts)
    assert len(text) > 20_000
    assert json.loads(text) == json.loads(json.dumps(walked(path)[0]))
    expected = {
        "Report",
        "CompilationReport",
        "ExecutionReport",
        "Target",
        "Tile",
        "TileMemory",
        "ComputeSet",
        "Variable",
        "LivenessProgramStep",
        "LoweredVar",
        "BriefVar",
        "EquivalenceClass",
        "OnTileExecuteProgram",
        "Operation",
        "DebugContext",
        "VertexInstances",
        "TileVertex",
    }
    expected |= set() if name == "out_of_memory" else {"Run", "ExecutionStep", "StepIpu", "CycleWindow", "MinMax"}
    assert expected <= kinds


def test_lists_behave_as_lists(made: pva.Report) -> None:
    steps, programs = made.execution.steps, made.compilation.programs
    assert steps[-1] == steps[len(steps) - 1]
    assert list(steps[2:8:2]) == [steps[2], steps[4], steps[6]]
    assert programs[1:3] + programs[3:4] == list(programs[1:4])
    assert list(steps[:1]) + programs[0:1] == [steps[0], programs[0]]
    assert programs[0:2] == [programs[0], programs[1]]
    assert programs[0:2] != [programs[0]]
    assert next(reversed(programs)) == programs[-1]
    assert programs[5] in programs
    assert programs.index(programs[5]) == 5
    assert sorted(programs, key=lambda p: -p._id)[0] == programs[-1]
    assert programs[np.int64(3)] == programs[3]  # type: ignore[call-overload]
    for number, program in enumerate(programs):
        assert program == programs[number]
    with pytest.raises(TypeError):
        _ = programs["0"]  # type: ignore[call-overload]
