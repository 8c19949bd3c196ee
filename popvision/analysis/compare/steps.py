"""Execution steps of two reports side by side: matched ones in one row; a step that one report lacks counts 0 there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import HOW, match_steps
from popvision.analysis.execution.step_details import STEP_FIGURES, steps_in_window
from popvision.analysis.report.figure import Figure, Side, Table
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.one_sided import both_in_full, numbers_of
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Figures that are set side by side.
COMPARED = ("cycles", "max_cycles", "mean_cycles", "data_in")

#: Texts of either side.
_TEXTS = ("last_tile",)


_SIDES: tuple[Side, Side] = ("source", "target")


def compared_headings() -> Table:
    """`steps_of_both` without rows."""
    figures = [Figure(f"{side}_step", "id", ()) for side in _SIDES]
    figures += [Figure(id, "text", ()) for id in ("name", "type", "matched")]
    figures += [Figure(f"{side}_{id}", "text", ()) for id in _TEXTS for side in _SIDES]
    figures += [Figure(id, STEP_FIGURES[id], (), side=side) for id in COMPARED for side in _SIDES]
    return Table("window_steps", figures)


def steps_of_both(
    source: ReportSource, target: ReportSource, ipu: int, window: tuple[int, int], other: tuple[int, int]
) -> Table:
    """Steps of the source in `window` with their partners, wherever those are, then steps of the target in `other`
    whose partner does not lie in `window`: source_step, target_step (NaN without a partner), name, type, matched ("" =
    unmatched) and COMPARED of both, 0 in a report that recorded a run and lacks the step. Raises what `timeline`
    raises."""
    import pandas as pd

    matching = match_steps(source, target)
    rule = np.full(len(matching.target_rows()), "", object)
    rule[matching.source] = np.array(HOW, object)[matching.how]
    everything = (0, np.iinfo(np.int64).max // 2)
    rows = _side_columns(steps_in_window(source, ipu, *window), "source")
    every = _side_columns(steps_in_window(target, ipu, *everything), "target")
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
    if (added["step_source"] >= 0).any():
        outside = _side_columns(steps_in_window(source, ipu, *everything), "source").drop(columns=["name", "type"])
        added = added.merge(outside, on="step_source", how="left")
    ran = bool(source.reader.runs().name), bool(target.reader.runs().name)
    return _table(pd.concat([rows, added], ignore_index=True), ran)


def _side_columns(table: Table, side: Side) -> pd.DataFrame:
    frame = viewer_frame(table.select(["name", "type", "step", *_TEXTS, *COMPARED]))
    return frame.rename(columns={id: f"{id}_{side}" for id in ("step", *_TEXTS, *COMPARED)})


def _table(frame: pd.DataFrame, ran: tuple[bool, bool]) -> Table:
    import pandas as pd

    figures, steps = [], [frame[f"step_{side}"].astype("float64") for side in _SIDES]
    for side, numbers in zip(_SIDES, steps, strict=True):
        figures.append(Figure(f"{side}_step", "id", numbers.where(numbers >= 0)))
    figures += [Figure(id, "text", frame[id]) for id in ("name", "type", "matched")]
    for id in _TEXTS:
        texts = {side: frame[f"{id}_{side}"] if f"{id}_{side}" in frame else [""] * len(frame) for side in _SIDES}
        figures += [Figure(f"{side}_{id}", "text", pd.Series(texts[side], dtype=object).fillna("")) for side in _SIDES]
    absent = (~(steps[0] >= 0).to_numpy(), ~(steps[1] >= 0).to_numpy())
    for id in COMPARED:
        unit = STEP_FIGURES[id]
        both = both_in_full(_column(frame, f"{id}_source"), _column(frame, f"{id}_target"), absent, unit, ran)
        figures += [Figure(id, unit, values, side=side) for values, side in zip(both, _SIDES, strict=True)]
    return Table("window_steps", figures)


def _column(frame: pd.DataFrame, name: str) -> Float64Array:
    return numbers_of(frame[name]) if name in frame else np.full(len(frame), np.nan)
