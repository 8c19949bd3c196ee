"""Liveness of two reports side by side: matched indices, and variables live at both.

Every table has a row per thing that stands in either report. What stands in one report only counts 0 in the other; a
figure is missing (NaN) where it was not recorded, and on the side where an index has no partner. Variables match by
`match_variables`, allocations without a variable by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.align import align
from popvision.analysis.compare.matching import match_programs, match_variables
from popvision.analysis.liveness.curve import curve
from popvision.analysis.liveness.steps import cycles_table, flops_table, program_names, vertices_table
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.report.columns import liveness
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.one_sided import both_in_full
from popvision.analysis.report.tiles import Where
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from popvision.analysis.report.source import ReportSource


#: How indices are paired.
BY = ("index", "programs")


def match_indices(source: ReportSource, target: ReportSource, by: str = "index") -> Int64Array:
    """The target's liveness index of each one of the source, -1 where it has none.

    "index": i is i. "programs": the two orders of programs are laid side by side, matched programs on each other, as
    many as can be in order. Raises ValueError for another way, NotRecordedError without liveness.
    """
    if by not in BY:
        raise ValueError(f"indices are paired by {' or '.join(BY)}, not by {by!r}")
    source_programs, target_programs = (
        np.asarray(liveness(report).program, dtype=np.int64) for report in (source, target)
    )
    if by == "index":
        index = np.arange(len(source_programs))
        return np.where(index < len(target_programs), index, -1)
    return source.kept.beside(target).once(
        "liveness indices", lambda: _by_programs(source, target, source_programs, target_programs)
    )


def _by_programs(
    source: ReportSource, target: ReportSource, source_programs: Int64Array, target_programs: Int64Array
) -> Int64Array:
    partner = match_programs(source, target).target_rows()[source_programs]
    codes = np.where(partner >= 0, partner, -2)  # -2: equal to nothing of the target
    rows, columns = align(codes, target_programs)
    target_position = np.full(len(source_programs), -1, dtype=np.int64)
    target_position[rows] = columns
    return target_position


def only_target(source: ReportSource, target: ReportSource, by: str = "index") -> Int64Array:
    """Liveness indices of the target that no index of the source is paired with."""
    paired = match_indices(source, target, by)
    return np.setdiff1d(np.arange(len(liveness(target).program)), paired)


def curve_pair(source: ReportSource, target: ReportSource, where: Where, by: str = "index") -> Table:
    """A row per index of either report: liveness_index, target_index, step, program, target_program, then of either
    side not_always_live_bytes and live_bytes; the target's own rows stand at the end."""
    source_curve, target_curve = curve(source, where), curve(target, where)
    paired = match_indices(source, target, by)
    alone = only_target(source, target, by)
    rows = np.concatenate([np.arange(len(paired)), np.full(len(alone), -1)])
    partners = np.concatenate([paired, alone])
    names = [*program_names(source, source_curve.program), *program_names(target, target_curve.program[alone])]
    figures = [
        Figure("liveness_index", "id", _or_missing(np.arange(len(paired)), rows)),
        Figure("target_index", "id", _or_none(partners)),
        Figure("step", "text", names),
        Figure("program", "id", _or_missing(source_curve.program, rows)),
        Figure("target_program", "id", _or_missing(target_curve.program, partners)),
    ]
    for id, always in (
        ("not_always_live_bytes", (0, 0)),
        ("live_bytes", (source_curve.always_live, target_curve.always_live)),
    ):
        source_live = _or_missing(source_curve.not_always_live + always[0], rows)
        other = _or_missing(target_curve.not_always_live + always[1], partners)
        figures += [Figure(id, "bytes", source_live, side="source"), Figure(id, "bytes", other, side="target")]
    return Table("liveness_curve", figures)


def _or_none(rows: Int64Array) -> Float64Array:
    return np.where(rows >= 0, rows, np.nan)


def _or_missing(values: Int64Array, rows: Int64Array) -> Float64Array:
    """values[row], NaN where row is -1."""
    if not len(values):
        return np.full(len(rows), np.nan)
    return np.where(rows >= 0, values[np.maximum(rows, 0)], np.nan)


