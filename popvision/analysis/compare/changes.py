"""Differences of matched rows: programs by cycles, variables and tiles by bytes, vertex types by vertices.

A row that only one report has counts in full: its value in the other is 0. Values that a report did not record are
missing (NaN), and so are those of tiles that its machine does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.compare.join import SIDES, join, with_rule
from popvision.analysis.compare.matching import (
    Matching,
    match_compute_sets,
    match_programs,
    match_tiles,
    match_variables,
    match_vertex_types,
)
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.programs.own_cycles import own_cycles
from popvision.analysis.report.columns import programs_of, stored_variables
from popvision.analysis.report.figure import Figure, Table, Unit
from popvision.analysis.report.one_sided import numbers_of
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Changes:
    """One row per pair, and per row that only one report has. Columns of `frame`:

    source, target       rows in the reports (program ids, tiles ...), -1 = not there
    type                 program type, "" elsewhere
    name_source, name_target
    matched, in_report   as in every joined table (join.py)
    value_source, value_target, difference    in the unit `kind`; 0 = not there, NaN = not recorded
    """

    what: str  #: "programs", "variables", "tiles", "vertex types" or "compute sets"
    kind: str  #: "cycles", "bytes" or "integer"
    about: str  #: what the value is, and over what
    frame: DataFrame

    @property
    def title(self) -> str:
        """What the rows are, in words."""
        return "variables in memory" if self.what == "variables" else self.what

    @property
    def changed(self) -> DataFrame:
        """Matched rows whose values differ, the largest difference first."""
        matched = (self.frame["source"] >= 0) & (self.frame["target"] >= 0)
        return _largest_first(self.frame[matched & (self.frame["difference"].fillna(0) != 0)])

    @property
    def renamed(self) -> DataFrame:
        """Rows matched by order whose names differ."""
        return self.frame[(self.frame["matched"] == "order") & (self.frame["name_source"] != self.frame["name_target"])]

    @property
    def only_source(self) -> DataFrame:
        """Rows of the source that the target does not have, the largest first."""
        return _largest_first(self.frame[self.frame["target"] < 0])

    @property
    def only_target(self) -> DataFrame:
        """Rows of the target that the source does not have, the largest first."""
        return _largest_first(self.frame[self.frame["source"] < 0])


def _largest_first(rows: DataFrame) -> DataFrame:
    """By the size of the difference, tiles that one machine lacks by their value; unknown ones last."""
    size = rows["difference"].fillna(rows["value_target"]).fillna(rows["value_source"]).abs()
    return rows.iloc[np.argsort(-size.fillna(-1).to_numpy(), kind="stable")]


_UNITS: dict[str, Unit] = {"cycles": "cycles", "bytes": "bytes", "integer": "count"}


def program_changes(source: ReportSource, target: ReportSource) -> Changes:
    """Own cycles of each program over all recorded runs, on the IPU where it took most."""
    columns = [programs_of(report) for report in (source, target)]
    cycles = [_own_cycles(report, len(each.type)) for report, each in zip((source, target), columns, strict=True)]
    return _changes(
        "programs",
        "cycles",
        "own cycles over all recorded runs, on the IPU where they are most",
        match_programs(source, target),
        [each.name for each in columns],
        cycles,
        [each.type for each in columns],
    )


def _own_cycles(report: ReportSource, programs: int) -> Float64Array | Int64Array:
    """NaN for every program where no run was recorded."""
    if not len(report.reader.runs().name):
        return np.full(programs, np.nan)
    return own_cycles(report).upto(programs).cycles


def variable_changes(source: ReportSource, target: ReportSource) -> Changes:
    """Bytes of each variable in memory before lowering, over all tiles. There are more than the metric "Variables of
    the graph" counts: parts that live at different times have a row each, and what the compiler adds is among them."""
    columns = [stored_variables(report) for report in (source, target)]
    names = [[] if each is None else each.name for each in columns]
    sizes = [np.zeros(0, np.int64) if each is None else each.bytes for each in columns]
    about = (
        f"bytes over all tiles; {len(names[0]):,} in the source, {len(names[1]):,} in the target: those of the graph, "
        "their parts, and what the compiler adds (messages, code)"
    )
    return _changes("variables", "bytes", about, match_variables(source, target), names, sizes)


def tile_changes(source: ReportSource, target: ReportSource) -> Changes:
    """Bytes of each tile including gaps. Raises NotRecordedError when a report holds no memory."""
    memory = [memory_by_tile(report, None) for report in (source, target)]
    names = [[f"tile {tile}" for tile in each.tiles] for each in memory]
    sizes = [each.including_gaps for each in memory]
    return _changes("tiles", "bytes", "bytes including gaps", match_tiles(source, target), names, sizes)


def vertex_type_changes(source: ReportSource, target: ReportSource) -> Changes:
    """Vertices of each type over all compute sets and tiles."""
    names = [report.reader.vertex_types().name for report in (source, target)]
    counts = [_vertices(report, len(name)) for report, name in zip((source, target), names, strict=True)]
    return _changes(
        "vertex types",
        "integer",
        "vertices over all compute sets and tiles",
        match_vertex_types(source, target),
        names,
        counts,
    )


def compute_set_changes(source: ReportSource, target: ReportSource) -> Changes:
    """Floating point operations of one execution of each compute set; missing where they are not known."""
    columns = [report.reader.compute_sets() for report in (source, target)]
    flops = [np.where(np.asarray(each.flops) < 0, np.nan, each.flops) for each in columns]
    return _changes(
        "compute sets",
        "integer",
        "floating point operations of one execution",
        match_compute_sets(source, target),
        [each.name for each in columns],
        flops,
    )


def _vertices(report: ReportSource, types: int) -> Int64Array:
    def read() -> Int64Array:
        counts = np.zeros(types, np.int64)
        for block in report.reader.compute_set_vertices():
            counts[block.vertex_type] += int(block.count.sum(dtype=np.int64))
        return counts

    return report.kept.once("vertices by type", read)


def _changes(
    what: str,
    kind: str,
    about: str,
    matching: Matching,
    names: list[list[str]],
    values: list[Any],
    types: list[list[str]] | None = None,
) -> Changes:
    import pandas as pd

    key = "tile" if what == "tiles" else "row"
    tables = [
        Table(
            what,
            [
                Figure(key, "id", np.arange(len(names[side]))),
                Figure("type", "text", types[side] if types else [""] * len(names[side])),
                Figure(f"name_{name}", "text", names[side]),
                Figure("value", _UNITS[kind], values[side]),
            ],
        )
        for side, name in enumerate(SIDES)
    ]
    both = with_rule(join(tables[0], tables[1], key, matching), key, matching)
    before, after = (numbers_of(both.column("value", side=side).values) for side in SIDES)
    frame = pd.DataFrame(
        {
            "source": _rows(both[key]),
            "target": _rows(both[f"target_{key}"]),
            **{id: pd.Series(both[id], dtype=object) for id in ("type", "name_source", "name_target")},
            "matched": both["matched"],
            "in_report": both["in_report"],
            "value_source": before,
            "value_target": after,
            "difference": after - before,
        }
    )
    return Changes(what, kind, about, frame)


def _rows(ids: npt.ArrayLike) -> Int64Array:
    """The ids, -1 where there is none."""
    return np.nan_to_num(numbers_of(ids), nan=-1).astype(np.int64)
