"""Translate NumPy's floating-point errors to Poplar's, with the program that stopped."""

from __future__ import annotations

from collections.abc import Callable

from simulator.base.errors import ErrorCode, ErrorInfo, ErrorLocation, application_runtime_error
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.runtime.checks.watch import Action

_CODES = {
    "overflow": (ErrorCode.FLOATING_POINT_OVERFLOW, "an overflow"),
    "divide": (ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO, "a division by zero"),
}
_INVALID = ErrorCode.FLOATING_POINT_INVALID_OPERATION, "an invalid floating-point operation"


class FloatErrors:
    """Raises application_runtime_error, naming the program, for NumPy's FloatingPointError."""

    def __init__(self, executable: CompiledGraph) -> None:
        self._lowered = executable.lowered
        self._owner = id(executable)

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        if not isinstance(program, Execute | LibraryGroup):
            return action
        return self._translated(action, lambda: self._row(place, program))

    def wrap_row(self, row: int, action: Action) -> Action:
        if self._lowered.table.type[row] != "OnTileExecute":
            return action
        return self._translated(action, lambda: row)

    def _translated(self, action: Action, where: Callable[[], int]) -> Action:
        def run() -> None:
            try:
                action()
            except FloatingPointError as error:
                code, what = _CODES.get(str(error).split()[0], _INVALID)
                row = where()
                name = self._lowered.table.name[row] if row >= 0 else ""
                raise application_runtime_error(
                    f"Program {row} ('{name}') stopped at {what} ({error}).",
                    [ErrorInfo(code, ErrorLocation(-1, row, "", self._owner))],
                ) from None

        return run

    def _row(self, place: Place, program: Execute | LibraryGroup) -> int:
        """The row of the compute set; of a library operation, that of its first one."""
        first, end = self._lowered.spans.get(place, (0, 0))
        sets = self._lowered.table.compute_set
        mine = program.compute_set if isinstance(program, Execute) else None
        launched = (row for row in range(first, end) if sets[row] >= 0 and mine in (None, sets[row]))
        return next(launched, self._lowered.row_of(place))
