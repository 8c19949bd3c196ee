"""Laws of recorded time, on a report read with plain SQL."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.integration.plain_report import PlainReport

PHASE = {
    "OnTileExecute": 0,
    "DoExchange": 1,
    "GlobalExchange": 1,
    "StreamCopyBegin": 1,
    "StreamCopyMid": 1,
    "StreamCopyEnd": 1,
    "Sync": 2,
    "SyncAns": 2,
    "Sans": 2,
}

#: cycles of a barrier between IPUs after the last tile has come (published-numbers 3)
GLOBAL_SYNC = 600


def check_time(report: PlainReport) -> int:
    """Checks every run; returns the number of steps seen."""
    seen, begin = 0, 0
    for run, cycles, steps in report.rows("SELECT id, cycles, n_steps FROM runs ORDER BY id"):
        for ipu in range(report.target["num_ipus"]):
            seen += _one_run(report, run, ipu, begin, cycles, steps)
            ((total,),) = report.rows("SELECT cycles FROM execution_cycle_totals WHERE run=? AND ipu=?", run, ipu)
            assert total == cycles
        begin += cycles
    return seen


def _one_run(report: PlainReport, run: int, ipu: int, begin: int, cycles: int, count: int) -> int:
    """On every tile a step begins where the one before ended, and durations plus tail are the run."""
    at = np.full(report.per_ipu, begin, np.int64)
    phases, lengths = np.zeros(3, np.int64), 0
    steps = report.steps(run, ipu)
    assert len(steps) == count
    for _, type_, _, base, start, duration, row in steps:
        assert np.array_equal(base + start, at)
        assert (duration >= 0).all()
        reached = at + duration
        _check_row(row, at - base, reached - base, duration)
        phases[PHASE[type_]] += duration.sum()
        lengths += row["cycles"]
        _check_barrier(report, type_, at, reached)
        at = reached
    tail = report.tail(run, ipu)
    assert (tail >= 0).all()
    assert (at + tail == begin + cycles).all()
    assert phases.sum() + tail.sum() == report.per_ipu * cycles
    if report.target["num_ipus"] == 1:
        assert lengths == cycles
        assert tail.min() == 0
    return len(steps)


def _check_barrier(report: PlainReport, type_: str, arrival: Any, leave: Any) -> None:
    """Nobody leaves a barrier before the last tile that takes part has come. A tile's distance from the sync controller
    counts on the way there and back; the host lets all tiles go together. Tiles that spend no time have answered ahead:
    I/O tiles in a barrier of the others, or the others in one of I/O tiles."""
    takes_part = leave > arrival
    if type_ not in ("StreamCopyBegin", "Sync") or not takes_part.any():
        return
    arrival, leave = arrival[takes_part], leave[takes_part]
    if type_ == "StreamCopyBegin":
        assert leave.min() == leave.max() >= arrival.max()
    else:
        distance = report.array(report.target["relative_sync_delay"])[takes_part]
        last = (arrival + distance).max() + report.target["min_sync_delay"]
        together = leave.min() == leave.max() >= arrival.max() + GLOBAL_SYNC  # the last may be on another IPU
        assert np.array_equal(leave, last + distance) or (together and report.target["num_ipus"] > 1)


def _check_row(row: Any, begin: Any, end: Any, duration: Any) -> None:
    """The scalar columns of a step, from its arrays."""
    active = duration > 0
    assert row["active_tiles"] == active.sum()
    assert row["cycles"] == end.max() - begin.max()
    assert (row["tile_cycles"], row["max_cycles"]) == (duration.sum(), duration.max())
    for name, which in (("all", np.ones(len(begin), bool)), ("active", active)):
        found = [row[f"{name}_cycles_{edge}"] for edge in ("from_min", "from_max", "to_min", "to_max")]
        b, e = begin[which], end[which]
        assert found == ([b.min(), b.max(), e.min(), e.max()] if which.any() else [0, 0, 0, 0])
    for name, tiles in (("tile_balance", len(begin)), ("active_tile_balance", active.sum())):
        wanted = duration.sum() / (tiles * duration.max()) if active.any() else 0
        assert abs(row[name] - wanted) < 1e-12


def check_order(report: PlainReport) -> None:
    """Steps are the leaves of the tree in order: loops unrolled, functions at their calls, one branch of the switch."""
    repeats = dict(report.rows("SELECT id, repeat_count FROM programs"))
    names = dict(report.rows("SELECT id, name FROM programs"))
    functions = {
        n: p for p, n in report.rows("SELECT id, name FROM programs WHERE owner = 'function'") if p in _roots(report)
    }

    def walk(program: int, branch: int) -> list[int]:
        type_, below = report.types[program], report.children.get(program, [])
        if type_ == "OnEveryTileSwitch":
            return walk(below[branch], branch)
        if type_ == "Call":
            return walk(functions[names[program]], branch)
        if type_ in PHASE:
            return [program]
        once = [leaf for child in below for leaf in walk(child, branch)]
        return once * (repeats[program] if type_ == "Repeat" else 1)

    (root,) = [p for p in _roots(report) if p not in functions.values()]
    for run, index in report.rows("SELECT id, program_index FROM runs"):
        steps = [p for (p,) in report.rows("SELECT program FROM steps WHERE run = ? ORDER BY id", run)]
        assert steps == walk(root, index)
    for program, name in report.rows("SELECT program, type FROM steps GROUP BY program"):
        query = "SELECT t.name FROM programs p JOIN program_types t ON t.id = p.type WHERE p.id = ?"
        assert report.rows(query, program) == [(name,)]


def _roots(report: PlainReport) -> set[int]:
    """Programs that are nobody's child; on the way, that nobody is the child of two or of itself."""
    below = [child for children in report.children.values() for child in children]
    assert len(below) == len(set(below))
    roots, reached = set(report.types) - set(below), set()
    waiting = list(roots)
    while waiting:
        program = waiting.pop()
        assert program not in reached
        reached.add(program)
        waiting += report.children.get(program, [])
    assert reached == set(report.types)
    return roots


