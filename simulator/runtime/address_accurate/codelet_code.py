"""The compute function of a vertex: the Python codelet's, or a request to the process of compiled codelets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.session import Session
from simulator.codelets.printing import VertexPlaces
from simulator.graph.vertices import VertexType

VertexPlace = tuple[VertexPlaces, int, int]
"""(places of its block, replica, row)"""
Print = Callable[[VertexPlaces, int, int, int, str], None]


class CodeletCode:
    """Makes compute functions. `print_codelet` receives the output of compiled codelets."""

    def __init__(self, program: Program | None, print_codelet: Print) -> None:
        self._session = None if program is None else Session(program)
        self._print = print_codelet

    def compute_function(self, type_: VertexType, place: VertexPlace) -> Callable[[Any], Any]:
        """The `compute` function of one vertex, which writes into its arrays."""
        if type_.compiled is None:
            assert type_.compute is not None, f"{type_.name} has no compute function"
            return type_.compute
        session, class_ = self._session, type_.compiled
        assert session is not None, "compiled vertices have a program"
        places, replica, row = place

        def compute(given: Any) -> bool:
            session.run_one(
                class_,
                given,
                lambda _: places.located(row),
                lambda _, worker, text: self._print(places, replica, row, worker, text),
                tile=places.tile(row),
            )
            return session.agreed

        return compute
