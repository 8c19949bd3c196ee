"""Ranks of a run against their reports read one by one."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.ranks.rank_figures import figures_by_rank, runs_of_ranks, spread, steps_of_ranks
from popvision.analysis.ranks.rank_set import find_rank_sets, rank_facts
from popvision.analysis.ranks.sentences import sentences
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.report_list import open_report
from popvision.cli import group
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES
from tests.analysis.ranks.rank_program import RUN, run_rank

NUMBERS = (5, 5, 9, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ranks")
    for rank, number in enumerate(NUMBERS):
        run_rank(root, rank, 4, number)
    return root


@pytest.fixture(scope="module")
def sources(folder: Path) -> dict[int, ReportSource]:
    (found,), _ = find_rank_sets(folder)
    return {rank: open_report(path) for rank, path in found.folders.items()}


def one(report: Path, statement: str) -> int:
    with sqlite3.connect(report / "profile.pop") as base:
        return int(base.execute(statement).fetchone()[0])


def told(sources: dict[int, ReportSource], ranks: int = 4) -> list[str]:
    return sentences(ranks, figures_by_rank(sources), runs_of_ranks(sources), steps_of_ranks(sources))


def test_a_folder_and_any_of_its_ranks_give_the_set(folder: Path) -> None:
    for place in (folder, folder / "rank_3"):
        (found,), note = find_rank_sets(place)
        assert (found.run, found.ranks, found.engine, found.missing, note) == (RUN, 4, "", [], "")
        assert found.folders == {rank: folder / f"rank_{rank}" for rank in range(4)}


def test_cycles_and_memory_are_those_of_each_report(folder: Path, sources: dict[int, ReportSource]) -> None:
    frame = figures_by_rank(sources)
    cycles = [one(folder / f"rank_{rank}", "select sum(cycles) from runs") for rank in range(4)]
    used = [one(folder / f"rank_{rank}", "select max(excluding_gaps) from memory_by_tile") for rank in range(4)]
    assert frame["cycles"].tolist() == cycles
    assert frame["fullest_used"].tolist() == used
    assert frame["of_median"].tolist() == pytest.approx([each / np.median(cycles) - 1 for each in cycles])
    # Each turn of the loop takes as long; five turns are the median of 5, 5, 9 and 4.
    turn = cycles[0] - cycles[3]
    assert turn > 0
    assert cycles == [cycles[0], cycles[0], cycles[0] + 4 * turn, cycles[0] - turn]
    phases = frame[[name for name in frame if name.endswith("_cycles")]].sum(axis=1)
    assert phases.tolist() == pytest.approx(cycles)


def test_steps_are_those_of_a_loop_over_every_step(sources: dict[int, ReportSource]) -> None:
    expected: dict[int, dict[int, list[int]]] = defaultdict(lambda: {rank: [0, 0] for rank in sources})
    for rank, source in sources.items():
        steps, cycles = source.reader.steps(), source.reader.steps_on_ipu(0).cycles
        for program, kind, length in zip(steps.program, steps.type, cycles, strict=True):
            if PROGRAM_TYPES[kind] in PHASE_OF_TYPE:
                own = expected[int(program)][rank]
                own[0] += int(length)
                own[1] += 1
    found = steps_of_ranks(sources)
    assert (found.apart, found.silent) == ({}, [])
    rows = {row["program"]: row for row in found.frame.to_dict("records")}
    assert rows.keys() == {program for program, own in expected.items() if any(cycles for cycles, _ in own.values())}
    for program, row in rows.items():
        cycles = [own[0] for own in expected[program].values()]
        counts = [own[1] for own in expected[program].values()]
        assert (row["least"], row["most"], row["span"]) == (min(cycles), max(cycles), max(cycles) - min(cycles))
        assert row["median"] == np.median(cycles)
        assert (row["slowest"], row["fastest"]) == (cycles.index(max(cycles)), cycles.index(min(cycles)))
        assert (row["fewest_executions"], row["most_executions"]) == (min(counts), max(counts))
    assert found.frame["span"].is_monotonic_decreasing
    assert rows[found.frame["program"].iloc[0]]["slowest"] == 2


def test_runs_are_set_side_by_side(folder: Path, sources: dict[int, ReportSource]) -> None:
    frame = runs_of_ranks(sources)
    for run in (0, 1):
        read = f"select %s from runs order by rowid limit 1 offset {run}"
        begins = [one(folder / f"rank_{rank}", read % "host_start_us") for rank in range(4)]
        cycles = [one(folder / f"rank_{rank}", read % "cycles") for rank in range(4)]
        row = frame.iloc[run]
        assert (row["begin_us"], row["first"], row["last"]) == (max(begins) - min(begins), 0, 3)
        assert (row["least"], row["most"], row["slowest"], row["ranks"]) == (cycles[3], cycles[2], 2, 4)


def test_what_stands_out_is_said(folder: Path, sources: dict[int, ReportSource]) -> None:
    time, skew, memory = told(sources)
    cycles = figures_by_rank(sources)["cycles"]
    assert time.startswith(f"Rank 2 is slowest: {cycles[2]:,} device cycles, {100 * (cycles[2] / cycles[0] - 1):.1f} %")
    assert f"rank 3 takes {cycles[3]:,}. The step that differs most is down/Op/Add (program " in time
    assert "earlier on rank 0 than on rank 3" in skew
    assert memory.startswith("On every rank the fullest tile uses ")


def test_missing_ranks_are_named(sources: dict[int, ReportSource]) -> None:
    some = {rank: sources[rank] for rank in (0, 2)}
    assert told(some)[0] == "Of 4 ranks 2 have a report here; missing: 1, 3."
    assert "median" in told(some)[1]


def test_ranks_that_take_as_long_are_a_sentence(tmp_path: Path) -> None:
    for rank in (0, 1):
        run_rank(tmp_path, rank, 2, 3)
    (found,), _ = find_rank_sets(tmp_path)
    sources = {rank: open_report(path) for rank, path in found.folders.items()}
    assert told(sources, 2)[0] == f"All ranks take {figures_by_rank(sources)['cycles'][0]:,} device cycles."


def test_programs_of_one_rank_alone_are_counted(tmp_path: Path) -> None:
    run_rank(tmp_path, 0, 2, 3)
    run_rank(tmp_path, 1, 2, 3, more=True)
    (found,), _ = find_rank_sets(tmp_path)
    sources = {rank: open_report(path) for rank, path in found.folders.items()}
    steps = steps_of_ranks(sources)
    assert list(steps.apart) == [1]
    assert f"Rank 1 ran {steps.apart[1]:,} program" in told(sources, 2)[-1]
    down = steps.frame[steps.frame["name"] == "down/Op/Add"]
    assert len(down) == 1
    assert down["span"].tolist() == [0]


def test_a_damaged_rank_is_missing_and_the_others_stay(folder: Path, tmp_path: Path) -> None:
    for rank in (0, 1, 2, 3):
        place = tmp_path / f"rank_{rank}"
        place.mkdir()
        data = (folder / f"rank_{rank}" / "profile.pop").read_bytes()
        (place / "profile.pop").write_bytes(data[:100] if rank == 1 else data)
    (found,), _ = find_rank_sets(tmp_path)
    assert found.missing == [1]
    assert list(found.folders) == [0, 2, 3]


def test_two_engines_of_each_rank_are_two_sets(tmp_path: Path) -> None:
    for rank in (0, 1):
        for _ in range(2):
            run_rank(tmp_path, rank, 2, 2)
    first, second = find_rank_sets(tmp_path)[0]
    assert [path.relative_to(tmp_path).as_posix() for path in first.folders.values()] == ["rank_0", "rank_1"]
    assert [path.name for path in second.folders.values()] == ["engine_1", "engine_1"]


@pytest.mark.parametrize(
    "facts",
    [
        *(None, 3, [], {}, {"run": "a", "rank": 0}, {"run": "", "rank": 0, "ranks": 2}),
        *({"run": "a", "rank": 2, "ranks": 2}, {"run": "a", "rank": True, "ranks": 2}),
        *({"run": "a", "rank": 0, "ranks": 10**9}, {"run": 1, "rank": 0, "ranks": 2}),
    ],
)
def test_facts_that_make_no_sense_are_no_rank(facts: object) -> None:
    assert rank_facts({"rank": facts}) is None


tables = st.integers(1, 5).flatmap(
    lambda ranks: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=ranks, max_size=ranks).filter(
            lambda row: any(each is not None for each in row)
        ),
        max_size=6,
    )
)


@given(tables)
def test_the_spread_of_rows(rows: list[list[int | None]]) -> None:
    ranks = np.arange(10, 10 + (len(rows[0]) if rows else 0))
    values = np.array([[np.nan if each is None else each for each in row] for row in rows], np.float64)
    found = spread(values, ranks)
    for at, row in enumerate(rows):
        known = [(value, rank) for value, rank in zip(row, ranks.tolist(), strict=True) if value is not None]
        least, most = min(known), max(known, key=lambda each: (each[0], -each[1]))
        assert (found.least[at], found.first[at]) == least
        assert (found.most[at], found.last[at]) == most
        assert found.median[at] == np.median([value for value, _ in known])
        assert found.span[at] == most[0] - least[0]


def test_the_command_prints_tables_json_and_csv(folder: Path) -> None:
    text = CliRunner().invoke(group, ["ranks", str(folder)])
    assert text.exit_code == 0, text.output
    assert text.output.startswith(f"4 ranks of {RUN}\nRank 2 is slowest: ")
    (answer,) = json.loads(CliRunner().invoke(group, ["ranks", str(folder), "--json", "--limit", "0"]).output)
    assert [row["rank"] for row in answer["by_rank"]] == [0, 1, 2, 3]
    assert len(answer["by_step"]) == answer["steps"]
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(group, ["ranks", str(folder), "--csv", "ranks"]).output)))
    assert [int(row["cycles"]) for row in rows] == [row["cycles"] for row in answer["by_rank"]]


def test_a_folder_without_ranks_is_one_sentence(tmp_path: Path) -> None:
    from popvision.formats.errors import FormatError

    result = CliRunner().invoke(group, ["ranks", str(tmp_path)])
    assert isinstance(result.exception, FormatError)
    assert "holds no report" in str(result.exception)
