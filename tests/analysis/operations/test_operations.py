"""Operations of a layer: nothing lost, nothing counted twice, against plain SQL, struct and the debug file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from popvision import pva
from popvision.analysis.compare.operations import compared_operations
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.operations.code import code_in_memory
from popvision.analysis.operations.derived import derived_table, quotient
from popvision.analysis.operations.operations import operation_row, operations
from popvision.analysis.operations.owners import NO_OPERATION, operations_above, owners
from popvision.analysis.operations.table import (
    BY_NAME,
    NOT_ATTRIBUTED,
    deepest_level,
    operation_groups,
    operation_table,
)
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.debug_info import DebugContexts, DebugInfo, write_debug_info
from tests.analysis.operations.operation_case import run_operations
from tests.reports import write_tiny


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(run_operations(tmp_path_factory.mktemp("operations")))


def contexts_of(source: ReportSource) -> dict[int, dict[str, Any]]:
    return {each["id"]: each for each in json.loads((source.folder / "debug.json").read_bytes())["contexts"]}


def name_of_operation(contexts: dict[int, dict[str, Any]], id: int, layer: str) -> str:
    """The outermost context's name, found by walking up; "" where none is of the layer."""
    found = ""
    while id in contexts:
        if contexts[id]["layer"] == layer:
            found = contexts[id]["name"]
        id = contexts[id]["parents"][0] if contexts[id]["parents"] else -1
    return found


def by_name(source: ReportSource, query: str, layer: str = "poplibs") -> dict[str, int]:
    """Sum of (debug_id, value) rows by the name of the operation."""
    contexts, sums = contexts_of(source), dict[str, int]()
    with closing(sqlite3.connect(source.reader.path)) as db:
        for debug_id, value in db.execute(query):
            name = name_of_operation(contexts, debug_id, layer)
            sums[name] = sums.get(name, 0) + value
    return sums


def column(source: ReportSource, field: str, layer: str = "poplibs") -> dict[str, int]:
    found = operations(source, layer)
    values = found.columns()[field].tolist()
    sums: dict[str, int] = {}
    for name, value in zip(found.owners.name, values, strict=True):
        sums[name] = sums.get(name, 0) + value
    return sums


@pytest.mark.parametrize("layer", ["poplibs", "poplar"])
def test_every_figure_and_what_is_not_attributed_add_up(source: ReportSource, layer: str) -> None:
    found = operations(source, layer)
    assert found.missing == []
    columns = found.columns()
    line = curve(source)
    top = peak(line)
    code = code_in_memory(source)
    assert columns["programs"].sum() == len(source.reader.programs().type)
    assert columns["cycles"].sum() == source.reader.total_cycles() > 0
    assert columns["received"].sum() == source.reader.steps_on_ipu(0).data_in.sum() > 0
    assert columns["always_live"].sum() == line.always_live > 0
    assert columns["live_at_peak"].sum() == top.not_always_live > 0
    assert columns["code"].sum() == sum(code.values())
    for name in ("exchange", "control", "vertex"):
        assert columns[f"{name}_code"].sum() == code[name] > 0
    assert min(values.min() for name, values in columns.items() if not name.startswith("flops")) >= 0


def test_cycles_steps_and_bytes_are_those_of_sql(source: ReportSource) -> None:
    steps = "FROM programs p JOIN steps s ON s.program = p.id JOIN steps_by_ipu i ON i.step_id = s.id"
    for field, value in (("cycles", "i.cycles"), ("received", "i.data_in"), ("sent", "i.data_out"), ("steps", "1")):
        expected = by_name(source, f"SELECT p.debug_id, {value} {steps}")
        found = column(source, field)
        assert {name: found[name] for name in ("net/first", "net/second", "out")} == {
            name: expected[name] for name in ("net/first", "net/second", "out")
        }


def test_a_function_called_twice_counts_where_it_was_made(source: ReportSource) -> None:
    found = operations(source, "poplibs")
    assert found.cycles is not None
    assert sorted(found.owners.name[1:]) == ["net/first", "net/second", "out"]
    steps = dict(zip(found.owners.name, found.cycles.steps.tolist(), strict=True))
    assert steps["net/second"] == 2 * steps["net/first"]  # two calls in each of the two runs
    flops = column(source, "flops")
    assert {name: flops[name] for name in ("net/first", "net/second", "out")} == {
        "net/first": 2 * 64,
        "net/second": 4 * 64,
        "out": 2 * 64,
    }
    assert column(source, "flops_once")["net/second"] == 64


