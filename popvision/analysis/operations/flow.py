"""Data flow between operations: variables that one operation gives their value and others touch later.

A report has the variables that each program touches, not those that it writes. So the operation whose program touches a
variable first, in the static order of the program, gives it its value, and every other operation that touches it later
gets it from there. In-place operations thus stand beside, not behind, the creator of their variable. An always-live
variable (a weight, a constant) has a value before the program runs: all get it from the operation that created it.

Edges come from one sort of (variable, giver, taker) keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.operations.parts import first_indices
from popvision.analysis.operations.table import OperationGroups
from popvision.analysis.report.columns import variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


TOUCHES = (
    "This report does not say which variables programs touch: record it again with this version, with "
    "autoReport.outputGraphProfile=true."
)


@dataclass(frozen=True)
class Touches:
    """Program `program[i]` touches variable `variable[i]`; by variable, then by `index`, its first place in the static
    order. Parts of a variable count as the first of them; `bytes` by variable, of one replica, its parts together."""

    program: Int64Array
    variable: Int64Array
    index: Int64Array
    bytes: Int64Array
    always_live: BoolArray  #: by variable

    @property
    def is_first(self) -> BoolArray:
        """Whether the touch is the variable's first."""
        first = np.ones(len(self.variable), bool)
        first[1:] = self.variable[1:] != self.variable[:-1]
        return first

    def givers(self, of_program: Int64Array, of_variable: Int64Array) -> Int64Array:
        """Who gives the variable of each touch its value: `of_program` (one per touch) at the variable's first touch,
        `of_variable` (one per variable) for always-live ones."""
        first = of_program[self.is_first][np.cumsum(self.is_first) - 1]
        return np.where(self.always_live[self.variable], of_variable[self.variable], first)


@dataclass(frozen=True)
class Flow:
    """Edge e: `variables[e]` of `bytes[e]` bytes go from group `source[e]` to `target[e]` (rows of OperationGroups);
    most bytes first. The row after the last group stands for operations that the choice leaves out."""

    source: Int64Array
    target: Int64Array
    bytes: Int64Array
    variables: Int64Array


def touches(source: ReportSource) -> Touches:
    """Raises NotRecordedError where the report does not say what programs touch."""
    return source.kept.once("variable_touches", lambda: _touches(source))


def flow(source: ReportSource, groups: OperationGroups) -> Flow:
    """What passes between groups. Raises as `touches`."""
    touched_variables = touches(source)
    outside = len(groups.name)
    owners = groups.sums.owners
    of_operation = np.where(groups.group < 0, outside, groups.group)
    group = of_operation[owners.program[touched_variables.program]]
    giver = touched_variables.givers(group, of_operation[owners.variable])
    passed = giver != group
    num_rows = outside + 1
    key = np.unique(
        (touched_variables.variable[passed] * num_rows + giver[passed]) * num_rows + group[passed]
    )  # each variable once
    pair, which = np.unique(key % (num_rows * num_rows), return_inverse=True)
    size = np.zeros(len(pair), np.int64)
    np.add.at(size, which, touched_variables.bytes[key // (num_rows * num_rows)])
    count = np.bincount(which, minlength=len(pair)).astype(np.int64)
    order = np.argsort(-size, kind="stable")
    return Flow(pair[order] // num_rows, pair[order] % num_rows, size[order], count[order])


def _touches(source: ReportSource) -> Touches:
    reader = source.reader
    stored = reader.program_variables()
    if not stored:
        raise NotRecordedError(TOUCHES)
    ids = np.unique(np.fromiter(stored.values(), np.int64, len(stored)))
    rows = dict(zip(ids.tolist(), reader.arrays(ids.tolist()), strict=True))
    columns = [np.asarray(rows[array], np.int64) for array in stored.values()]
    program = np.repeat(np.fromiter(stored, np.int64, len(stored)), [len(each) for each in columns])
    first_row, size = _merge_parts(source)
    variable = first_row[np.concatenate(columns)]
    index = first_indices(source)[program]
    index = np.where(index < 0, program + len(index), index)  # programs without a place come last, in their order
    order = np.lexsort((program, index, variable))
    always = np.asarray(variables(source).always_live, bool)
    return Touches(program[order], variable[order], index[order], size, always)


def _merge_parts(source: ReportSource) -> tuple[Int64Array, Int64Array]:
    """(first row of the same name and debug record, bytes of all of them at that row) by variable."""
    known = variables(source)
    first: dict[tuple[str, int], int] = {}
    pairs = zip(known.name, np.asarray(known.debug_id).tolist(), strict=True)
    first_row = np.array(
        [first.setdefault(key, row) if key[1] >= 0 else row for row, key in enumerate(pairs)], np.int64
    )
    size = np.zeros(len(first_row), np.int64)
    np.add.at(size, first_row, np.asarray(known.bytes, np.int64) // target_of(source).num_replicas)
    return first_row, size
