"""How the tables of the exchange page are laid out, and their rows by query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popvision.analysis.exchange.table import exchange_programs_table, pairs_table
from popvision.analysis.report.figure import Table
from webapp.base.query import number_of
from webapp.components.figure_columns import Layout

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_WIDE_NAME: Mapping[str, Any] = {"width": 280}

COMPARED_PROGRAMS: Layout = {"name": _WIDE_NAME}


def programs_layout(source: ReportSource) -> Layout:
    """The table of programs: sorted by total bytes, before any run by those that one execution receives."""
    first = "total" if len(source.reader.runs().name) else "received"
    return {"name": _WIDE_NAME, first: {"sort": "desc"}}


def program_rows(source: ReportSource, _query: Mapping[str, str]) -> Table:
    """Exchange programs, whatever the query."""
    return exchange_programs_table(source)


def pair_rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """The heaviest pairs of the program `query["program"]`; empty where messages are not recorded."""
    return pairs_table(source, number_of(query, "program"))