def test_exchange_and_control_code_by_hand(source: ReportSource) -> None:
    programs = source.reader.programs()
    contexts = contexts_of(source)
    for kind in ("exchange", "control"):
        expected: dict[str, int] = {}
        for program, debug_id in enumerate(np.asarray(programs.debug_id).tolist()):
            part = source.reader.program_on_ipu(program, 0)
            values = None if part is None else getattr(part, f"{kind}_code")
            name = name_of_operation(contexts, debug_id, "poplibs")
            expected[name] = expected.get(name, 0) + (0 if values is None else int(np.sum(values)))
        found = column(source, f"{kind}_code")
        assert {name: found[name] for name in found if name} == {name: expected[name] for name in found if name}


def test_vertex_code_of_a_shared_type_is_not_attributed(source: ReportSource) -> None:
    found = operations(source, "poplibs")
    assert found.code is not None
    types = source.reader.vertex_types()
    size = {name: int(bytes_) for name, bytes_ in zip(types.name, types.code_bytes, strict=True)}
    own = dict(zip(found.owners.name, found.code.vertex.tolist(), strict=True))
    used = dict(zip(found.owners.name, found.code.vertex_used.tolist(), strict=True))
    add, mul = (next(name for name in size if word in name) for word in ("ADD", "MULTIPLY"))
    assert own["net/first"] == own["out"] == 0  # both add; 64 floats lie on two tiles
    assert used["net/first"] == used["out"] == 2 * size[add] > 0
    assert own["net/second"] == used["net/second"] == 2 * size[mul]
    assert found.tiles[operation_row(found, int(found.owners.context[1]))] == 2


def test_memory_is_that_of_the_variables_made_under_an_operation(source: ReportSource) -> None:
    expected = by_name(source, "SELECT debug_id, bytes FROM variables WHERE always_live = 0 AND bytes > 0")
    found = column(source, "not_always_live")
    assert found["net/first"] == expected["net/first"] >= 64 * 4
    assert column(source, "always_live", "poplar")["a"] == 64 * 4


def test_liveness_indices_are_the_first_and_last_of_its_programs(source: ReportSource) -> None:
    found = operations(source, "poplibs")
    liveness = source.reader.liveness()
    assert liveness is not None
    for row in range(1, len(found.owners.name)):
        indices = [at for at, p in enumerate(liveness.program.tolist()) if found.owners.program[p] == row]
        assert (found.first_index[row], found.last_index[row]) == (indices[0], indices[-1])


def test_libpva_groups_programs_alike(source: ReportSource) -> None:
    found = operations(source, "poplibs")
    report = pva.openReport(str(source.reader.path), str(source.folder / "debug.json"))
    theirs = [each for each in pva.OperationAnalysis(report).operations if len(each.programs())]
    assert [each.debugContext.id for each in theirs] == found.owners.context[1:].tolist()
    for row, each in enumerate(theirs, start=1):
        assert [p._id for p in each.programs()] == np.flatnonzero(found.owners.program == row).tolist()
        assert (each.firstStepIndex, each.lastStepIndex) == (found.first_index[row], found.last_index[row])


def test_groups_by_the_beginning_of_names(source: ReportSource) -> None:
    frame = viewer_frame(operation_table(source, level=1))
    assert frame["name"].tolist()[-1] == NOT_ATTRIBUTED
    assert sorted(frame["name"][:-1]) == ["net", "out"]
    net = frame.set_index("name").loc["net"]
    each = viewer_frame(operation_table(source)).set_index("name")
    assert net["operations"] == 2
    assert net["total_cycles"] == each["total_cycles"]["net/first"] + each["total_cycles"]["net/second"]
    assert net["first_index"] == each["first_index"]["net/first"]
    assert frame["total_cycles_percent"].sum() == pytest.approx(100)
    assert frame["cumulative_percent"].tolist()[-1] == pytest.approx(100)
    assert frame["cumulative_percent"].tolist() == pytest.approx(np.cumsum(frame["total_cycles_percent"]).tolist())
    below = viewer_frame(operation_table(source, level=2, under="net"))
    assert sorted(below["name"]) == ["net/first", "net/second"]
    assert below["total_cycles"].sum() == net["total_cycles"]
    assert operation_groups(source, level=1).deeper.tolist() == [False, True, False]
    assert deepest_level(source) == 2


