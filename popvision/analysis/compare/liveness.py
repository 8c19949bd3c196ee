"""The liveness of two reports side by side: which index of one is which of the other, and what is live at both.

Every frame has a row per thing that stands in either report; `<figure>_source` or `<figure>_target` is missing (NaN)
where it stands in one report only. Variables are matched by `match_variables`, allocations without a variable by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.align import align
from popvision.analysis.compare.matching import match_programs, match_variables
from popvision.analysis.liveness.curve import Where, curve, liveness
from popvision.analysis.liveness.steps import cycles_table, flops_table, program_names, vertices_table
from popvision.analysis.liveness.variables import always_live_table, live_table
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
    ours, theirs = (np.asarray(liveness(report).program, dtype=np.int64) for report in (source, target))
    if by == "index":
        index = np.arange(len(ours))
        return np.where(index < len(theirs), index, -1)
    return source.kept.beside(target).once("liveness indices", lambda: _by_programs(source, target, ours, theirs))


def _by_programs(source: ReportSource, target: ReportSource, ours: Int64Array, theirs: Int64Array) -> Int64Array:
    partner = match_programs(source, target).target_rows()[ours]
    codes = np.where(partner >= 0, partner, -2)  # -2: equal to nothing of the target
    rows, columns = align(codes, theirs)
    found = np.full(len(ours), -1, dtype=np.int64)
    found[rows] = columns
    return found


def only_target(source: ReportSource, target: ReportSource, by: str = "index") -> Int64Array:
    """Liveness indices of the target that no index of the source is paired with."""
    paired = match_indices(source, target, by)
    return np.setdiff1d(np.arange(len(liveness(target).program)), paired)


def curve_pair(source: ReportSource, target: ReportSource, where: Where, by: str = "index") -> pd.DataFrame:
    """A row per index of either report: Index, Program, Step and Target index, Target program, then
    "Not always live_source/_target" and "Total_source/_target" in bytes; the target's own rows stand at the end."""
    import pandas as pd

    ours, theirs = curve(source, where), curve(target, where)
    paired = match_indices(source, target, by)
    alone = only_target(source, target, by)
    rows = np.concatenate([np.arange(len(paired)), np.full(len(alone), -1)])
    partners = np.concatenate([paired, alone])
    columns: dict[str, object] = {
        "Index": _or_missing(np.arange(len(paired)), rows),
        "Target index": _or_none(partners),
    }
    names = [*program_names(source, ours.program), *program_names(target, theirs.program[alone])]
    columns |= {"Step": names, "Program": _or_missing(ours.program, rows)}
    columns["Target program"] = _or_missing(theirs.program, partners)
    for field, always in (("Not always live", (0, 0)), ("Total", (ours.always_live, theirs.always_live))):
        columns[f"{field}_source"] = _or_missing(ours.not_always_live + always[0], rows)
        columns[f"{field}_target"] = _or_missing(theirs.not_always_live + always[1], partners)
    return pd.DataFrame(columns)


def _or_none(rows: Int64Array) -> Float64Array:
    return np.where(rows >= 0, rows, np.nan)


def _or_missing(values: Int64Array, rows: Int64Array) -> Float64Array:
    """values[row], NaN where row is -1."""
    if not len(values):
        return np.full(len(rows), np.nan)
    return np.where(rows >= 0, values[np.maximum(rows, 0)], np.nan)


def always_live_pair(source: ReportSource, target: ReportSource, where: Where) -> pd.DataFrame:
    """Variable, Id, Target id, Bytes_source, Bytes_target: always-live variables of either report, largest first."""
    frames = (always_live_table(source, where), always_live_table(target, where))
    return _variables(source, target, frames, ["Bytes"])


def live_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], where: Where, by: str = "index"
) -> pd.DataFrame:
    """Variables live at any of the source's `indices`, or at the target's partners of these: Variable, Id, Target id,
    then "Index i_source" and "Index i_target" bytes. Where an index has no partner its target column is missing; a
    variable not live at an index of a report that has it counts 0 there."""
    paired = match_indices(source, target, by)
    count = len(paired)
    ours = [index for index in indices if index < count]
    partners = [int(paired[index]) if index < count else -1 for index in indices]
    frames = [live_table(source, ours, where)]
    there = [partner for partner in partners if partner >= 0]
    frames.append(live_table(target, list(dict.fromkeys(there)), where))
    for index, partner in zip(indices, partners, strict=True):
        for frame, own in ((frames[0], index if index < count else -1), (frames[1], partner)):
            frame[f"at {index}"] = frame[f"Index {own}"] if own >= 0 else np.nan
    kept = [frame[["Variable", "Id", *(f"at {index}" for index in indices)]] for frame in frames]
    joined = _variables(source, target, (kept[0], kept[1]), [f"at {index}" for index in indices])
    _not_live_is_zero(
        source, target, joined, [(f"at {i}", i < count, p >= 0) for i, p in zip(indices, partners, strict=True)]
    )
    return joined.rename(columns=lambda name: name.replace("at ", "Index ", 1) if name.startswith("at ") else name)


