"""Databases that another tool wrote: the published tables by hand, any part of them, and what they cannot say.

No profile.pop of a real SDK was at hand; what is known of one are the names in pva-api.md and public scripts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from popvision import pva
from popvision.analysis.report.source import ReportSource
from popvision.cli import group
from popvision.formats.errors import AbsentError, FormatError
from tests.webapp.test_subsets import show
from webapp.base.views import views_of

#: Ids begin anywhere, types have names, a step runs a program that stands nowhere else, order is any.
PUBLISHED: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "programs": (("id", "name"), [(6, "main/exchange"), (5, "main/matmul")]),
    "compute_sets": (("compute_set", "name"), [(3, "matmul")]),
    "steps": (
        ("id", "type", "program", "compute_set"),
        [(11, "DoExchange", 6, None), (10, "OnTileExecute", 5, 3), (12, "Sync", 7, None)],
    ),
    "steps_by_ipu": (
        ("step_id", "cycles", "active_tiles", "cycles_base", "active_cycles_from_min", "active_cycles_to_max"),
        [(12, 3, 4, 120, 0, 3), (10, 100, 4, 0, 0, 100), (11, 20, 2, 100, 5, 20)],
    ),
    "vars_info": (
        ("tile", "category", "size_bytes"), [(1, 1, 64), (0, 0, 16), (0, 1, 32), (3, 2, 8), (2, 1, 8)]
    ),
    "var_categories": (("id", "name"), [(0, "vertexCode"), (1, "variable"), (2, "somethingNew")]),
    "vars_string_table": (("id", "string"), [(0, "weights")]),
    "memory_by_tile": (("tile", "total"), [(1, 70), (0, 48), (2, 9), (3, 8)]),
    "execution_cycle_totals": (("cycles",), [(123,)]),
}  # fmt: skip


def write(path: Path, tables: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]) -> Path:
    with sqlite3.connect(path) as db:
        for name, (columns, rows) in tables.items():
            db.execute(f"CREATE TABLE {name}({', '.join(columns)})")
            db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    db.close()
    return path


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return write(tmp_path / "profile.pop", {**PUBLISHED, "secrets": (("x", "y"), [(1, 2)])})


def test_what_the_published_tables_say(published: Path) -> None:
    report = pva.openReport(published)
    ran = [(s.program._id, s.program.name, s.program.type.name, s.ipus[0].cycles) for s in report.execution.steps]
    assert ran == [(5, "main/matmul", "OnTileExecute", 100), (6, "main/exchange", "DoExchange", 20), (7, "", "Sync", 3)]
    assert [[c.name for c in step.computeSets] for step in report.execution.steps] == [["matmul"], [], []]
    assert report.compilation.programs[5].computeset == report.compilation.computeSets[3]
    window = report.execution.steps[1].ipus[0].activeCycles
    assert (window.cyclesFrom.min, window.cyclesTo.max) == (105, 120)
    assert report.execution.totalCycles.total == 123
    assert [tile.memory.total.includingGaps for tile in report.compilation.tiles] == [48, 70, 9, 8]
    categories = [tile.memory.category for tile in report.compilation.tiles]
    assert [c.variable.total for c in categories] == [32, 64, 8, 0]
    assert [(c.vertexCode.total, c.multiple.total, c.stack.total) for c in categories][::3] == [(16, 0, 0), (0, 8, 0)]
    assert report.compilation.graph.numComputeSets == 1
    assert [len(ipu.tiles) for ipu in report.compilation.ipus] == [4]


ABSENT: dict[str, Callable[[pva.Report], object]] = {
    "does not say which target": lambda r: r.compilation.target,
    "memory_by_tile .* no column excluding_gaps": lambda r: r.compilation.tiles[0].memory.total.excludingGaps,
    "memory_by_tile .* no column always_live": lambda r: r.compilation.tiles[0].memory.alwaysLiveBytes,
    "no memory by region": lambda r: r.compilation.tiles[0].memory.category.variable.interleaved,
    "no column active_cycles_to_min": lambda r: r.execution.steps[0].ipus[0].activeCycles.cyclesTo.min,
    "steps_by_ipu .* no column data_in": lambda r: r.execution.steps[0].ipus[0].dataIn,
    "how many vertices": lambda r: r.compilation.graph.numVertices,
    "no debug information": pva.OperationAnalysis,
}


@pytest.mark.parametrize("sentence", ABSENT)
def test_what_they_do_not_say_is_said(published: Path, sentence: str) -> None:
    with pytest.raises(AbsentError, match=sentence) as refused:
        ABSENT[sentence](pva.openReport(published))
    assert "\n" not in str(refused.value)


def test_lists_that_were_not_recorded_are_empty(published: Path) -> None:
    report = pva.openReport(published)
    c, e = report.compilation, report.execution
    assert not [*c.livenessProgramSteps, *c.alwaysLiveVariables, *c.tiles[0].memory.vertices]
    assert not [*c.loweredVariables.allBriefVars, *c.loweredVariables.forTile(0), *c.programs[5].controlCodeByTile]
    assert not [*e.runs, *e.blocks(0), *e.steps[0].cyclesByTile]
    with pytest.raises(IndexError):
        _ = e.runs[0]


def test_the_reader_names_what_is_missing_and_what_is_unknown(published: Path) -> None:
    with sqlite3.connect(published) as db:
        db.execute("ALTER TABLE steps ADD COLUMN colour")
    db.close()
    reader = ReportSource(published).reader
    assert reader.foreign
    assert reader.unknown == ["secrets", "steps.colour"]
    assert {"runs", "steps_by_ipu.data_in", "programs.type"} <= set(reader.missing)
    told = CliRunner().invoke(group, ["info", str(published)])
    assert told.exit_code == 0
    for line in ("written by another tool", "secrets", "steps.colour", "steps_by_ipu.data_in"):
        assert line in told.output


def test_every_view_of_the_published_tables_opens_or_says_why(published: Path) -> None:
    source = ReportSource(published, salvage=True)
    for view in views_of("report"):
        assert "\n" not in show(view, source)


def test_text_where_numbers_belong(published: Path) -> None:
    with sqlite3.connect(published) as db:
        db.execute("UPDATE steps_by_ipu SET cycles = 'many' WHERE step_id = 11")
    db.close()
    step = pva.openReport(published).execution.steps[0].ipus[0]
    assert step.activeTiles == 4
    with pytest.raises(AbsentError, match=r"Column cycles of table steps_by_ipu .* other values than whole numbers"):
        _ = step.cycles


def test_numbers_of_types_count_by_their_names(published: Path) -> None:
    with sqlite3.connect(published) as db:
        db.execute("CREATE TABLE program_types(id, name)")
        db.executemany("INSERT INTO program_types VALUES (?, ?)", [(0, "Sync"), (40, "DoExchange"), (41, "Teleport")])
        db.execute("UPDATE steps SET type = CASE id WHEN 10 THEN 41 WHEN 11 THEN 40 ELSE 0 END")
    db.close()
    report = pva.openReport(published)
    assert [step.program.type.name for step in report.execution.steps] == ["Unknown", "DoExchange", "Sync"]


def asked(report: pva.Report) -> Iterator[Callable[[], object]]:
    """What scripts read, one question at a time."""
    c, e = report.compilation, report.execution
    yield lambda: [(p._id, p.name, p.type.name, [k._id for k in p.children], p.controlCodeByTile) for p in c.programs]
    yield lambda: [(s.name, s.estimatedCyclesByTile, len(s.vertices)) for s in c.computeSets]
    yield lambda: [t.memory.total.includingGaps for t in c.tiles]
    yield lambda: [t.memory.category.variable.total for t in c.tiles]
    yield lambda: [len(ipu.tiles) for ipu in c.ipus]
    yield lambda: [(s.program.name, s.cyclesByTile, [x.name for x in s.computeSets]) for s in e.steps]
    yield lambda: [ipu.cycles for s in e.steps for ipu in s.ipus]
    yield lambda: [ipu.activeCycles.cyclesTo.max for s in e.steps for ipu in s.ipus]
    yield lambda: e.totalCycles.total
    yield lambda: [(run.name, len(run.steps), run.microseconds) for run in e.runs]
    yield lambda: [step.notAlwaysLiveMemory.bytes for step in c.livenessProgramSteps]
    yield lambda: (c.target, c.graph.numVertices, report.poplarVersion.string, report.instrumentationSettings.compute)
    yield lambda: (repr(c.tiles), repr(c.programs), repr(e.steps), repr(c.graph))


#: Values of every kind, also where they make no sense.
CELL = st.one_of(
    st.none(),
    st.integers(-2, 9),
    st.integers(2**40, 2**70),
    st.text("aé", max_size=3),
    st.just(1.5),
    st.binary(max_size=2),
)


@given(st.data())
def test_any_part_of_the_published_tables(data: st.DataObject) -> None:
    """Random tables, columns and cells: every question is answered, or one sentence is raised."""
    names = data.draw(st.sets(st.sampled_from(sorted(PUBLISHED)), min_size=1))
    tables = {}
    for name in names:
        columns, rows = PUBLISHED[name]
        kept = sorted(data.draw(st.sets(st.integers(0, len(columns) - 1), min_size=1)))
        cells = [[row[place] for place in kept] for row in rows]
        for _ in range(data.draw(st.integers(0, 2))):
            row, place = data.draw(st.integers(0, len(cells) - 1)), data.draw(st.integers(0, len(kept) - 1))
            cells[row][place] = _fits(data.draw(CELL))
        tables[name] = tuple(columns[place] for place in kept), [tuple(row) for row in cells]
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "profile.pop", tables)
        try:
            report = pva.openReport(path)
        except FormatError:
            return
        for question in asked(report):
            assert "\n" not in _sentence(question)


def test_what_cannot_be_decoded_is_not_quoted(tmp_path: Path) -> None:
    columns, rows = PUBLISHED["memory_by_tile"]
    tables = {**PUBLISHED, "memory_by_tile": (columns, [(*rows[0][:-1], b"\x8c`\n"), *rows[1:]])}
    sentences = [_sentence(question) for question in asked(pva.openReport(write(tmp_path / "profile.pop", tables)))]
    assert any(sentences)
    assert not any("\n" in sentence for sentence in sentences)


def _sentence(question: Callable[[], object]) -> str:
    try:
        question()
    except FormatError as sentence:
        return str(sentence)
    return ""


def _fits(value: Any) -> Any:
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