def test_two_reports_side_by_side(source: ReportSource, tmp_path: Path) -> None:
    target = ReportSource(run_operations(tmp_path / "target", extra=True))
    frame = viewer_frame(compared_operations(source, target, "flops", level=BY_NAME)).set_index("name")
    assert frame.index[0] == "more/third"
    assert frame["in_report"]["more/third"] == "target"
    assert frame["flops_source"]["more/third"] == 0
    assert frame["flops_target"]["more/third"] == 2 * 64
    assert frame["flops_target"]["net/first"] == frame["flops_source"]["net/first"]


def test_of_several_parents_the_first_with_an_operation_counts() -> None:
    contexts = DebugContexts(
        [
            {"id": 5, "parents": [9, 1, 3], "layer": "poplar"},  # 9 is not there, 1 leads nowhere; stands before both
            {"id": 1, "parents": [], "layer": "poplar"},
            {"id": 3, "parents": [2], "layer": "poplibs"},
            {"id": 2, "parents": [], "layer": "poplibs"},
            {"id": 7, "parents": [8], "layer": "poplibs"},  # a circle: nothing above it is known
            {"id": 8, "parents": [7], "layer": "poplibs"},
        ]
    )
    assert operations_above(contexts, "poplibs") == {1: -1, 2: 2, 3: 2, 5: 2}


def test_what_is_not_recorded_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotRecordedError, match="outputDebugInfo"):
        operations(ReportSource(write_tiny(tmp_path)))


def test_bad_choices_are_refused(source: ReportSource) -> None:
    with pytest.raises(ValueError, match="no layer 'onnx': this report has"):
        owners(source, "onnx")
    with pytest.raises(ValueError, match="no IPU 3"):
        operations(source, "poplibs", 3)
    with pytest.raises(ValueError, match="by must be one of"):
        viewer_frame(operation_table(source, by="name"))
    with pytest.raises(ValueError, match="no operation 999"):
        operation_row(operations(source), 999)
    assert owners(source, "PopLibs").layer == "poplibs"
    assert operations(source).owners.program[0] == NO_OPERATION


def test_rows_of_another_producer_that_name_nothing_are_left_out(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE parts")  # hence a foreign file, without checksums
        db.execute("PRAGMA application_id = 0")
        db.execute("UPDATE compute_set_vertices SET vertex_type = 7")
        db.commit()
    write_debug_info(tmp_path, [DebugInfo(2, (), "poplibs", "matMul")], "tiny-run")
    found = operations(ReportSource(tmp_path, salvage=True))
    assert found.owners.name == ["", "matMul"]
    assert found.tiles.tolist() == [0, 0]
    assert found.columns()["cycles"].sum() == 43


def test_derived_figures_are_those_of_a_loop_over_rows(source: ReportSource) -> None:
    table = operation_table(source)
    plain, derived = viewer_frame(table).to_dict("records"), viewer_frame(derived_table(source, table))
    assert derived["name"].tolist() == [row["name"] for row in plain]
    for row, out in zip(plain, derived.to_dict("records"), strict=True):
        for rate, divisor in (("rate", row["total_cycles"]), ("intensity", row["received_bytes"])):
            known = not pd.isna(row["flops"]) and row["flops"] > 0 and divisor > 0
            assert out[rate] == row["flops"] / divisor if known else np.isnan(out[rate])
        assert out["code_share"] == row["code_bytes_percent"] / 100
        assert out["cumulative_share"] == row["cumulative_percent"] / 100
    calls = dict(zip(derived["name"], derived["operation"], strict=True))
    assert calls[NOT_ATTRIBUTED] == ""
    assert (derived["rate"] > 0).any()
    assert {name.partition("::")[0] for name in calls.values() if name} <= {"popops", "poplin"}
    groups = viewer_frame(derived_table(source, operation_table(source, level=1)))
    assert "2 operations" in groups["operation"].tolist()


def test_a_quotient_needs_both_parts() -> None:
    rates = quotient(np.array([6.0, 0.0, np.nan, 5.0, -1.0]), np.array([3.0, 2.0, 2.0, 0.0, 4.0]))
    assert rates[0] == 2
    assert np.isnan(rates[1:]).all()
