"""Columns of a page's table from the figures of an analysis table: headings and help come from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.figure import Figure, Table, Unit
from popvision.analysis.report.figure_titles import field_of, figure_title, placed, viewer_frame
from popvision.analysis.report.one_sided import ADDS_UP
from webapp.components.difference import NOT_RECORDED, SIGNED_KINDS, add_difference, difference_columns
from webapp.components.table import Column

if TYPE_CHECKING:
    from pandas import DataFrame

#: Unit -> kind of a column.
KINDS: dict[Unit, str] = {
    "text": "text",
    "id": "integer",
    "flag": "text",
    "count": "integer",
    "mean_count": "decimal",
    "bytes": "bytes",
    "bytes_change": "signed_bytes",
    "cycles": "cycles",
    "cycle": "cycles",
    "mean_cycles": "decimal",
    "thread_cycles": "integer",
    "flops": "integer",
    "share": "percent",
    "percent": "decimal",
    "ratio": "decimal",
    "bytes_per_cycle": "decimal",
    "microseconds": "decimal",
    "host_us": "decimal",
}

#: Least width of a column by unit, in pixels, for what it holds; a longer title gets more, up to the widest.
_LEAST: dict[Unit, int] = {"text": 135, "id": 75, "share": 85, "percent": 85, "flops": 120}
_OTHER, _REPORT, _WIDEST = 105, 85, 190

#: Width of a column below a heading that it shares.
_NARROW = 105

#: Figures that are names of several parts, the last of which tells them apart.
_PATHS = ("name", "variable_name", "compute_set", "program_name")

#: Tables whose names are vertex types, which begin with what tells them apart.
_OF_TYPES = ("vertices_on_tiles", "live_vertices", "lowered_variables")

#: Tables whose rows are places, or points of an order, that a report may not have: what it does then.
_NO_SUCH_ROW = {
    "tiles": f"has no such tile, or {NOT_RECORDED}",
    "program_tiles": f"has no such tile or program, or {NOT_RECORDED}",
    "liveness_curve": f"has no such index, or {NOT_RECORDED}",
    "cycle_estimates": f"has no such index, or {NOT_RECORDED}",
    "live_variables": f"has no such index, or {NOT_RECORDED}",
    "live_vertices": f"has no such index, or {NOT_RECORDED}",
    "flop_estimates": f"has no such index, or {NOT_RECORDED}",
}

#: What a page says of the column of a figure: `width`, `flex`, `sort`, `hide`.
Layout = Mapping[str, Mapping[str, Any]]

HIDE: Mapping[str, Any] = {"hide": True}


def figure_columns(
    table: Table, layout: Layout | None = None, places: Mapping[str, str] | None = None, order: Sequence[str] = ()
) -> list[Column]:
    """A column for each figure: those of `order`, then in the table's order, of two reports first what stands once.

    A name takes the room that is left, other columns fit their titles, unless `layout` says more. Figures with several
    places stand below one heading; figures of two reports come as source, target, difference and change. `places` are
    other words for places. Raises UnknownFigureError for a figure that the catalogue lacks."""
    layout, places = layout or {}, places or {}
    once = dict.fromkeys(figure.id for figure in table if figure.side in ("", "change"))
    ids = list(dict.fromkeys([*order, *once, *(figure.id for figure in table)]))
    columns: list[Column] = []
    for figure in sorted(table, key=lambda each: ids.index(each.id)):
        if figure.side == "source" and layout.get(figure.id) != HIDE:
            columns += _compared(table, figure, places.get(figure.place, figure.place))
        elif not figure.side or figure.side == "change":
            columns.append(_column(table, figure, layout.get(figure.id, {})))
    return columns


def figure_frame(table: Table) -> DataFrame:
    """The rows that go with `figure_columns`: of two reports also differences and relative changes."""
    compared = [field_of(table, figure).removesuffix("_source") for figure in table if figure.side == "source"]
    return add_difference(viewer_frame(table), *compared)


def why_missing(table: Table, reasons: Mapping[str, str]) -> dict[str, str]:
    """By title, the reasons of those figures that no row of a table has, for `missing_note`; reasons by id."""
    import pandas as pd

    found: dict[str, str] = {}
    for id, reason in reasons.items():
        columns = [figure.values for figure in table if figure.id == id]
        if len(table) and columns and all(pd.isna(pd.Series(each)).all() for each in columns):
            found[figure_title(table.id, id).title.replace(" {place}", "")] = reason
    return found


def _help(table: Table, figure: Figure) -> str:
    """What the figure is, its formula, and the source of modelled cycles."""
    sources = [f"least certain source: {figure.provenance}"] if figure.provenance else []
    return "; ".join([part for part in (figure_title(table.id, figure.id).hint, *sources) if part])


def _places(table: Table, id: str) -> list[str]:
    return list(dict.fromkeys(figure.place for figure in table if figure.id == id))


def _column(table: Table, figure: Figure, layout: Mapping[str, Any]) -> Column:
    entry = figure_title(table.id, figure.id)
    field, kind = field_of(table, figure), KINDS[figure.unit]
    if not figure.place or "{place}" in entry.title:
        title = placed(entry.title, _spoken(figure.place))
        room = {"flex": 3} if figure.id == "name" else {"width": _width(figure, title)}
        options = ({} if "flex" in layout or "width" in layout else room) | dict(layout)
        is_path = figure.id in _PATHS and (figure.id != "name" or table.id not in _OF_TYPES)
        return Column(field, title, kind, help=_help(table, figure), path=is_path, **options)
    places = _places(table, figure.id)
    if figure.side == "change":
        return _change(field, entry.title, kind, figure.place, places[0])
    if len(places) == 1:
        preposition = "at" if figure.place.startswith("index") else "on"
        title = f"{entry.title} {preposition} {_spoken(figure.place)}"
        return Column(field, title, kind, help=_help(table, figure), width=170)
    return Column(field, _spoken(figure.place), kind, help=_help(table, figure), width=_NARROW, group=entry.title)


def _width(figure: Figure, title: str) -> int:
    least = _REPORT if figure.id == "in_report" else _LEAST.get(figure.unit, _OTHER)
    return max(least, min(44 + 8 * len(title), _WIDEST))


def _change(field: str, title: str, kind: str, place: str, first: str) -> Column:
    heading = f"{_number(place)} − {_number(first)}"
    text = f"{title} on {place} less that on {first}"
    return Column(field, heading, SIGNED_KINDS[kind], help=text, width=_NARROW, group=title)


def _spoken(place: str) -> str:
    """A place with its numbers as the viewer writes them: "1234 - 7" becomes "1,234 − 7"."""
    return re.sub(r"\d{4,}", lambda found: f"{int(found[0]):,}", place).replace(" - ", " − ")


def _number(place: str) -> str:
    return place.removeprefix("tile ").removeprefix("IPU ")


def _compared(table: Table, figure: Figure, place: str) -> list[Column]:
    entry = figure_title(table.id, figure.id)
    has_many = "{place}" in entry.title or len(_places(table, figure.id)) > 1
    title = placed(entry.title, _spoken(place) if has_many else "")
    field = field_of(table, figure).removesuffix("_source")
    help = _help(table, figure)
    help = f"{help}." if help else ""
    name = entry.title.replace(" {place}", "")
    missing = _NO_SUCH_ROW.get(table.id, NOT_RECORDED)
    if figure.unit not in ADDS_UP and table.id not in _NO_SUCH_ROW:
        missing = f"has no such row, or {NOT_RECORDED}"
    return difference_columns(field, name, KINDS[figure.unit], group=title, help=help, missing=missing)
