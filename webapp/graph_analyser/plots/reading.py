"""The reading line below a plot: the values at its cursor (the last selected position) and the differences from the
mark. Screen readers announce its changes; the page's table of positions has the same figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dash import html
from dash.development.base_component import Component

from webapp.base.formats import bytes_text, integer_text
from webapp.graph_analyser.plots.bytes_axis import both_units
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot


def reading(
    plot: SteppedPlot, name: Callable[[int], str], cursor: int | None, hint: str, total: str = ""
) -> list[Component]:
    """The line at `cursor`, else the hint. `name(position)` names a position, `total` the sum of the stacked curves of
    one report ("" = no sum)."""
    if cursor is None or not 0 <= cursor < plot.count:
        return [html.Span(hint, className="reading-hint")]
    curves = _curves(plot, total)
    parts: list[Component] = [html.Span(name(cursor), className="reading-name")]
    signed = {each.name for each in plot.series if each.signed}
    for label, value in curves:
        plus = "+" if label.startswith("Difference") or label in signed else ""
        parts.append(_part(label, _text(value(cursor), plus), _exact(value(cursor))))
    if plot.mark is not None and 0 <= plot.mark < plot.count and plot.mark != cursor:
        distance = cursor - plot.mark
        away = f"{_signed(integer_text(abs(distance)), distance)} from the mark at {name(plot.mark)}"
        parts.append(html.Span(away, className="reading-mark"))
        for label, value in curves:
            at_cursor, at_mark = value(cursor), value(plot.mark)
            if at_cursor is not None and at_mark is not None:
                change = at_cursor - at_mark
                parts.append(_part(label, _signed(bytes_text(abs(change)), change), f"{change:+,} B"))
    return parts


def _curves(plot: SteppedPlot, total: str) -> list[tuple[str, Callable[[int], int | None]]]:
    """(name, function from position to value) of each curve and of their sum or difference."""
    curves: list[tuple[str, Callable[[int], int | None]]] = [
        (each.name, each.at) for each in plot.series if not each.silent
    ]
    sides = dict.fromkeys(each.side for each in plot.series if each.stacked)
    sums = [partial(_sum, [each for each in plot.series if each.stacked and each.side == side]) for side in sides]
    if total and len(sides) == 1 and len(plot.series) > 1:
        curves.append((total, sums[0]))
    if len(sides) == 2:
        curves.append(("Difference", partial(_change, sums[0], sums[1])))
    return curves


def _sum(series: list[Series], position: int) -> int | None:
    """The sum of stacked curves, None where none has a value."""
    values = [value for each in series if (value := each.at(position)) is not None]
    return sum(values) if values else None


def _change(before: Callable[[int], int | None], after: Callable[[int], int | None], position: int) -> int | None:
    """Target - source of the sums of stacked curves, None where one has no value."""
    one, other = before(position), after(position)
    return None if one is None or other is None else other - one


def _part(label: str, text: str, exact: str) -> Component:
    return html.Span([html.Span(label, className="range-label"), html.B(text)], title=exact, className="reading-part")


def _text(value: int | None, plus: str) -> str:
    return "–" if value is None else _signed(bytes_text(abs(value)), value, plus)


def _exact(value: int | None) -> str:
    return "no value" if value is None else both_units(value) if value >= 0 else f"{value:+,} B"


def _signed(text: str, value: int, plus: str = "+") -> str:
    return (plus if value > 0 else "−" if value < 0 else "") + text
