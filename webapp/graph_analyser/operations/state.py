"""The state of the operations page, read from the selection: every control is one key of the URL.

ops_view    "" table, "graph", "roofline"      ops_layer   software layer ("" = PopLibs, else the most frequent)
ops_group   "" each operation, "name" whole names, "1", "2" ... first parts of names
ops_under   only operations whose names begin with these parts        ops_find   only names that contain this text
ops_by      figure that Cumulative, the graph and a comparison are about
ops_at      debug context of the selected operation     ops_name   first parts of the names of the selected group
ops_open    debug context of the operation whose parts the graph shows          ops_tab    tab of the lower pane
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.operations.operations import operation_row
from popvision.analysis.operations.owners import NO_OPERATION, chosen_layer
from popvision.analysis.operations.table import (
    BY_NAME,
    EACH,
    FIELDS,
    OperationGroups,
    deepest_level,
    labels,
    operation_groups,
)
from popvision.analysis.report.tiles import target_of
from webapp.base.query import whole_number

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Keys of the selection that each half of the page shows.
PLOT_KEYS = (
    "ops_view",
    "ops_layer",
    "ops_group",
    "ops_under",
    "ops_find",
    "ops_by",
    "ops_all",
    "ops_open",
    "ipu",
    "vs",
)
TAB_KEYS = ("ops_layer", "ops_group", "ops_under", "ops_at", "ops_name", "ipu", "program", "tiles", "vs")

VIEWS = {"": "Table", "graph": "Graph", "roofline": "Roofline"}

#: Levels of names in the menu; open groups to go deeper.
MOST_LEVELS = 8


@dataclass(frozen=True)
class OperationState:
    """One state of the page for one report."""

    layer: str
    level: int
    under: str
    by: str
    ipu: int | None
    find: str

    @classmethod
    def read(cls, source: ReportSource, params: Mapping[str, Any]) -> OperationState:
        """The state of a selection; values that the report does not have are ignored. Raises NotRecordedError without
        debug information."""
        try:
            layer = chosen_layer(source, str(params.get("ops_layer", "")))
        except ValueError:
            layer = chosen_layer(source)
        text = str(params.get("ops_group", ""))
        level = BY_NAME if text == "name" else whole_number(text, 1, 1_000) or EACH
        by = str(params.get("ops_by", ""))
        ipu = whole_number(str(params.get("ipu", "")), 0, target_of(source).num_ipus - 1)
        under, find = str(params.get("ops_under", ""))[:500], str(params.get("ops_find", ""))[:200]
        return cls(layer, level, under, by if by in FIELDS else "cycles", ipu, find)

    def groups(self, source: ReportSource) -> OperationGroups:
        return operation_groups(source, self.layer, self.ipu, self.level, self.under)


@dataclass(frozen=True)
class Chosen:
    """The selected operation or group: rows of Operations and their title; `context` is -1 for a group."""

    rows: list[int]
    title: str
    context: int


def chosen_operations(source: ReportSource, state: OperationState, params: Mapping[str, Any]) -> Chosen | None:
    """The operation or group that the selection names, else the operation of the selected program; None without
    either."""
    context = whole_number(str(params.get("ops_at", "")))
    if context is not None:
        try:
            sums = operation_groups(source, state.layer, state.ipu).sums
            row = operation_row(sums, context)
        except ValueError:
            return None
        return Chosen([row], labels(source, state.layer)[row], context)
    name = str(params.get("ops_name", ""))
    groups = state.groups(source)
    if not name:
        return _maker(source, state, groups, str(params.get("program", "")))
    if name not in groups.name:
        return None
    at = groups.name.index(name)
    rows = np.flatnonzero(groups.group == at).tolist() if at != NO_OPERATION else [NO_OPERATION]
    return Chosen(rows, name, int(groups.context[at]))


def _maker(source: ReportSource, state: OperationState, groups: OperationGroups, text: str) -> Chosen | None:
    owners = groups.sums.owners
    program = whole_number(text, 0, len(owners.program) - 1)
    row = NO_OPERATION if program is None else int(owners.program[program])
    if row == NO_OPERATION:
        return None
    return Chosen([row], labels(source, state.layer)[row], int(owners.context[row]))


def levels(source: ReportSource, layer: str) -> dict[str, str]:
    """The choices of grouping: texts by value."""
    choices = {"": "Each operation", "name": "Whole name"}
    for level in range(1, min(deepest_level(source, layer), MOST_LEVELS) + 1):
        choices[str(level)] = f"First {level} parts" if level > 1 else "First part"
    return choices
