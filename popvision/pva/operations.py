"""OperationAnalysis: programs grouped by the call of a software layer that made them.

`popvision.analysis.operations.owners` assigns programs and variables to operations, for scripts and for the viewer's
Operations page alike.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.operations.owners import Owners, chosen_layer, owners
from popvision.pva import errors
from popvision.pva.debug_context import DebugContext
from popvision.pva.listview import ListView, PrintedList
from popvision.pva.lowered import LoweredVar, lowered_of
from popvision.pva.program import Program, make_program
from popvision.pva.report import Report, columns_of

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


class Operation:
    """One call of the layer. Step indices are positions in `livenessProgramSteps`; the last is inclusive; both are -1
    when the operation has no step."""

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
        """The contexts that this call replaces, as a framework recorded them; empty when none did."""
        return self.debugContext.replaced

    def programs(self) -> list[Program]:
        """The programs the call made, by id; empty for a call that only made variables."""
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
    """The operations of one software layer of a report; by default the framework's (poptorch, tensorflow, ir or
    torch), else PopLibs, else the layer with most contexts.

    Raises TypeError when `report` is not a Report, AbsentError when the report has no debug file of its own run,
    ValueError for a layer that the program does not use."""

    def __init__(self, report: Report, layer: str = "") -> None:
        columns = self._columns = columns_of(report)
        try:
            self.layer: str = chosen_layer(columns.source, layer)
        except errors.NotRecordedError:
            raise errors.absent(_debug_file_problem(columns)) from None

    @cached_property
    def _owners(self) -> Owners:
        return owners(self._columns.source, self.layer)

    @cached_property
    def _order(self) -> tuple[list[int], list[int]]:
        """Program ids ordered by operation, and the position of each operation's first one."""
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
        first[steps[::-1]] = np.arange(len(steps))[::-1]  # backwards: the last assignment to a row stays
        last[steps] = np.arange(len(steps))
        return first.tolist(), last.tolist()

    @cached_property
    def operations(self) -> ListView[Operation]:
        """In the order of their first programs."""
        return ListView(len(self._owners.name) - 1, lambda i: Operation(self, i + 1), self._columns.printing)

    def __repr__(self) -> str:
        return f"OperationAnalysis({self.layer!r}, {len(self.operations)} operations)"


def _debug_file_problem(columns: Columns) -> str:
    files = columns.source.files
    stale = next((files[name] for name in ("debug.cbor", "debug.json") if files[name].state == "stale"), None)
    if stale is None:
        return errors.DEBUG_INFORMATION
    return f"{stale.path} belongs to another run than this report: give the debug.cbor that was written with it"
