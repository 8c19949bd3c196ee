"""Execution steps of two reports side by side: matched ones in one row, the others with a missing side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import HOW, match_steps
from popvision.analysis.execution.step_details import STEP_FIGURES, steps_in_window
from popvision.analysis.report.figure import Figure, Side, Table
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Figures that are set side by side.
COMPARED = ("cycles", "max_cycles", "mean_cycles", "data_in")


_SIDES: tuple[Side, Side] = ("source", "target")


def compared_headings() -> Table:
    """`steps_of_both` without rows."""
    figures = [Figure(f"{side}_step", "id", ()) for side in _SIDES]
    figures += [Figure(id, "text", ()) for id in ("name", "type", "matched")]
    figures += [Figure(id, STEP_FIGURES[id], (), side=side) for id in COMPARED for side in _SIDES]
    return Table("window_steps", figures)


def steps_of_both(
    source: ReportSource, target: ReportSource, ipu: int, window: tuple[int, int], other: tuple[int, int]
) -> Table:
    """Steps of the source in `window` with their partners, wherever those are, then steps of the target in `other`
    whose partner does not lie in `window`: source_step, target_step (NaN without a partner), name, type, matched ("" =
    unmatched) and COMPARED of both. Raises what `timeline` raises."""
    import pandas as pd

    matching = match_steps(source, target)
    rule = np.full(len(matching.target_rows()), "", object)
    rule[matching.source] = np.array(HOW, object)[matching.how]
    rows = _side_columns(steps_in_window(source, ipu, *window), "source")
    every = _side_columns(steps_in_window(target, ipu, 0, np.iinfo(np.int64).max // 2), "target")
    step: Int64Array = rows["step_source"].to_numpy(np.int64)
    rows["step_target"] = matching.target_rows()[step]
    rows["matched"] = rule[step]
    target_steps = np.asarray(steps_in_window(target, ipu, *other)["step"])
    partner = matching.source_rows()[target_steps]
    alone = target_steps[(partner < 0) | ~np.isin(partner, step)]
    rows = rows.merge(every.drop(columns=["name", "type"]), on="step_target", how="left")
    added = every[every["step_target"].isin(alone)].assign(matched=["" for _ in alone])
    added["step_source"] = matching.source_rows()[alone]
    added["matched"] = np.where(added["step_source"] >= 0, "in another window", "")
    return _table(pd.concat([rows, added], ignore_index=True))


def _side_columns(table: Table, side: Side) -> pd.DataFrame:
    frame = viewer_frame(table.select(["name", "type", "step", *COMPARED]))
    return frame.rename(columns={id: f"{id}_{side}" for id in ("step", *COMPARED)})


def _table(frame: pd.DataFrame) -> Table:
    figures = []
    for side in _SIDES:
        numbers = frame[f"step_{side}"].astype("float64")
        figures.append(Figure(f"{side}_step", "id", numbers.where(numbers >= 0)))
    figures += [Figure(id, "text", frame[id]) for id in ("name", "type", "matched")]
    figures += [Figure(id, STEP_FIGURES[id], frame[f"{id}_{side}"], side=side) for id in COMPARED for side in _SIDES]
    return Table("window_steps", figures)
