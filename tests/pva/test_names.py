"""Names of pva without a number: enums, visitors, debug contexts, printed objects."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from popvision.formats.debug_info import DebugInfo, write_debug_info
from tests.pva.made import make
from tests.reports import write_tiny


def test_both_spellings_of_open_report(made_path: Path) -> None:
    debug = str(made_path.with_name("debug.json"))
    reports = [
        pva.openReport(made_path),
        pva.openReport(filename=str(made_path)),
        pva.openReport(str(made_path), debug),
        pva.openReport(profileFilename=str(made_path), debugInfoFilename=debug),
        pva.openReport(made_path.parent),
    ]
    assert len({report.execution.totalCycles.total for report in reports}) == 1
    with pytest.raises(TypeError, match=r"needs the path of a profile\.pop"):
        pva.openReport()


def test_names_live_in_pva_core() -> None:
    for name in pva.pva_core.__all__:
        assert getattr(pva, name) is getattr(pva.pva_core, name)
    assert pva.pva_core.Program.Type.StreamCopyMid.name == "StreamCopyMid"


def test_ids_are_positions(made: pva.Report) -> None:
    c = made.compilation
    assert [each._id for each in c.computeSets] == list(range(len(c.computeSets)))
    assert all(c.computeSets[p.computeset._id] == p.computeset for p in c.programs if hasattr(p, "computeset"))


def test_format_is_stable(made: pva.Report) -> None:
    assert made.version.isUnstableFormat is False


def test_name_of_the_engine(made: pva.Report, tmp_path: Path) -> None:
    assert made.compilation.name == ""
    write_tiny(tmp_path / "training")
    assert pva.openReport(tmp_path / "training").compilation.hostInfo == {}


SETTINGS = pva.InstrumentationSettings
ENUMS: list[tuple[Any, dict[str, int]]] = [
    (SETTINGS.ComputeInstrumentationLevel, {"Off": 0, "Vertex": 1, "Tile": 2, "Ipu": 3, "Device": 4, "Unknown": 5}),
    (SETTINGS.ExternalExchangeInstrumentationLevel, {"Off": 0, "Tile": 1, "Unknown": 2}),
    (pva.Target.Type, {"Ipu": 0, "IpuModel": 1, "Cpu": 2, "Unknown": 3}),
    (pva.IPU.Architecture, {"Ipu1": 1, "Ipu2": 2, "Ipu21": 3, "Unknown": 4}),
    (pva.Program.Type, {"Sequence": 0, "OnTileExecute": 7, "DoExchange": 8, "StreamCopyMid": 11, "Sync": 13}),
]


@pytest.mark.parametrize(("enum", "values"), ENUMS, ids=lambda value: getattr(value, "__qualname__", None))
def test_enums_are_bound_enums(enum: Any, values: dict[str, int]) -> None:
    assert issubclass(enum, Enum)
    for name, value in values.items():
        member = enum.__members__[name]
        assert (member.name, member.value, int(member)) == (name, value, value)
        assert {member: 1}[getattr(enum, name)] == 1
        assert member in [member]
        assert member != value
    assert SETTINGS.Off is SETTINGS.ExternalExchangeInstrumentationLevel.Off
    assert SETTINGS.Vertex is SETTINGS.ComputeInstrumentationLevel.Vertex
    assert SETTINGS.Unknown is SETTINGS.ExternalExchangeInstrumentationLevel.Unknown


def test_every_type_of_program_is_dispatched(made: pva.Report) -> None:
    """Each program calls the method of its own type, once, and none of its children's."""
    seen: list[tuple[str, int]] = []

    class Visitor(pva.ProgramVisitor):
        def __init__(self) -> None:
            super().__init__()

    for name in pva.Program.Type.__members__:
        assert getattr(pva.ProgramVisitor(), f"visit{name}")(None) is None  # nothing unless overridden
        setattr(Visitor, f"visit{name}", lambda self, program, name=name: seen.append((name, program._id)))
    visitor = Visitor()
    for program in made.compilation.programs:
        program.accept(visitor)
    assert seen == [(p.type.name, p._id) for p in made.compilation.programs]
    assert len({name for name, _ in seen}) > 9
    classes = {p.type.name: type(p).__name__ for p in made.compilation.programs}
    assert classes["OnTileExecute"] == "OnTileExecuteProgram"
    assert classes["StreamCopyBegin"] == "StreamCopyBeginProgram"
    assert classes["Sync"] == classes["Repeat"] == "Program"
    assert not issubclass(pva.GlobalExchangeProgram, pva.DoExchangeProgram)


