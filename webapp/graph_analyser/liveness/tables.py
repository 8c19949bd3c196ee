"""Rows of the long tables of the liveness page. Every table depends on the report, the target and a query alone: place,
indices, filter, and the rule that pairs indices of two reports (`by`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.liveness import BY, always_live_pair, curve_pair, live_pair
from popvision.analysis.liveness.steps import curve_table
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.variable_parts import parts_table
from popvision.analysis.report.figure import Table
from popvision.analysis.report.tiles import Where
from webapp.base.comparison import KEY
from webapp.base.query import whole_numbers
from webapp.graph_analyser.liveness.state import MOST_INDICES, LivenessState, parse_where

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Selected indices that fit side by side in a comparison.
MOST_PAIRED = 3


def query_of(state: LivenessState, vs: str = "") -> dict[str, str]:
    """The query of the tables for a state; `vs` is the key of the report compared with."""
    where = state.where
    place = f"replica:{where.number}" if where.kind == "all" else f"{where.kind}:{where.number}"
    most = MOST_PAIRED if vs else MOST_INDICES
    query = {"where": place, "indices": ",".join(map(str, state.indices[:most]))}
    query |= {KEY: vs, "by": state.by} if vs else {}
    return {name: value for name, value in query.items() if value}


def always_live(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """Always-live variables of the place in the query."""
    where = _where(source, query)
    return always_live_table(source, where) if target is None else always_live_pair(source, target, where)


def live_variables(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """Not-always-live variables at the indices of the query, with a column per index and per difference."""
    if target is not None:
        indices = whole_numbers(query.get("indices", ""), MOST_PAIRED)
        return live_pair(source, target, indices, _where(source, query), _by(query))
    return live_table(source, whole_numbers(query.get("indices", ""), MOST_INDICES), _where(source, query))


def steps(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """A row per liveness index of the place in the query; in a comparison also the indices without a partner."""
    if target is None:
        return curve_table(source, _where(source, query), query.get("filter", ""))
    pair = curve_pair(source, target, _where(source, query), _by(query))
    wanted = query.get("filter", "").strip().lower()
    return pair.take(np.asarray([wanted in step.lower() for step in pair["step"]], bool)) if wanted else pair


def variable_parts(source: ReportSource, query: Mapping[str, str]) -> Table:
    """The allocations of the variable in the query, at its place."""
    chosen = whole_numbers(query.get("variable", ""), 1)
    return parts_table(source, chosen[0] if chosen else -1, _where(source, query))


def _by(query: Mapping[str, str]) -> str:
    return query.get("by", "") if query.get("by") in BY else BY[0]


def _where(source: ReportSource, query: Mapping[str, str]) -> Where:
    text = query.get("where", "")
    if text.startswith("replica:"):
        return parse_where(source, "", text.partition(":")[2])[0]
    return parse_where(source, text)[0]