def _not_live_is_zero(
    source: ReportSource, target: ReportSource, joined: pd.DataFrame, figures: Sequence[tuple[str, bool, bool]]
) -> None:
    """A variable that both reports have but that is live in one of them only has 0 bytes in the other: not missing."""
    matching = match_variables(source, target)
    for own, other, partner, side in (
        ("Id", "Target id", matching.target_rows(), 2),
        ("Target id", "Id", matching.source_rows(), 1),
    ):
        ids = joined[own].fillna(-1).to_numpy(dtype=np.int64)
        partners = np.append(partner, -1)[ids]
        absent = joined[other].isna().to_numpy() & (partners >= 0)
        joined.loc[absent, other] = partners[absent]
        for name, in_source, in_target in figures:
            if (in_source, in_target)[side - 1]:
                joined.loc[absent, f"{name}_{('source', 'target')[side - 1]}"] = 0


def _variables(
    source: ReportSource, target: ReportSource, frames: tuple[pd.DataFrame, pd.DataFrame], figures: list[str]
) -> pd.DataFrame:
    """Two tables of variables joined: by matched variable, else by name; equal names are added up before."""
    ours, theirs = (frame.groupby(["Id", "Variable"], sort=False, as_index=False).sum(min_count=1) for frame in frames)
    # Row -1 (no variable) takes the last element: no partner either.
    partner = np.append(match_variables(source, target).target_rows(), -1)[ours["Id"].to_numpy(dtype=np.int64)]
    ours["key"] = [
        f"#{there}" if there >= 0 else (name if own < 0 else f"source {own}")
        for own, there, name in zip(ours["Id"], partner, ours["Variable"], strict=True)
    ]
    theirs["key"] = [
        f"#{own}" if own >= 0 else name for own, name in zip(theirs["Id"], theirs["Variable"], strict=True)
    ]
    theirs = theirs.rename(columns={"Id": "Target id", "Variable": "Target variable"})
    joined = ours.merge(theirs, on="key", how="outer", suffixes=("_source", "_target"), sort=False)
    names = zip(joined["Variable"], joined["Target variable"], strict=True)
    joined["Variable"] = [own if isinstance(own, str) else other for own, other in names]
    larger = joined[[f"{figures[0]}_source", f"{figures[0]}_target"]].max(axis=1) if figures else joined["Id"]
    joined = joined.iloc[np.argsort(-larger.fillna(-1).to_numpy(), kind="stable")]
    columns = [f"{figure}_{side}" for figure in figures for side in ("source", "target")]
    return joined[["Variable", "Id", "Target id", *columns]].reset_index(drop=True)


def vertices_pair(
    source: ReportSource, target: ReportSource, index: int, tiles: tuple[range, range], by: str = "index"
) -> pd.DataFrame:
    """Vertices at an index and at its partner, types matched by name: Vertex type, Kind, and of Instances
    and State (bytes) `_source` and `_target`."""
    partner = int(match_indices(source, target, by)[index])
    frames = []
    for report, own, where in ((source, index, tiles[0]), (target, partner, tiles[1])):
        frame = vertices_table(report, [own] if own >= 0 else [], where)
        frame = frame.rename(columns={f"Instances, index {own}": "Instances", f"State, index {own}": "State"})
        for column in ("Instances", "State"):
            if column not in frame:
                frame[column] = np.empty(0, dtype=np.int64)
        frames.append(frame[["Vertex type", "Kind", "Instances", "State"]])
    return frames[0].merge(frames[1], on=["Vertex type", "Kind"], how="outer", suffixes=("_source", "_target"))


def cycles_pair(
    source: ReportSource, target: ReportSource, indices: Sequence[int], tiles: tuple[range, range], by: str = "index"
) -> pd.DataFrame:
    """A row per index: Index, Step, Target index, and Maximum, Mean, Balance of either report's estimate."""
    import pandas as pd

    paired = match_indices(source, target, by)
    rows = []
    for index in indices:
        partner = int(paired[index])
        ours = cycles_table(source, [index], tiles[0]).iloc[0]
        theirs: Any = cycles_table(target, [partner], tiles[1]).iloc[0] if partner >= 0 else {}
        row: dict[str, object] = {
            "Index": index,
            "Target index": partner if partner >= 0 else None,
            "Step": ours["Step"],
        }
        for field in ("Maximum", "Mean", "Balance"):
            row |= {f"{field}_source": ours[field], f"{field}_target": theirs[field] if partner >= 0 else np.nan}
        rows.append(row)
    return pd.DataFrame(rows)


def flops_pair(source: ReportSource, target: ReportSource, index: int, by: str = "index") -> pd.DataFrame:
    """Floating point operations at an index and its partner: Vertex type ("Total" first), FLOP_source, FLOP_target."""
    partner = int(match_indices(source, target, by)[index])
    frames = []
    for report, own in ((source, index), (target, partner)):
        frame = flops_table(report, [own] if own >= 0 else [])
        frame = frame.rename(columns={f"FLOP, index {own}": "FLOP"})
        if "FLOP" not in frame:
            frame["FLOP"] = np.nan
        frames.append(frame.assign(FLOP=frame["FLOP"].astype("Float64").astype(float)))
    joined = frames[0].merge(frames[1], on="Vertex type", how="outer", suffixes=("_source", "_target"))
    is_total = (joined["Vertex type"] == "Total").to_numpy()
    return joined.iloc[np.argsort(~is_total, kind="stable")].reset_index(drop=True)
