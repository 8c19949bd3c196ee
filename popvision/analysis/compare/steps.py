"""Execution steps of two reports side by side: matched ones in one row, the others with a missing side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import HOW, match_steps
from popvision.analysis.execution.step_details import steps_in_window
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Columns that are set side by side.
FIELDS = ("cycles", "max_cycles", "mean_cycles", "data_in")


def steps_of_both(
    source: ReportSource, target: ReportSource, ipu: int, window: tuple[int, int], other: tuple[int, int]
) -> pd.DataFrame:
    """Steps of the source in `window` with their partners, wherever those are, then steps of the target in `other`
    whose partner does not lie in `window`. `matched` says how, "" = unmatched. Raises what `timeline` raises."""
    import pandas as pd

    matching = match_steps(source, target)
    how = np.full(len(matching.target_rows()), "", object)
    how[matching.source] = np.array(HOW, object)[matching.how]
    ours = _columns(steps_in_window(source, ipu, *window), "source")
    every = _columns(steps_in_window(target, ipu, 0, np.iinfo(np.int64).max // 2), "target")
    step: Int64Array = ours["step_source"].to_numpy(np.int64)
    ours["step_target"] = matching.target_rows()[step]
    ours["matched"] = how[step]
    theirs = steps_in_window(target, ipu, *other)["step"].to_numpy(np.int64)
    partner = matching.source_rows()[theirs]
    alone = theirs[(partner < 0) | ~np.isin(partner, step)]
    rows = ours.merge(every.drop(columns=["name", "type"]), on="step_target", how="left")
    added = every[every["step_target"].isin(alone)].assign(matched=["" for _ in alone])
    added["step_source"] = matching.source_rows()[alone]
    added["matched"] = np.where(added["step_source"] >= 0, "in another window", "")
    frame = pd.concat([rows, added], ignore_index=True)
    for side in ("source", "target"):
        numbers = frame[f"step_{side}"].astype("float64")
        frame[f"step_{side}"] = numbers.where(numbers >= 0)
    sides = [f"{field}_{side}" for field in FIELDS for side in ("source", "target")]
    return frame[["step_source", "step_target", "name", "type", "matched", *sides]]


def _columns(frame: pd.DataFrame, side: str) -> pd.DataFrame:
    names = {"step": f"step_{side}"} | {field: f"{field}_{side}" for field in FIELDS}
    return frame.rename(columns=names)[["name", "type", *names.values()]]
