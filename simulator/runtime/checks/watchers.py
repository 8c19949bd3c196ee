"""Watchers of programs, and which of them an engine's settings ask for.

`WriteGuard` (debug.runtimeVerify) checks that a compute set changes only the outputs of its vertices. `FloatErrors`
translates NumPy's floating-point errors to Poplar's, with the program that stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from simulator.arrays import BoolArray
from simulator.base.errors import ErrorCode, ErrorInfo, ErrorLocation, application_runtime_error, poplar_error
from simulator.base.options.run import RunSettings
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.runtime.checks.edge_trace import EdgeTrace
from simulator.runtime.checks.planted_errors import PlantedErrors
from simulator.runtime.checks.watch import Action, Watcher
from simulator.runtime.values.arena import Arena, ArenaLayout
from simulator.runtime.values.compute_set_edges import edges_of

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


class WriteGuard:
    """Compares all memory before and after each compute set. Raises application_runtime_error, naming the compute set
    and the variable, where a vertex wrote other memory, for example one of its inputs."""

    def __init__(self, store: GraphStore, layout: ArenaLayout, arenas: Callable[[], Sequence[Arena]]) -> None:
        self._store, self._layout, self._arenas = store, layout, arenas

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        if not isinstance(program, Execute):
            return action
        allowed = self._written(program)
        name = self._store.compute_set_names[program.compute_set]

        def run() -> None:
            before = [arena.flat(np.dtype(np.uint8)).copy() for arena in self._arenas()]
            action()
            for was, arena in zip(before, self._arenas(), strict=True):
                changed = np.flatnonzero((was != arena.flat(np.dtype(np.uint8))) & ~allowed)
                if len(changed):
                    self._refuse(name, int(changed[0]))

        return run

    def wrap_row(self, row: int, action: Action) -> Action:
        """Not used row by row: there each vertex has its own inputs and is checked separately."""
        return action

    def _written(self, program: Execute) -> BoolArray:
        allowed = np.zeros(self._layout.total_bytes, np.bool_)
        if program.consensus is not None:
            allowed[self._layout.items(program.consensus.regions()[0])] = True  # BOOL: a byte
        for edge in edges_of(self._store, self._layout, program.compute_set):
            if edge.written:
                first = edge.items * edge.type.size
                allowed[(first[:, None] + np.arange(edge.type.size)).reshape(-1)] = True
        return allowed

    def _refuse(self, compute_set: str, byte: int) -> None:
        begins = [self._layout.byte_offset(v) for v in range(len(self._store.variables.name))]
        variable = max((v for v, begin in enumerate(begins) if begin <= byte), key=lambda v: begins[v])
        raise application_runtime_error(
            f"Compute set '{compute_set}' changed variable '{self._store.variables.name[variable]}', which none of its "
            "vertices may write there (found by debug.runtimeVerify); declare the field Output or InOut.",
            [ErrorInfo(ErrorCode.INVALID_ADDRESS, None)],
        )


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


#: The codelet that changes floating-point settings of tiles (simulator.building.floating_point).
_CHANGES_FLOATS = "poplar_rt::ModifyFloatingPoint"


def watchers_of(
    compiled: CompiledGraph,
    layout: ArenaLayout,
    settings: RunSettings,
    planted: PlantedErrors,
    memories: Callable[[], Sequence[Any]],
) -> list[Watcher]:
    """The watchers, innermost first."""
    watchers: list[Watcher] = []
    store = compiled.source.store
    if settings.float_exceptions or _CHANGES_FLOATS in compiled.compilation.vertex_types.name:
        watchers.append(FloatErrors(compiled))
    if settings.verify:
        watchers.append(WriteGuard(store, layout, memories))
    if settings.trace:
        watchers.append(EdgeTrace(store, layout, memories, _stream_of(settings)))
    watchers.append(planted)
    return watchers


def _stream_of(settings: RunSettings) -> Callable[[], TextIO]:
    """The stream of the trace. The file is opened at the first write, which removes the trace of earlier engines."""
    if settings.trace_file is None:
        return lambda: sys.stderr
    path = settings.trace_file
    opened: list[TextIO] = []

    def stream() -> TextIO:
        if not opened:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                opened.append(path.open("w", buffering=1))
            except OSError as error:
                raise poplar_error(
                    f"The trace cannot be written to {path} ({error.strerror or error}); give debug.traceFile another "
                    "path."
                ) from None
        return opened[0]

    return stream