def always_live_pair(source: ReportSource, target: ReportSource, where: Where) -> Table:
    """name, variable, target_variable, and size_bytes of either side: always-live variables of either report, largest
    first; 0 where that report has no such variable or it is not always live there."""
    tables = [always_live_table(report, where) for report in (source, target)]
    frames = [_frame(name=each["name"], variable=each["variable"], bytes=each["size_bytes"]) for each in tables]
    both = _variables(source, target, (frames[0], frames[1]), ["bytes"])
    both = both.fillna({"bytes_source": 0, "bytes_target": 0})
    return Table("always_live_variables", [*_who(both), *_both_sides(both, "bytes")])


def live_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], where: Where, by: str = "index"
) -> Table:
    """Variables live at any of the source's `indices`, or at the target's partners of these: name, variable,
    target_variable, then of either side size_bytes at each index "i". Where an index has no partner the target's column
    is missing; a variable that a report lacks, or that is not live at its index, counts 0 there."""
    paired = match_indices(source, target, by)
    count = len(paired)
    source_indices = [index if index < count else -1 for index in indices]
    partners = [int(paired[index]) if index < count else -1 for index in indices]
    frames = []
    for report, own in ((source, source_indices), (target, partners)):
        table = live_table(report, [*dict.fromkeys(index for index in own if index >= 0)], where)
        frame = _frame(name=table["name"], variable=table["variable"])
        for index, own_index in zip(indices, own, strict=True):
            frame[str(index)] = table.column("size_bytes", str(own_index)).values if own_index >= 0 else np.nan
        frames.append(frame)
    both = _variables(source, target, (frames[0], frames[1]), [str(index) for index in indices])
    _fill_partners(source, target, both)
    for index, place, partner in zip(indices, source_indices, partners, strict=True):
        for side, there in (("source", place >= 0), ("target", partner >= 0)):
            if there:
                both[f"{index}_{side}"] = both[f"{index}_{side}"].fillna(0)
    sides = [figure for index in indices for figure in _both_sides(both, str(index), str(index))]
    return Table("live_variables", [*_who(both), *sides])


