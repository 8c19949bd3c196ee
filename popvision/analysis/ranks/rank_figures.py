"""Figures of the ranks of one run side by side: a column of each rank, reduced to least, median, most and who has it.

Ranks run one program on devices of their own, so what differs between them is data: how often a loop runs, which branch
is taken, how long the host takes. Device cycles are compared with device cycles; the moments at which runs begin and
end are host time, of clocks that agree only as far as the nodes' clocks do.

A program row of one rank is that of another by debug identity (compare/matching.py); ranks whose programs are the same
list need no matching. Programs that only some ranks have are counted, not compared.

Cost: own cycles of each rank, a pass over its steps; then arrays of ranks x programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.matching import match_programs, match_runs
from popvision.analysis.execution.once import counted
from popvision.analysis.execution.phases import PHASES
from popvision.analysis.programs.own_cycles import own_cycles
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.target import describe_target
from popvision.analysis.summary.headline import headline
from popvision.arrays import Float64Array, Int64Array
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

Sources = Mapping[int, "ReportSource"]


@dataclass(frozen=True)
class Spread:
    """Values of ranks (columns) for things (rows), NaN where a rank has none, reduced over the ranks that have one."""

    least: Float64Array
    median: Float64Array
    most: Float64Array
    first: Int64Array  #: the rank of the least
    last: Int64Array  #: the rank of the most

    @property
    def span(self) -> Float64Array:
        """Most less least."""
        return np.asarray(self.most - self.least)

    @property
    def above_median(self) -> Float64Array:
        """(Most less median) / median; 0 where the median is 0."""
        return np.divide(self.most - self.median, self.median, out=np.zeros_like(self.most), where=self.median > 0)


def spread(values: Float64Array, ranks: Int64Array) -> Spread:
    """`values` is (things, ranks), with a number in each row. The lowest rank is named where several have the same."""
    if not len(values):
        none, nobody = np.zeros(0), np.zeros(0, np.int64)
        return Spread(none, none, none, nobody, nobody)
    least, most = np.nanargmin(values, axis=1), np.nanargmax(values, axis=1)
    rows = np.arange(len(values))
    median = np.nanmedian(values, axis=1)
    return Spread(values[rows, least], median, values[rows, most], ranks[least], ranks[most])


def figures_by_rank(sources: Sources) -> pd.DataFrame:
    """A row per rank: rank, report, machine, runs, cycles (device, without runs once per attachment), of_median
    (cycles / median of the ranks - 1), cycles of a tile in each phase (share of the phase x cycles), fullest_tile
    and capacity (bytes of one tile, gaps included), fullest_used and used (bytes, gaps excluded), tiles_over,
    problem. None = not recorded."""
    import pandas as pd

    rows = [_row(rank, sources[rank]) for rank in sorted(sources)]
    known = [row["cycles"] for row in rows if row["cycles"] is not None]
    median = float(np.median(known)) if known else 0.0
    for row in rows:
        row["of_median"] = row["cycles"] / median - 1 if row["cycles"] is not None and median else None
    return pd.DataFrame(rows)


def _row(rank: int, source: ReportSource) -> dict[str, Any]:
    facts = headline(source)
    target = if_recorded(source.reader.target)
    cycles = None if facts.total_cycles is None else counted(source).total_cycles
    shares = facts.shares or {}
    return {
        "rank": rank,
        "report": source.label,
        "machine": "" if target is None else describe_target(target),
        "runs": facts.runs,
        "cycles": cycles,
        "of_median": None,
        **{
            f"{phase.replace(' ', '_')}_cycles": None
            if phase not in shares or cycles is None
            else shares[phase] * cycles
            for phase in PHASES
        },
        "fullest_tile": facts.tile_bytes,
        "capacity": facts.tile_capacity,
        "fullest_used": facts.fullest_bytes,
        "used": facts.used_bytes,
        "tiles_over": facts.tiles_out_of_memory,
        "problem": next(iter([*source.lost, *facts.lost.values()]), ""),
    }


def runs_of_ranks(sources: Sources) -> pd.DataFrame:
    """A row per recorded run of the lowest rank: run, name, ranks (how many have it), first and last to begin (ranks),
    begin_us and end_us (span over the ranks of the moments of host time), host_us (longest run of the host's), least,
    median and most cycles (device), slowest (rank), above_median."""
    import pandas as pd

    readable = _with_runs(sources)
    if not readable:
        return pd.DataFrame()
    ranks = np.array(sorted(readable), np.int64)
    base = readable[int(ranks[0])]
    runs = base.reader.runs()
    begin, end, cycles = (np.full((len(runs.name), len(ranks)), np.nan) for _ in range(3))
    for column, rank in enumerate(ranks.tolist()):
        other = readable[rank].reader.runs()
        partner = np.arange(len(runs.name)) if column == 0 else match_runs(base, readable[rank])
        there = partner >= 0
        for table, values in ((begin, other.host_start_us), (end, other.host_end_us), (cycles, other.cycles)):
            table[there, column] = np.asarray(values, np.float64)[partner[there]]
    begun, ended, spent = spread(begin, ranks), spread(end, ranks), spread(cycles, ranks)
    return pd.DataFrame(
        {
            "run": np.arange(len(runs.name)),
            "name": list(runs.name),
            "ranks": np.count_nonzero(~np.isnan(cycles), axis=1),
            "first": begun.first,
            "last": begun.last,
            "begin_us": begun.span,
            "end_us": ended.span,
            "host_us": np.nanmax(end - begin, axis=1) if len(begin) else np.zeros(0),
            "least": spent.least,
            "median": spent.median,
            "most": spent.most,
            "slowest": spent.last,
            "above_median": spent.above_median,
        }
    )


@dataclass(frozen=True)
class StepsOfRanks:
    """`frame` has a row per program that ran on some rank, most cycles between ranks first: program (id of the lowest
    rank), type, name, fewest and most_executions, least, median and most cycles (of the program's own steps, all
    recorded runs), span (most - least), above_median, fastest and slowest (ranks).

    `apart`: programs that ran on a rank and have no partner on the lowest one, by rank; they are in no row. `silent`:
    ranks whose steps were not recorded."""

    frame: pd.DataFrame
    apart: dict[int, int]
    silent: list[int]


def steps_of_ranks(sources: Sources) -> StepsOfRanks:
    """The distribution of each program's cycles over the ranks."""
    import pandas as pd

    readable = _with_runs(sources)
    silent = [rank for rank in sorted(sources) if rank not in readable]
    if not readable:
        return StepsOfRanks(pd.DataFrame(), {}, silent)
    ranks = np.array(sorted(readable), np.int64)
    base = readable[int(ranks[0])]
    programs = programs_of(base)
    count = len(programs.type)
    cycles, executions = np.zeros((count, len(ranks))), np.zeros((count, len(ranks)))
    apart: dict[int, int] = {}
    for column, rank in enumerate(ranks.tolist()):
        source = readable[rank]
        own = own_cycles(source).upto(len(programs_of(source).type))
        row = _rows_of(base, source)
        there = row >= 0
        cycles[row[there], column] = own.cycles[there]
        executions[row[there], column] = own.executions[there]
        alone = int(np.count_nonzero(own.executions[~there]))
        if alone:
            apart[rank] = alone
    ran = np.flatnonzero(executions.any(axis=1) & cycles.any(axis=1))
    found = spread(cycles[ran], ranks)
    order = np.lexsort((ran, -found.most, -found.span))
    frame = pd.DataFrame(
        {
            "program": ran,
            "type": [programs.type[row] for row in ran.tolist()],
            "name": [programs.name[row] for row in ran.tolist()],
            "fewest_executions": executions[ran].min(axis=1).astype(np.int64),
            "most_executions": executions[ran].max(axis=1).astype(np.int64),
            "least": found.least.astype(np.int64),
            "median": found.median,
            "most": found.most.astype(np.int64),
            "span": found.span.astype(np.int64),
            "above_median": found.above_median,
            "fastest": found.first,
            "slowest": found.last,
        }
    )
    return StepsOfRanks(frame.iloc[order].reset_index(drop=True), apart, silent)


def _with_runs(sources: Sources) -> dict[int, ReportSource]:
    """The ranks whose runs and steps can be read."""

    def is_readable(source: ReportSource) -> bool:
        try:
            return bool(len(source.reader.runs().name)) and len(own_cycles(source).cycles) > 0
        except (FormatError, NotRecordedError):
            return False

    return {rank: source for rank, source in sources.items() if is_readable(source)}


def _rows_of(base: ReportSource, source: ReportSource) -> Int64Array:
    """The row of `base` for each program of `source`, -1 = none."""
    one, other = programs_of(base), programs_of(source)
    if one.type == other.type and one.name == other.name:
        return np.arange(len(other.type))
    return match_programs(base, source).source_rows()
