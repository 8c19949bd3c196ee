"""debug.trace: print the values of every edge before and after each compute set and exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Copy, CrossReplicaCopy, Execute, PrintTensorFmt, Program
from simulator.graph.tensor import Tensor
from simulator.runtime.checks.watch import Action
from simulator.runtime.values.arena import Arena, ArenaLayout
from simulator.runtime.values.compute_set_edges import edges_of
from simulator.runtime.values.print_tensor import tensor_text

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

_FORM = PrintTensorFmt(summariseThreshold=64)


class EdgeTrace:
    """Prints the operands of compute sets and copies. `arenas` returns those of the loaded program."""

    def __init__(
        self,
        store: GraphStore,
        layout: ArenaLayout,
        arenas: Callable[[], Sequence[Arena]],
        stream: Callable[[], TextIO],
    ) -> None:
        self._store, self._layout, self._arenas, self._stream = store, layout, arenas, stream

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        if isinstance(program, Execute):
            title = f"compute set '{self._store.compute_set_names[program.compute_set]}'"
            lines = self._of_compute_set(program.compute_set)
        elif isinstance(program, Copy | CrossReplicaCopy):
            title, lines = "exchange", self._of_copy(program)
        else:
            return action

        def run() -> None:
            self._write(f"Before {title}", lines())
            action()
            self._write(f"After {title}", lines())

        return run

    def wrap_row(self, row: int, action: Action) -> Action:
        """Not used: debug.trace and the address-accurate mode exclude each other."""
        return action

    def _write(self, title: str, lines: list[str]) -> None:
        self._stream().write("\n".join([f"{title}:", *(f"  {line}" for line in lines)]) + "\n")

    def _of_compute_set(self, compute_set: int) -> Callable[[], list[str]]:
        edges = edges_of(self._store, self._layout, compute_set)

        def lines() -> list[str]:
            return [
                self._line(f"tile {e.tile} vertex {e.vertex} {e.field}", arena, arena.flat(e.type.dtype)[e.items])
                for arena in self._arenas()
                for e in edges
            ]

        return lines

    def _of_copy(self, program: Copy | CrossReplicaCopy) -> Callable[[], list[str]]:
        ends = [(name, getattr(program, name)) for name in ("source", "destination")]
        places = [(name, self._layout.place(end)) for name, end in ends if isinstance(end, Tensor)]

        def lines() -> list[str]:
            return [self._line(name, arena, arena.read(place)) for arena in self._arenas() for name, place in places]

        return lines

    def _line(self, what: str, arena: Arena, values: Any) -> str:
        replica = f"replica {arena.replica} " if self._store.replicas > 1 else ""
        return f"{replica}{what} = {tensor_text('', values, _FORM)}"