def _frame(**columns: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


def _who(both: pd.DataFrame) -> list[Figure]:
    return [
        Figure("name", "text", both["name"]),
        Figure("variable", "id", both["variable"]),
        Figure("target_variable", "id", both["target_variable"]),
    ]


def _both_sides(both: pd.DataFrame, column: str, place: str = "") -> list[Figure]:
    return [
        Figure("size_bytes", "bytes", both[f"{column}_source"], place, "source"),
        Figure("size_bytes", "bytes", both[f"{column}_target"], place, "target"),
    ]


def _fill_partners(source: ReportSource, target: ReportSource, both: pd.DataFrame) -> None:
    """Gives rows of variables that are live in one report only the id of the partner that the other report has."""
    matching = match_variables(source, target)
    for own, other, partner in (
        ("variable", "target_variable", matching.target_rows()),
        ("target_variable", "variable", matching.source_rows()),
    ):
        ids = both[own].fillna(-1).to_numpy(dtype=np.int64)
        partners = np.append(partner, -1)[ids]
        not_live = both[other].isna().to_numpy() & (partners >= 0)
        both.loc[not_live, other] = partners[not_live]


def _variables(
    source: ReportSource, target: ReportSource, frames: tuple[pd.DataFrame, pd.DataFrame], figures: list[str]
) -> pd.DataFrame:
    """Two frames of variables joined: by matched variable, else by name; equal names are added up before."""
    source_rows, target_rows = (
        frame.groupby(["variable", "name"], sort=False, as_index=False).sum(min_count=1) for frame in frames
    )
    # Row -1 (no variable) takes the last element: no partner either.
    partner = np.append(match_variables(source, target).target_rows(), -1)[
        source_rows["variable"].to_numpy(dtype=np.int64)
    ]
    source_rows["key"] = [
        f"#{there}" if there >= 0 else (name if own < 0 else f"source {own}")
        for own, there, name in zip(source_rows["variable"], partner, source_rows["name"], strict=True)
    ]
    target_rows["key"] = [
        f"#{own}" if own >= 0 else name for own, name in zip(target_rows["variable"], target_rows["name"], strict=True)
    ]
    target_rows = target_rows.rename(columns={"variable": "target_variable", "name": "target_name"})
    both = source_rows.merge(target_rows, on="key", how="outer", suffixes=("_source", "_target"), sort=False)
    names = zip(both["name"], both["target_name"], strict=True)
    both["name"] = [own if isinstance(own, str) else other for own, other in names]
    larger = both[[f"{figures[0]}_source", f"{figures[0]}_target"]].max(axis=1) if figures else both["variable"]
    both = both.iloc[np.argsort(-larger.fillna(-1).to_numpy(), kind="stable")]
    columns = [f"{figure}_{side}" for figure in figures for side in ("source", "target")]
    return both[["name", "variable", "target_variable", *columns]].reset_index(drop=True)


def vertices_pair(
    source: ReportSource, target: ReportSource, index: int, tiles: tuple[range, range], by: str = "index"
) -> Table:
    """Vertices at an index and at its partner, types matched by name: name, kind, and instances and state_bytes of
    either side, 0 of a type that does not run there, missing where the index has no partner."""
    partner = int(match_indices(source, target, by)[index])
    frames = []
    for report, own, where in ((source, index, tiles[0]), (target, partner, tiles[1])):
        table = vertices_table(report, [own] if own >= 0 else [], where)
        sizes = {id: table[id] if own >= 0 else np.empty(0, np.int64) for id in ("instances", "state_bytes")}
        frames.append(_frame(name=table["name"], kind=table["kind"], **sizes))
    both = frames[0].merge(frames[1], on=["name", "kind"], how="outer", suffixes=("_source", "_target"))
    sides = ["source", "target"] if partner >= 0 else ["source"]
    both = both.fillna({f"{id}_{side}": 0 for id in ("instances", "state_bytes") for side in sides})
    return Table(
        "live_vertices",
        [
            Figure("name", "text", both["name"]),
            Figure("kind", "text", both["kind"]),
            Figure("instances", "count", both["instances_source"], side="source"),
            Figure("state_bytes", "bytes", both["state_bytes_source"], side="source"),
            Figure("instances", "count", both["instances_target"], side="target"),
            Figure("state_bytes", "bytes", both["state_bytes_target"], side="target"),
        ],
    )


def cycles_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], tiles: tuple[range, range], by: str = "index"
) -> Table:
    """A row per index: liveness_index, target_index, step, and longest_cycles, mean_cycles, balance of either side."""
    import pandas as pd

    paired = match_indices(source, target, by)[list(indices)]
    source_table = cycles_table(source, indices, tiles[0])
    target_table = cycles_table(target, paired[paired >= 0].tolist(), tiles[1])
    figures = [
        source_table.column("liveness_index"),
        Figure("target_index", "id", _or_none(paired)),
        source_table.column("step"),
    ]
    for id in ("longest_cycles", "mean_cycles", "balance"):
        values = pd.Series(np.full(len(paired), np.nan))
        values[paired >= 0] = np.asarray(target_table[id], np.float64)
        figures += [
            replace(source_table.column(id), side="source"),
            replace(target_table.column(id), values=values, side="target"),
        ]
    return Table("cycle_estimates", figures)


def flops_pair(source: ReportSource, target: ReportSource, index: int, by: str = "index") -> Table:
    """Floating point operations at an index and its partner: name ("Total" first), flops of either side,
    0 of a type that does not run there."""
    partner = int(match_indices(source, target, by)[index])
    frames = []
    for report, own in ((source, index), (target, partner)):
        table = flops_table(report, [own] if own >= 0 else [])
        flops = table["flops"].to_numpy(float, na_value=np.nan) if own >= 0 else np.full(len(table), np.nan)
        frames.append(_frame(name=table["name"], flops=flops))
    both = frames[0].merge(frames[1], on="name", how="outer", suffixes=("_source", "_target"), indicator="in")
    if partner >= 0:
        absent = ((both["in"] == "right_only").to_numpy(), (both["in"] == "left_only").to_numpy())
        counted = both_in_full(both["flops_source"], both["flops_target"], absent, "flops")
        both["flops_source"], both["flops_target"] = counted
    both = both.iloc[np.argsort((both["name"] != "Total").to_numpy(), kind="stable")].reset_index(drop=True)
    return Table(
        "flop_estimates",
        [
            Figure("name", "text", both["name"]),
            Figure("flops", "flops", both["flops_source"], side="source"),
            Figure("flops", "flops", both["flops_target"], side="target"),
        ],
    )