def check_intervals(report: PlainReport, rows: list[tuple[int, ...]]) -> None:
    """Rows (begin, end, computing, exchanging, syncing) against one difference per tile and interval, summed up.

    Where compute was not counted on every tile, those that take part in a step do so from its begin to its end, and the
    others sync."""
    ((total,),) = report.rows("SELECT sum(cycles) FROM runs")
    change = np.zeros((total + 1, 3), np.int64)
    begin = 0
    for run, cycles in report.rows("SELECT id, cycles FROM runs ORDER BY id"):
        for ipu in range(report.target["num_ipus"]):
            if not report.knows_single_tiles:
                for _, type_, _, base, _, duration, row in report.steps(run, ipu):
                    first, last = base + row["all_cycles_from_max"], base + row["all_cycles_to_max"]
                    busy = 0 if PHASE[type_] == 2 else int((duration > 0).sum())
                    for column, tiles in ((PHASE[type_], busy), (2, report.per_ipu - busy)):
                        change[first, column] += tiles
                        change[last, column] -= tiles
                continue
            for _, type_, _, base, start, duration, _ in report.steps(run, ipu):
                np.add.at(change[:, PHASE[type_]], base + start, 1)
                np.add.at(change[:, PHASE[type_]], base + start + duration, -1)
            end = begin + cycles
            np.add.at(change[:, 2], end - report.tail(run, ipu), 1)
            change[end, 2] -= report.per_ipu
        begin += cycles
    counts = np.cumsum(change, axis=0)[:-1]
    assert (counts.sum(axis=1) == report.tiles).all()
    table = np.array(rows, np.int64).reshape(-1, 5)
    assert table[0, 0] == 0
    assert table[-1, 1] == total
    assert (table[1:, 0] == table[:-1, 1]).all()
    assert (table[1:, 2:] != table[:-1, 2:]).any(axis=1).all(), "equal neighbours are one row"
    assert np.array_equal(np.repeat(table[:, 2:], table[:, 1] - table[:, 0], axis=0), counts)


def check_estimates(report: PlainReport) -> None:
    """A compute step takes its program's estimate on every tile; an exchange moves what its program says."""
    programs = {
        (program, ipu): [report.array(i) for i in ids]
        for program, ipu, *ids in report.rows(
            "SELECT program, ipu, cycles_array, rx_array, tx_array FROM program_by_ipu"
        )
    }
    for (run,) in report.rows("SELECT id FROM runs"):
        for ipu in range(report.target["num_ipus"]):
            for _, type_, program, _, _, duration, row in report.steps(run, ipu):
                cycles, rx, tx = programs.get((program, ipu), [np.zeros(report.per_ipu, np.int64)] * 3)
                if type_ in ("OnTileExecute", "DoExchange"):
                    assert np.array_equal(duration, cycles), (type_, program)
                assert (row["data_in"], row["data_out"]) == (rx.sum(), tx.sum())
