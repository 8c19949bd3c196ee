"""`popvision.open` of a report: every frame against the file's own rows, read with sqlite3, and against pva."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import popvision
from popvision import pva
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.profile.writer import ProfileWriter
from popvision.opened.report import OpenedReport
from tests.reports import tiny_compilation, tiny_run, write_tiny
from tests.samples import SAMPLES

TRAINING = SAMPLES / "train_mlp"


def opened(path: Path) -> OpenedReport:
    found = popvision.open(path)
    assert isinstance(found, OpenedReport)
    return found


@pytest.fixture(scope="module")
def report() -> OpenedReport:
    return opened(TRAINING)


@pytest.fixture(scope="module")
def theirs() -> pva.Report:
    return pva.openReport(str(TRAINING / "profile.pop"), str(TRAINING / "debug.cbor"))


def rows(sql: str) -> list[tuple]:
    with closing(sqlite3.connect(TRAINING / "profile.pop")) as db:
        return db.execute(sql).fetchall()


def test_a_folder_a_profile_and_a_file_beside_it_are_the_same_report() -> None:
    for path in (TRAINING, TRAINING / "profile.pop", str(TRAINING / "debug.cbor")):
        assert opened(Path(path)).path == TRAINING / "profile.pop"


def test_importing_popvision_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import popvision; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['popvision']"


def test_tiles(report: OpenedReport) -> None:
    table = report.tiles()
    stored = rows("select tile, total, excluding_gaps, always_live, not_always_live, overflowed from memory_by_tile")
    names = ["tile", "including_gaps_bytes", "excluding_gaps_bytes", "always_live_bytes", "not_always_live_bytes"]
    assert table[[*names, "overflowed_bytes"]].to_numpy().tolist() == [list(row) for row in stored]
    assert (table.including_gaps_bytes - table.excluding_gaps_bytes == table.gaps_bytes).all()
    assert table.attrs["units"]["gaps_bytes"] == "bytes"
    assert table.attrs["provenance"].startswith("Simulated: ")


@pytest.mark.parametrize("by", ["category", "region", "liveness"])
def test_parts_of_memory_add_up(report: OpenedReport, by: str) -> None:
    parts = report.memory(by).drop(columns="tile")
    assert parts.sum(axis=1).tolist() == report.tiles().excluding_gaps_bytes.tolist()
    assert parts.to_numpy().any()


def test_categories_are_those_of_pva(report: OpenedReport, theirs: pva.Report) -> None:
    totals = report.memory_totals().groupby("category").total_bytes.sum()
    for name in ("variable", "message", "vertexInstanceState"):
        expected = sum(getattr(tile.memory.category, name).total for tile in theirs.compilation.tiles)
        assert totals[name] == expected > 0


def test_variables_and_their_indices(report: OpenedReport) -> None:
    table = report.variables()
    assert list(zip(table.name, table.total_bytes, strict=True)) == rows(
        "select v.name, p.bytes from variable_parts p join variables v on v.id = p.variable order by p.id"
    )
    ranges = report.live_ranges()
    for row in table[~table.always_live & table.first_index.notna()].itertuples():
        own = ranges[ranges.eq_class == row.eq_class]
        assert row.first_index == own.begin_index.min()
        assert row.last_index == own.end_index.max() - 1
        assert row.indices == (own.end_index - own.begin_index).sum()


def test_lowered_variables_are_those_of_pva(report: OpenedReport, theirs: pva.Report) -> None:
    table = report.lowered_variables(5)
    expected = theirs.compilation.loweredVariables.forTile(5)
    assert list(zip(table.id, table.name, table.size_bytes, strict=True)) == [
        (each._id, each.name, each.bytes) for each in expected
    ]
    assert len(table) > 10


def test_tile_variables_are_the_published_table(report: OpenedReport) -> None:
    stored = rows(
        "select c.name, s.string, size_bytes from vars_info v join vars_string_table s on s.id = v.name"
        " join var_categories c on c.id = v.category where tile = 5"
    )
    table = report.tile_variables(5)
    assert sorted(map(tuple, table.to_numpy().tolist())) == sorted(stored)
    assert table.size_bytes.is_monotonic_decreasing


def test_bytes_of_variables_by_tile(report: OpenedReport) -> None:
    table = report.lowered_variables(5)
    wanted = int(table.variable.max())
    array = report.variable_bytes_by_tile([wanted])
    assert array.shape == (1, 64)
    assert array[0, 5] == table[table.variable == wanted].size_bytes.sum() > 0


def test_liveness_is_that_of_pva(report: OpenedReport, theirs: pva.Report) -> None:
    steps = theirs.compilation.livenessProgramSteps
    curve = report.liveness()
    assert curve.not_always_live_bytes.tolist() == [step.notAlwaysLiveMemory.bytes for step in steps]
    peak = curve.attrs["peak_index"]
    assert curve.live_bytes[peak] == curve.live_bytes.max()
    found = report.peak_variables()
    assert found.attrs["liveness_index"] == peak
    assert found.size_bytes.sum() == curve.not_always_live_bytes[peak] > 0
    on_tile = report.liveness(tile=3)
    assert on_tile.not_always_live_bytes.tolist() == [step.notAlwaysLiveMemoryForTile(3).bytes for step in steps]
    assert report.live_variables(peak, tile=3).size_bytes.sum() == on_tile.not_always_live_bytes[peak]
    always = report.always_live_variables(tile=3)
    assert always.size_bytes.sum() == theirs.compilation.tiles[3].memory.alwaysLiveBytes


def test_programs_and_their_tree(report: OpenedReport) -> None:
    table = report.programs()
    stored = rows("select p.id, t.name, p.name from programs p join program_types t on t.id = p.type order by p.id")
    assert list(zip(table.program, table.type, table.name, strict=True)) == stored
    own = dict(rows("select program, sum(cycles) from steps join steps_by_ipu on id = step_id group by program"))
    assert [int(each) for each in table.self_cycles] == [own.get(each, 0) for each in table.program]
    tree = report.tree()
    children: dict[int, list[int]] = {}
    path: list[int] = []
    for program, depth in zip(tree.program.tolist(), tree.depth.tolist(), strict=True):
        del path[depth:]
        if path:
            children.setdefault(path[-1], []).append(program)
        path.append(program)
    expected: dict[int, list[int]] = {}
    for parent, child in rows("select program, child from program_children order by program, pos"):
        expected.setdefault(parent, []).append(child)
    assert children == expected
    assert report.tree(int(tree.root[0])).rows[0] == (tree.root == tree.root[0]).sum()


def test_compute_sets_and_vertices(report: OpenedReport, theirs: pva.Report) -> None:
    table, vertices = report.compute_sets(), report.vertices()
    for row, expected in zip(table.itertuples(), theirs.compilation.computeSets, strict=True):
        assert row.name == expected.name
        assert row.vertices == sum(sum(each.countByTile) for each in expected.vertices)
    assert vertices.instances.sum() == table.vertices.sum() == theirs.compilation.graph.numVertices
    one = int(vertices.compute_set[0])
    assert report.vertices_by_tile(one).drop(columns="tile").to_numpy().sum() == table.vertices[one]
    assert report.vertex_types().state_bytes.tolist() == [b for (b,) in rows("select state_bytes from vertex_types")]


def test_steps_and_cycles(report: OpenedReport, theirs: pva.Report) -> None:
    steps = report.steps()
    assert steps.step_cycles.tolist() == [c for (c,) in rows("select max(cycles) from steps_by_ipu group by step_id")]
    on_ipu = report.steps_on_ipu(0)
    assert on_ipu.step_cycles.sum() == theirs.execution.totalCycles.total == report.runs().run_cycles.sum() > 0
    for number in (0, 7, 100):
        expected = theirs.execution.steps[number]
        assert report.cycles_by_tile(number, number)[0].tolist() == list(expected.cyclesByTile)
        assert on_ipu.all_to_max_cycle[number] == expected.ipus[0].allCycles.cyclesTo.max
    window = report.cycles_by_tile(10, 12)
    assert window.dtype == np.int64
    assert window.sum(axis=1).tolist() == on_ipu.tile_cycles[10:13].tolist()
    assert (report.begins_by_tile(10, 12) + window).max(axis=1).tolist() == on_ipu.all_to_max_cycle[10:13].tolist()


def test_the_same_report_as_objects(report: OpenedReport, theirs: pva.Report) -> None:
    assert report.pva.execution.totalCycles.total == theirs.execution.totalCycles.total
    assert len(report.pva.compilation.programs) == len(report.programs())


def test_phases_and_intervals_add_up() -> None:
    report = opened(SAMPLES / "matmul_chain_hardware")
    phases, intervals = report.phases(), report.intervals()
    assert phases.time_share.sum() == pytest.approx(1)
    length = intervals.end_cycle - intervals.begin_cycle
    assert (length * intervals.computing).sum() == phases.tile_cycles[0] > 0


def test_exchanges_and_messages(report: OpenedReport) -> None:
    table = report.exchanges()
    moving = table[(table.type == "DoExchange") & (table.received_bytes > 0)]
    for row in moving.head(5).itertuples():
        messages = report.messages(row.program)
        assert messages.message_bytes.sum() == row.received_bytes
        assert len(messages) == row.messages
        assert report.program_tiles(row.program).received_bytes.sum() == row.received_bytes
    host = int(table[table.type == "StreamCopyMid"].program.iloc[0])
    with pytest.raises(NotRecordedError):
        report.messages(host)


def test_terms_of_a_program_add_up(report: OpenedReport) -> None:
    terms = report.explain()
    cycles = terms[terms.unit == "cycles"]
    assert (cycles.sign * cycles.value).sum() == cycles.figure_value.iloc[0] == report.steps().step_cycles.sum()


def test_debug_contexts_and_options(report: OpenedReport, theirs: pva.Report) -> None:
    contexts = report.debug_contexts()
    assert len(contexts) == len(report.source.debug) > 0
    assert set(contexts.layer) >= {"poplibs"}
    assert report.target()["bytes_per_tile"] == theirs.compilation.target.bytesPerTile
    assert (report.options().group == "engine").any()
    assert dict(zip(report.files().name, report.files().state, strict=False))["debug.cbor"] == "found"


@pytest.mark.parametrize(
    "wrong",
    [lambda r: r.liveness(ipu=0, tile=0), lambda r: r.cycles_by_tile(5, 4), lambda r: r.explain(tile=3)],
)
def test_arguments_that_contradict_are_one_sentence(report: OpenedReport, wrong) -> None:
    with pytest.raises(FormatError) as problem:
        wrong(report)
    assert isinstance(problem.value, ValueError)
    assert str(problem.value).startswith("train_mlp: ")
    assert "\n" not in str(problem.value)


def test_what_was_not_recorded_names_the_option(tmp_path: Path) -> None:
    tiny = opened(write_tiny(tmp_path / "report"))
    with pytest.raises(NotRecordedError, match="outputLoweredVars"):
        tiny.lowered_variables(1)
    compiled_only = opened(SAMPLES / "out_of_memory")
    with pytest.raises(NotRecordedError, match="does not fit into the memory of the tiles, so it cannot run"):
        compiled_only.cycles_by_tile()
    with pytest.raises(NotRecordedError, match="does not fit into the memory of the tiles, so it cannot run"):
        compiled_only.phases()
    assert compiled_only.runs().empty
    assert compiled_only.steps().empty


def test_a_closed_report_says_so(tmp_path: Path) -> None:
    with popvision.open(write_tiny(tmp_path / "report")) as report:
        assert len(report.tiles()) == 4
    with pytest.raises(FormatError, match="was closed"):
        report.tiles()
    assert "was closed" in repr(report)
    assert "was closed" in report._repr_html_()


@pytest.mark.parametrize("name", ["nowhere", "empty", "notes.pop"])
def test_nothing_to_open(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.pop").write_text("no database")
    with pytest.raises(FormatError):
        popvision.open(tmp_path / name)


def test_a_folder_of_engines_names_them(tmp_path: Path) -> None:
    for name in ("training", "inference"):
        write_tiny(tmp_path / name)
    with pytest.raises(FormatError, match="inference, training"):
        popvision.open(tmp_path)


def test_a_damaged_report_answers_what_it_can() -> None:
    with pytest.raises(FormatError):
        opened(SAMPLES / "damaged").programs()
    found = popvision.open(SAMPLES / "damaged", salvage=True)
    assert isinstance(found, OpenedReport)
    assert found.lost
    assert found.lost[0]["first"] in repr(found)
    assert [loss["kind"] for loss in found.lost] == ["table", "runs"]
    assert found.verified == "partly"


def test_a_report_that_grows_answers_anew(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with ProfileWriter(tmp_path / "r" / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        report = opened(tmp_path / "r")
        assert (len(report.steps()), len(report.runs())) == (0, 0)
        assert report.programs().self_cycles.isna().all()
        writer.append_run(tiny_run())
        assert (len(report.steps()), len(report.runs())) == (4, 1)
        assert report.programs().self_cycles.tolist() == [0, 36, 3, 4]
        assert report.query("select sum(step_cycles) as all_cycles from execution_steps").all_cycles.tolist() == [43]
        assert report.cycles_by_tile(0, 0).tolist() == [[10, 20, 0, 5]]
