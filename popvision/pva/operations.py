"""OperationAnalysis: programs grouped by the call of a software layer that made them.

Which operation a program or variable belongs to is said in `popvision.analysis.operations.owners`, so that scripts and
the viewer's Operations page speak of the same operations.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.operations.owners import Owners, chosen_layer, owners
from popvision.pva import errors
from popvision.pva.debug_context import DebugContext
from popvision.pva.listview import ListView, PrintedList
from popvision.pva.program import Program, lowered_of, make_program

if TYPE_CHECKING:
    from popvision.pva.columns import Columns
    from popvision.pva.lowered import LoweredVar
    from popvision.pva.report import Report


class Operation:
    """One call of the layer. Indices count `livenessProgramSteps`; last is inclusive; both -1 when it has no step."""

    __slots__ = ("_analysis", "_columns", "_row")

    def __init__(self, analysis: OperationAnalysis, row: int) -> None:
        self._analysis = analysis
        self._columns = analysis._columns
        self._row = row

    @property
    def name(self) -> str:
        """Debug path of the call."""
        return self._analysis._owners.name[self._row]

    @property
    def debugContext(self) -> DebugContext:
        """The call's own context."""
        return DebugContext(self._columns, int(self._analysis._owners.context[self._row]))

    @property
    def replacedDebugContext(self) -> list[DebugContext]:
        """What a framework says that the call stands for; empty for programs that name nothing."""
        return self.debugContext.replaced

    def programs(self) -> list[Program]:
        """The programs it made, in the order of their ids; empty for a call that made variables alone."""
        ids = self._analysis._programs_of(self._row)
        return PrintedList([make_program(self._columns, program) for program in ids], self._columns.printing)

    @property
    def firstStepIndex(self) -> int:
        """First liveness index of its programs."""
        return self._analysis._first_and_last[0][self._row]

    @property
    def lastStepIndex(self) -> int:
        """Last liveness index of its programs, inclusive."""
        return self._analysis._first_and_last[1][self._row]

    @property
    def vars(self) -> ListView[LoweredVar]:
        """Allocations of the variables that its programs read or write."""
        return lowered_of(self._columns, self._analysis._programs_of(self._row))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self._key() == other._key() and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._key()))

    def _key(self) -> tuple[str, int]:
        return self._analysis.layer, self._row

    def __repr__(self) -> str:
        return f"Operation({self.name!r}, {len(self._analysis._programs_of(self._row))} programs)"


class OperationAnalysis:
    """The operations of one software layer of a report: PopLibs' by default where it has that layer, else the layer
    with most contexts.

    Raises TypeError for what is no Report, AbsentError when the report has no debug file of its own run, ValueError
    for a layer that the program does not use."""

    def __init__(self, report: Report, layer: str = "") -> None:
        columns = getattr(report, "_columns", None)
        if columns is None:
            raise TypeError(f"OperationAnalysis takes what openReport gave, not {type(report).__name__}")
        self._columns: Columns = columns
        try:
            self.layer: str = chosen_layer(columns.source, layer)
        except errors.NotRecordedError:
            raise errors.absent(_why_no_debug_file(columns)) from None

    @cached_property
    def _owners(self) -> Owners:
        return owners(self._columns.source, self.layer)

    @cached_property
    def _order(self) -> tuple[list[int], list[int]]:
        """Programs by operation, and where each operation's begin."""
        of_program = self._owners.program
        first = np.searchsorted(np.sort(of_program), np.arange(len(self._owners.name) + 1))
        return np.argsort(of_program, kind="stable").tolist(), first.tolist()

    def _programs_of(self, row: int) -> list[int]:
        programs, first = self._order
        return programs[first[row] : first[row + 1]]

    @cached_property
    def _first_and_last(self) -> tuple[list[int], list[int]]:
        """Liveness indices by operation."""
        steps = self._owners.program[np.array(self._columns.live_programs, np.int64)]
        first, last = (np.full(len(self._owners.name), -1, np.int64) for _ in range(2))
        first[steps[::-1]] = np.arange(len(steps))[::-1]  # of equal rows the assignment made last stays
        last[steps] = np.arange(len(steps))
        return first.tolist(), last.tolist()

    @cached_property
    def operations(self) -> ListView[Operation]:
        """In the order of their first programs."""
        return ListView(len(self._owners.name) - 1, lambda i: Operation(self, i + 1), self._columns.printing)

    def __repr__(self) -> str:
        return f"OperationAnalysis({self.layer!r}, {len(self.operations)} operations)"


def _why_no_debug_file(columns: Columns) -> str:
    files = columns.source.files
    stale = next((files[name] for name in ("debug.cbor", "debug.json") if files[name].state == "stale"), None)
    if stale is None:
        return errors.DEBUG_INFORMATION
    return f"{stale.path} belongs to another run than this report: give the debug.cbor that was written with it"
