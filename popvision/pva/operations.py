"""OperationAnalysis: programs grouped by the call of a software layer that made them.

A program belongs to the outermost debug context of the layer among its context and that context's ancestors: a
`poplin::matMul` owns its copies, its convolution and its reduction. Programs made outside the layer belong to none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from popvision.pva.columns import Columns
from popvision.pva.debug_context import DebugContext
from popvision.pva.liveness import Variable, variable_list
from popvision.pva.program import Program, make_program
from popvision.pva.report import Report


class Operation:
    """One call of the layer. Indices count `livenessProgramSteps`; last is inclusive; both -1 when it has no step."""

    def __init__(self, columns: Columns, context: DebugContext, programs: list[int]) -> None:
        self._columns = columns
        self._programs = programs
        self.debugContext = context
        self.name = context.name
        self.replacedDebugContext: list[DebugContext] = []

    def programs(self) -> list[Program]:
        """The programs it made, in the order of their ids."""
        return [make_program(self._columns, program) for program in self._programs]

    @cached_property
    def _steps(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        liveness = self._columns.liveness
        if liveness is None:
            return np.empty(0, np.intp)
        return np.flatnonzero(np.isin(liveness.program, self._programs))

    @property
    def firstStepIndex(self) -> int:
        return int(self._steps[0]) if len(self._steps) else -1

    @property
    def lastStepIndex(self) -> int:
        return int(self._steps[-1]) if len(self._steps) else -1

    @cached_property
    def vars(self) -> list[Variable]:
        """Variables made under this call."""
        variables = self._columns.variables
        if variables is None:
            return []
        contexts = _descendants(self._columns, self.debugContext.id)
        ids = np.flatnonzero(np.isin(variables.debug_id, contexts))
        return variable_list(self._columns, ids, variables.bytes[ids])

    def __repr__(self) -> str:
        return f"Operation({self.name!r}, {len(self._programs)} programs)"


class OperationAnalysis:
    """`operations` of one software layer of a report, PopLibs by default. Needs the report's debug file."""

    def __init__(self, report: Report, layer: str = "poplibs") -> None:
        self._columns = report._columns
        self._layer = layer

    @cached_property
    def operations(self) -> list[Operation]:
        grouped: dict[int, list[int]] = {}
        owner: dict[int, int] = {}
        for program, debug_id in enumerate(self._columns.programs.debug_id.tolist()):
            if debug_id < 0:
                continue
            if debug_id not in owner:
                owner[debug_id] = self._owner(debug_id)
            if owner[debug_id] >= 0:
                grouped.setdefault(owner[debug_id], []).append(program)
        return [Operation(self._columns, DebugContext(self._columns, c), p) for c, p in grouped.items()]

    def _owner(self, debug_id: int) -> int:
        found = -1
        for context in _ancestry(DebugContext(self._columns, debug_id)):
            if context.layer.lower() == self._layer.lower():
                found = context.id
        return found


def _ancestry(context: DebugContext) -> Iterator[DebugContext]:
    seen = set()
    pending = [context]
    while pending:
        current = pending.pop()
        if current.id in seen:
            continue
        seen.add(current.id)
        yield current
        pending += current.parents


def _descendants(columns: Columns, id: int) -> list[int]:
    """Ids of a context and of everything made under it; parents always come before their children."""
    inside = {id}
    for child, parents in columns.source.debug.parents():
        if not inside.isdisjoint(parents):
            inside.add(child)
    return sorted(inside)
