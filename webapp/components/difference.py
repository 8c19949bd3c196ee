"""Differences on a page: source, target, target - source, and the relative change.

    frame["bytes_source"], frame["bytes_target"] = ...
    data_table("variables", add_difference(frame, "bytes"), difference_columns("bytes", "Size", "bytes"))

A row that one report lacks comes with 0 there, so that it counts in full; a figure that a report did not record comes
as NaN or None and has no difference: a dash, whose tooltip says why. popvision.analysis.report.one_sided tells the two
apart, long before a page does. The sign carries the meaning; the colour repeats it, grows with the ratio and is full
where one side is twice the other (table.js and difference.css in assets/shared).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.difference import relative, signed
from webapp.base.formats import bytes_text, cycles_text, percent_text, seconds_text
from webapp.components.difference_key import MINUS
from webapp.components.table import Column

if TYPE_CHECKING:
    from pandas import DataFrame

#: Kind of the difference of each kind of figure.
SIGNED_KINDS = {
    "integer": "signed",
    "number": "signed",
    "us": "signed",
    "bytes": "signed_bytes",
    "cycles": "signed_cycles",
    "decimal": "signed_decimal",
    "percent": "signed_points",
}


#: What a report did that has no figure where the other has one.
NOT_RECORDED = "did not record it"


def difference_columns(
    field: str, title: str, kind: str, group: str = "", help: str = "", missing: str = NOT_RECORDED
) -> list[Column]:
    """Four columns under one heading: `<field>_source`, `_target`, `_diff` and `_rel`. `missing` completes the sentence
    "The source ..." of a dash. Raises KeyError for a kind that has no differences (text)."""
    heading = group or title
    note = f"{help} " if help else ""
    sides = [
        Column(
            f"{field}_{side}",
            side.capitalize(),
            kind,
            help=f"{note}{title} in the {side}; – = the {side} {missing}",
            group=heading,
            missing=f"The {side} {missing}",
        )
        for side in ("source", "target")
    ]
    return [
        *sides,
        Column(
            f"{field}_diff",
            "Difference",
            SIGNED_KINDS[kind],
            help="target - source; what one report lacks counts 0 there",
            group=heading,
            missing=f"No difference: one of the reports {missing}",
        ),
        Column(
            f"{field}_rel",
            "Change",
            "signed_percent",
            group=heading,
            width=100,
            help="(target - source) / source; – = the source is 0, or there is no difference",
            missing="No relative change: the source is 0, or there is no difference",
        ),
    ]


def add_difference(frame: DataFrame, *fields: str) -> DataFrame:
    """The frame with `<field>_diff` and `<field>_rel` added from `<field>_source` and `<field>_target`; missing where
    one of these is."""
    import numpy as np

    added: dict[str, Any] = {}
    for field in fields:
        before, after = frame[f"{field}_source"], frame[f"{field}_target"]
        missing = before.isna() | after.isna()
        if missing.any():
            before, after = before.astype(float), after.astype(float)
        share = relative(before.to_numpy(), after.to_numpy())
        difference = signed(before.to_numpy(), after.to_numpy())
        added[f"{field}_diff"] = difference
        added[f"{field}_rel"] = np.where(np.isfinite(share), share, np.nan)
    return frame.assign(**added)


def difference_rows(rows: Iterable[dict[str, Any]], *fields: str) -> DataFrame:
    """The same for rows as dicts; missing where a side is None."""
    import pandas as pd

    return add_difference(pd.DataFrame(list(rows)).convert_dtypes(), *fields)


def figure_text(value: float | None, kind: str, clock_hz: float | None = None) -> str:
    """A figure of a column's kind as text; a dash for None. Kind "seconds" is device or host time in seconds."""
    if value is None:
        return "–"
    if kind == "cycles":
        return cycles_text(int(value), clock_hz)
    if kind in ("bytes", "percent", "seconds"):
        return {"bytes": bytes_text, "percent": percent_text, "seconds": seconds_text}[kind](value)
    return f"{value:,.2f}" if kind == "decimal" else f"{value:,}"


def signed_text(difference: float | None, kind: str, clock_hz: float | None = None) -> str:
    """A difference with its sign: "+1.0 KiB", "−12", "0 B"; shares differ in percentage points: "+1.20 pp"."""
    if difference is None:
        return "–"
    size = abs(difference)
    text = f"{100 * size:.2f} pp" if kind == "percent" else figure_text(size, kind, clock_hz)
    return ("+" if difference > 0 else MINUS if difference < 0 else "") + text


def relative_text(share: float | None) -> str:
    """A relative change with its sign: 0.02 -> "+2.00 %"; "" where there is none (source 0, a side missing)."""
    if share is None or not math.isfinite(share):
        return ""
    return ("+" if share > 0 else MINUS if share < 0 else "") + percent_text(abs(share))


def difference_mark(source: float | None, target: float | None, kind: str, clock_hz: float | None = None) -> Component:
    """The difference of two figures as coloured text, "+1.0 KiB (+2.00 %)"; a dash, and which side it is, when one was
    not recorded."""
    if source is None or target is None:
        lacking = [side for side, value in (("source", source), ("target", target)) if value is None]
        return html.Span("–", className="diff", title=f"Not recorded in the {' and the '.join(lacking)}")
    difference = signed(source, target).item()
    share = relative(source, target).item()
    text = signed_text(difference, kind, clock_hz)
    if kind != "percent" and difference and math.isfinite(share):
        text += f" ({relative_text(share)})"
    return html.Span(text, className=f"diff {direction_class(difference)}".strip())


def direction_class(difference: float) -> str:
    """The CSS class of a difference: "diff-more", "diff-less", or "" for none."""
    return "diff-more" if difference > 0 else "diff-less" if difference < 0 else ""
