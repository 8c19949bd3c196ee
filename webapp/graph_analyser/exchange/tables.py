"""How the tables of the exchange page are laid out, and their rows by query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from popvision.analysis.exchange.table import exchange_programs_table, pairs_table
from popvision.analysis.report.figure import Table
from webapp.components.figure_columns import Layout
from webapp.query import number_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

PROGRAMS: Layout = {
    "program": {"width": 70},
    "type": {"width": 120},
    "name": {"width": 280},
    "total": {"width": 150, "sort": "desc"},
    "share": {"width": 85},
    "received": {"width": 110},
    "sent": {"width": 110},
    "multicast": {"width": 95},
    "messages": {"width": 100},
    "fan_mean": {"width": 85},
    "fan_worst": {"width": 80},
    "receivers": {"width": 95},
    "worst_tile": {"width": 95},
    "worst_bytes": {"width": 105},
    "estimated": {"width": 100},
    "cycles": {"width": 105},
    "executions": {"width": 100},
    "all_cycles": {"width": 105},
    "achieved": {"width": 95},
    "use": {"width": 105},
    "dictated": {"width": 120},
    "code": {"width": 100},
}

COMPARED_PROGRAMS: Layout = {
    "program": {"width": 70},
    "target_program": {"width": 110},
    "type": {"width": 120},
    "name": {"width": 280},
    "matched": {"width": 120},
    "in_report": {"width": 80},
}

PAIRS: Layout = {
    "source": {"width": 120},
    "destination": {"width": 140},
    "source_ipu": {"width": 110},
    "destination_ipu": {"width": 130},
    "bytes": {"width": 130},
    "share": {"width": 100},
}

COMPARED_COPIES: Layout = {
    "program": {"width": 70},
    "target_program": {"width": 110},
    "name": {"width": 260},
    "matched": {"width": 120},
    "in_report": {"width": 80},
}

HOST_COPIES: Layout = {
    "program": {"width": 70},
    "name": {"flex": 2},
    "executions": {"width": 115},
    "to_device": {"width": 120},
    "to_host": {"width": 120},
    "begin": {"width": 120},
    "mid": {"width": 120},
    "end": {"width": 120},
    "achieved": {"width": 100},
    "use": {"width": 130},
}


def programs_layout(source: ReportSource) -> Layout:
    """The table of programs: sorted by total bytes, before any run by those that one execution receives."""
    if len(source.reader.runs().name):
        return PROGRAMS
    moved: Layout = {"total": {"width": 150}, "received": {"width": 110, "sort": "desc"}}
    return {**PROGRAMS, **moved}


def program_rows(source: ReportSource, _query: Mapping[str, str]) -> Table:
    """Exchange programs, whatever the query."""
    return exchange_programs_table(source)


def pair_rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """The heaviest pairs of the program `query["program"]`; empty where messages are not recorded."""
    return pairs_table(source, number_of(query, "program"))
