"""debug.runtimeVerify: check that a compute set changes only the outputs of its vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray
from simulator.base.errors import ErrorCode, ErrorInfo, application_runtime_error
from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Execute, Program
from simulator.runtime.checks.watch import Action
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
