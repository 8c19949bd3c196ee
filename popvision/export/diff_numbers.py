"""Figures of a comparison as text, the same in every output, with binary units and signs."""

from __future__ import annotations

import math

from popvision.analysis.compare.report_diff import Figure

#: Stands for a figure that a report does not hold.
UNKNOWN = "\u2013"


def value_text(value: float | None, kind: str) -> str:
    """A figure of `kind` (metrics.Metric): 638976 bytes -> "624.0 KiB", a share 0.5 -> "50.00 %"."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if kind == "bytes":
        return _bytes(value)
    if kind == "percent":
        return f"{100 * value:.2f} %"
    if kind == "seconds":
        return _seconds(value)
    return f"{value:,.1f}" if kind == "decimal" and value != int(value) else f"{int(value):,}"


def difference_text(value: float | None, kind: str) -> str:
    """A difference with its sign; shares differ in percentage points."""
    if value is None or math.isnan(value):
        return UNKNOWN
    size = f"{100 * abs(value):.2f} pp" if kind == "percent" else value_text(abs(value), kind)
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{size}"


def relative_text(figure: Figure) -> str:
    """The change as a percentage of the source; "" when unknown, "from 0" when the source is 0."""
    share = figure.relative
    if share is None or figure.metric.kind == "percent":
        return ""
    if math.isinf(share):
        return "from 0"
    return f"{'+' if share > 0 else '-' if share < 0 else ''}{abs(share):.2%}".replace("%", " %")


def _bytes(value: float) -> str:
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < (1024 if unit == "B" else 1023.95) or unit == "TiB":
            break
        size /= 1024
    return f"{value:,.0f} B" if unit == "B" else f"{size:,.1f} {unit}"


def _seconds(value: float) -> str:
    for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "\u00b5s", 1e6), (1.0, "ms", 1e3)):
        if abs(value) < limit:
            return f"{value * factor:.4g} {unit}"
    return f"{value:,.4g} s"
