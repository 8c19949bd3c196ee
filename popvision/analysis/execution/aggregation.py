"""Steps of a window, aggregated by name, type, program or vertex type: a bottom-up profile.

One pass over the programs that ran: steps first add up by program, then programs by group. Two times are never added
to each other:

    cycles        parts of the flat bars that lie in the window (critical path); of all steps: the window
    tile cycles   sum over tiles of the cycles they spend in the window

and two ways to give them to a name: *self* = steps whose full name it is (whose last part it is, for parts of names),
*total* = those below it as well; a step counts once however often a part occurs in its name. Steps that the window cuts
count with the part inside (`window_steps`). With several IPUs, cycles and tile cycles of all of them are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from popvision.analysis.execution.flame import name_path
from popvision.analysis.execution.timeline import Timeline, program_labels, timeline
from popvision.analysis.execution.window_steps import WindowSteps, window_steps
from popvision.analysis.report.figure import Table, Unit, table_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Levels of the name path that a caller may choose: "level1" is the outermost part, "level2" two parts, and so on.
LEVELS = 8

#: What steps can be added up by.
GROUPINGS = ("part", "name", *(f"level{depth}" for depth in range(1, LEVELS + 1)), "type", "program")


class Names(NamedTuple):
    """What each program is called: its label and its number; row = program of the report."""

    label: Sequence[str]
    number: Sequence[str]


def own_names(source: ReportSource) -> Names:
    """Labels and row numbers as the report has them."""
    labels = program_labels(source)
    return Names(labels, [str(row) for row in range(len(labels))])


#: Figures of `aggregate`.
GROUP_FIGURES: dict[str, Unit] = {
    "name": "text",
    "count": "count",
    "self_cycles": "cycles",
    "total_cycles": "cycles",
    "self_tile_cycles": "cycles",
    "total_tile_cycles": "cycles",
    "share": "share",
    "self_share": "share",
    "cumulative": "share",
    "mean": "mean_cycles",
    "min": "cycles",
    "max": "cycles",
}

#: Figures of `aggregate_vertices`.
VERTEX_FIGURES: dict[str, Unit] = {
    "name": "text",
    "kind": "text",
    "compute_sets": "count",
    "executions": "count",
    "instances": "count",
    "thread_cycles": "thread_cycles",
    "tile_cycles": "cycles",
    "thread_cycles_share": "share",
    "tile_cycles_share": "share",
}


class _ProgramSums(NamedTuple):
    """Sums over the busy steps of one program; row = program of the report."""

    steps: Int64Array  #: how many
    cycles: Int64Array
    tile_cycles: Int64Array
    least: Int64Array
    most: Int64Array
    type: Int64Array


def aggregate(
    source: ReportSource, ipus: Sequence[int], begin: int, end: int, by: str, names: Names | None = None
) -> Table:
    """One row per group, most total cycles first: `name`, `count` (busy steps), `self_cycles`, `total_cycles`,
    `self_tile_cycles`, `total_tile_cycles`, `share` and `self_share` of the window, `cumulative` (self share of this
    row and all rows with more self cycles), `mean`, `min`, `max` (of total cycles per step).

    `names` replaces the names of programs. Raises ValueError for another
    grouping or an IPU that is not twindow."""
    if by not in GROUPINGS:
        raise ValueError(f"steps are added up by {', '.join(GROUPINGS)}, not by {by!r}")
    names = names or own_names(source)
    programs = _add(
        [
            _sum_by_program(steps, window_steps(steps, source.reader, begin, end), len(names.label))
            for steps in (timeline(source, ipu) for ipu in ipus)
        ]
    )
    ran = np.flatnonzero(programs.steps)
    groups = [
        _groups(names.label[row], PROGRAM_TYPES[programs.type[row]], names.number[row], by) for row in ran.tolist()
    ]
    return _group_table(programs, ran, groups, (end - begin) * len(ipus))


def _sum_by_program(steps: Timeline, window: WindowSteps, programs: int) -> _ProgramSums:
    rows = np.flatnonzero(window.busy | (window.length > 0))
    program = steps.program[rows]
    least, most = np.full(programs, np.iinfo(np.int64).max), np.zeros(programs, np.int64)
    np.minimum.at(least, program, window.length[rows])
    np.maximum.at(most, program, window.length[rows])
    kind = np.zeros(programs, np.int64)
    kind[program] = steps.type[rows]
    return _ProgramSums(
        steps=np.bincount(program, minlength=programs).astype(np.int64),
        cycles=_sums(window.length[rows], program, programs),
        tile_cycles=_sums(window.tile_cycles[rows], program, programs),
        least=least,
        most=most,
        type=kind,
    )


def _sums(values: Int64Array, group: Int64Array, groups: int) -> Int64Array:
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, values)
    return sums


def _add(parts: list[_ProgramSums]) -> _ProgramSums:
    return _ProgramSums(
        steps=np.sum([each.steps for each in parts], axis=0),
        cycles=np.sum([each.cycles for each in parts], axis=0),
        tile_cycles=np.sum([each.tile_cycles for each in parts], axis=0),
        least=np.min([each.least for each in parts], axis=0),
        most=np.max([each.most for each in parts], axis=0),
        type=np.max([each.type for each in parts], axis=0),
    )


def _groups(label: str, kind: str, number: str, by: str) -> tuple[str, list[str]]:
    """(the group that a program belongs to by itself or "" for none, every group that contains it)."""
    if by == "type":
        return kind, [kind]
    if by == "program":
        return f"{number}: {label}", [f"{number}: {label}"]
    path = name_path(label, kind)
    if by == "name":
        return "/".join(path), ["/".join(path)]
    if by == "part":
        return path[-1], list(dict.fromkeys(path))
    depth = int(by.removeprefix("level"))
    above = "/".join(path[:depth])
    return (above if len(path) <= depth else ""), [above]


def _group_table(
    programs: _ProgramSums, ran: Int64Array, groups: list[tuple[str, list[str]]], window_cycles: int
) -> Table:
    import pandas as pd

    rows = []
    for program, (own, within) in zip(ran.tolist(), groups, strict=True):
        count, cycles, tiles, least, most, _ = (int(column[program]) for column in programs)
        for name in within:
            is_own = name == own
            rows.append((name, count, cycles * is_own, cycles, tiles * is_own, tiles, least, most))
    columns = ["name", "count", "self_cycles", "total_cycles", "self_tile_cycles", "total_tile_cycles", "min", "max"]
    each = pd.DataFrame(rows, columns=columns)
    sums = dict.fromkeys(columns[1:6], "sum") | {"min": "min", "max": "max"}
    frame = each.groupby("name", sort=True, as_index=False).agg(sums)
    frame["mean"] = frame["total_cycles"] / frame["count"]
    frame["share"] = frame["total_cycles"] / window_cycles if window_cycles else np.nan
    frame["self_share"] = frame["self_cycles"] / window_cycles if window_cycles else np.nan
    order = ["self_cycles", "total_cycles", "name"]
    frame = frame.sort_values(order, ascending=[False, False, True], kind="stable", ignore_index=True)
    frame["cumulative"] = frame["self_cycles"].cumsum() / window_cycles if window_cycles else np.nan
    return table_of("step_groups", GROUP_FIGURES, frame)


def aggregate_vertices(source: ReportSource, ipus: Sequence[int], begin: int, end: int) -> Table:
    """One row per vertex type that ran in the window: `executions` of its compute sets (a step that the window cuts
    counts in full), `instances` run, and their cycles in the unit of the type's kind: `thread_cycles` of workers,
    `tile_cycles` of supervisor and multi vertices. Empty when the report counts no vertices."""
    import pandas as pd

    types, reader = source.reader.vertex_types(), source.reader
    times = {ipu: _executions(source, ipu, begin, end) for ipu in ipus}
    sums_by_type: dict[int, list[int]] = {}
    for part in reader.compute_set_vertices():
        ran = int(times[part.ipu][part.compute_set]) if part.ipu in times else 0
        if ran:
            sums = sums_by_type.setdefault(part.vertex_type, [0, 0, 0, 0])
            new = (1, ran, ran * int(part.count.sum(dtype=np.int64)), ran * int(part.cycles.sum(dtype=np.int64)))
            sums_by_type[part.vertex_type] = [a + b for a, b in zip(sums, new, strict=True)]
    rows = [
        {
            "name": types.name[row],
            "kind": types.kind[row],
            "compute_sets": sums[0],
            "executions": sums[1],
            "instances": sums[2],
            "thread_cycles": sums[3] if types.kind[row] == "worker" else 0,
            "tile_cycles": 0 if types.kind[row] == "worker" else sums[3],
        }
        for row, sums in sums_by_type.items()
    ]
    frame = pd.DataFrame(rows, columns=list(VERTEX_FIGURES)[:-2])
    for unit in ("thread_cycles", "tile_cycles"):
        frame[f"{unit}_share"] = frame[unit] / max(int(frame[unit].sum()), 1)
    order = ["thread_cycles", "tile_cycles", "name"]
    frame = frame.sort_values(order, ascending=[False, False, True], ignore_index=True)
    return table_of("vertex_groups", VERTEX_FIGURES, frame)


def _executions(source: ReportSource, ipu: int, begin: int, end: int) -> Int64Array:
    """How often each compute set is busy in the window."""
    steps = timeline(source, ipu)
    spans = steps.spans
    busy = (spans.busy_begin < end) & (spans.busy_end > begin) & (steps.figures.active_tiles > 0)
    sets = np.asarray(source.reader.programs().compute_set, np.int64)[steps.program[busy]]
    return np.bincount(sets[sets >= 0], minlength=len(source.reader.compute_sets().name))
