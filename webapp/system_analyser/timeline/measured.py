"""How a page words the figures of a trace whose times are estimates from samples, or no times at all.

The trace says which it is (`HostTrace.samples`, `.unit`); every table, tooltip and text of the timeline takes its
columns and units from here, so that a weight is never shown as microseconds and a sample never as a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.statistics import CALL_COLUMNS
from webapp.components.table import Column
from webapp.system_analyser.timeline.host_times import nanoseconds_text, relative_text

#: Of columns that a sampled trace has not: how their fields begin.
_OF_CALLS = (*CALL_COLUMNS, "spread")

_UNIT = "µs"

#: Nanoseconds that stand for one of what is no time.
_ONE = 1000


def measured_columns(source: HostTrace, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that the trace has, with its unit in their titles."""
    kept = [column for column in columns if not (source.samples and column.field.startswith(_OF_CALLS))]
    return tuple(_in_unit(column, source.figure_unit) for column in kept)


def _in_unit(column: Column, unit: str) -> Column:
    title, group = (text.replace(_UNIT, unit) for text in (column.title, column.group))
    return dataclasses.replace(column, title=title, group=group)


def measured_note(source: HostTrace) -> Component | None:
    """What must stand beside the figures, below the toolbar; None where there is nothing to say."""
    return html.Div(" ".join(source.notes), className="tl-measured", role="note") if source.notes else None


def length_text(source: HostTrace, ns: int) -> str:
    """A length of the trace's clock in its unit."""
    return f"{ns / _ONE:,.3f}".rstrip("0").rstrip(".") + f" {source.unit}" if source.unit else nanoseconds_text(ns)


def place_text(source: HostTrace, ns: int) -> str:
    """A place on the trace's clock, `ns` after its begin."""
    return length_text(source, ns) if source.unit else relative_text(ns)
