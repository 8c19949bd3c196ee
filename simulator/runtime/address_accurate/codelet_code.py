"""The compute function of a vertex: the Python codelet's, or a request to the process of compiled codelets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.arrays import Int64Array
from simulator.codelets.compiled.cycle_counter import entered
from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.session import Session
from simulator.codelets.printing import VertexPlaces
from simulator.graph.vertices import VertexType
from simulator.runtime.values.host_side import HostSide

VertexPlace = tuple[VertexPlaces, int, int]
"""(places of its block, replica, row)"""


class CodeletCode:
    """Makes compute functions. `side` receives the output of compiled codelets. `parts` grows by what each vertex of a
    counting program took."""

    def __init__(self, program: Program | None, side: HostSide) -> None:
        self._session = None if program is None else Session(program)
        self._side = side
        self._begins: dict[int, Int64Array] = {}  #: by the identity of a block's places
        self.parts: list[int] = []

    def compute_function(self, type_: VertexType, place: VertexPlace) -> Callable[[Any], Any]:
        """The `compute` function of one vertex, which writes into its arrays."""
        if type_.compiled is None:
            assert type_.compute is not None, f"{type_.name} has no compute function"
            return type_.compute
        session, class_ = self._session, type_.compiled
        assert session is not None, "compiled vertices have a program"
        places, replica, row = place
        begin = int(self._begins_of(places)[row]) if session.timed else 0

        def compute(given: Any) -> bool:
            session.run_one(
                class_,
                given,
                lambda _: places.located(row),
                lambda _, worker, text: self._side.print_codelet(places, replica, row, worker, text),
                tile=places.tile(row),
                begin=begin,
            )
            if session.counts:
                self.parts.append(session.parts)
            return session.agreed

        return compute

    def _begins_of(self, places: VertexPlaces) -> Int64Array:
        if id(places) not in self._begins:
            self._begins[id(places)] = entered(self._side.vertex_begins(places))
        return self._begins[id(places)]