def test_debug_contexts(made: pva.Report, made_path: Path) -> None:
    records = {record["id"]: record for record in json.loads(made_path.with_name("debug.json").read_text())["contexts"]}
    found = 0
    for program in made.compilation.programs:
        for context in program.debugContexts:
            record = records[context.id]
            assert json.loads(context.layer)["layer"] == record["layer"]
            assert context.name == record["name"]
            assert json.loads(context.json) == record["arguments"] | record
            assert [parent.id for parent in context.parents] == record["parents"]
            assert (context.location.fileName, context.location.lineNumber) == (record["file"], record["line"])
            assert context == next(iter(program.debugContexts))
            found += bool(record["parents"]) and bool(record["arguments"])
    assert found > 3
    assert len({c for p in made.compilation.programs for c in p.debugContexts}) > 5
    lines = {
        c.location.lineNumber
        for p in made.compilation.programs
        for c in p.debugContexts
        if "made.py" in c.location.fileName
    }
    assert len(lines) > 5


def test_what_a_framework_replaced(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    contexts = [
        DebugInfo(0, (), "poptorch", "linear", {"op_name": "linear", "op_type": "MatMul"}, {}, "model.py", 7),
        DebugInfo(1, (0,), "popart", "Call", {"replacedDebugContextIds": "[0]", "inputs": None}),
        DebugInfo(2, (1,), "poplibs", "Call/matMul"),
    ]
    write_debug_info(tmp_path, contexts, "tiny-run")
    (operation,) = pva.OperationAnalysis(pva.openReport(path, tmp_path / "debug.cbor"), "popart").operations
    (context,) = operation.replacedDebugContext
    assert json.loads(context.json)["op_name"] == "linear"
    assert context.location.lineNumber == 7
    assert json.loads(operation.debugContext.json)["inputs"] is None
    assert context.replaced == []
    assert operation.debugContext.replaced == [context]


def everything(report: pva.Report) -> list[Any]:
    c, e = report.compilation, report.execution
    step, live = e.steps[-1], c.livenessProgramSteps[0]
    tile, analysis = c.tiles[3].memory, pva.OperationAnalysis(report)
    brief = c.loweredVariables.allBriefVars[0]
    return [
        report,
        c,
        e,
        report.poplarVersion,
        report.version,
        report.instrumentationSettings,
        c.target,
        c.graph,
        c.ipus[0],
        c.tiles[0],
        tile,
        tile.total,
        tile.category,
        tile.category.variable,
        tile.vertices[0],
        c.computeSets[0],
        c.computeSets[0].vertices[0],
        c.programs[0],
        live,
        live.notAlwaysLiveMemory,
        c.alwaysLiveVariables[0],
        c.loweredVariables,
        brief,
        brief.equivalenceClass,
        c.loweredVariables.forTile(0)[0],
        e.runs[0],
        step,
        step.ipus[0],
        step.ipus[0].allCycles,
        e.totalCycles,
        e.runs[0].microseconds,
        analysis,
        analysis.operations[0],
        c.programs[21].debugContexts[0],
    ]


def test_everything_has_a_repr(made: pva.Report) -> None:
    for each in everything(made):
        text = repr(each)
        assert text.startswith(type(each).__name__) or isinstance(each, pva.Program), text
        assert " object at 0x" not in text
        assert "\n" not in text
        assert len(text) < 400, text
    assert made.compilation.ipus[1].id == 1


def test_a_second_report_of_the_same_program_says_the_same(made: pva.Report, tmp_path: Path) -> None:
    """Printing lengths belong to a report; figures do not depend on the run."""
    other = pva.openReport(make(tmp_path, autoReport_executionProfileProgramRunCount="1"))
    other.listPrintLength(1)
    assert len(repr(other.compilation.programs)) < len(repr(made.compilation.programs))
    assert repr(other.compilation.alwaysLiveVariables).endswith(
        f"... {len(other.compilation.alwaysLiveVariables) - 1} more]"
    )
    assert repr(other.execution.steps[0:2]).count("ExecutionStep(") == 1
    assert len(other.execution.runs) == 1
    assert other.execution.steps[5].cyclesByTile == made.execution.steps[5].cyclesByTile
