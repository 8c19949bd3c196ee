"""The stash of a pipeline stage: a ring buffer of variables, one slot for each cycle between forward and backward pass.

One counter names the slot. `restore` copies it into the variables, `save` writes them to the same slot, `advance` goes
on to the next; so a value comes back `depth` cycles after it was saved. Each slot has the variables' layout: no element
leaves its tile. Memory: `depth` times the variables and one slice.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.accesses import whole_variable
from simulator.poplar import UNSIGNED_INT, Graph, Tensor, Type, concat
from simulator.poplar import program as programs
from simulator.poplibs import popops
from simulator.poplibs.popops import expr as e


class Stash:
    """Room for `depth` values of each of some variables on the tiles of a graph."""

    def __init__(self, graph: Graph, name: str, depth: int, variables: Sequence[int]) -> None:
        self._graph, self._name, self._depth = graph, name, depth
        self._index = graph.addVariable(UNSIGNED_INT, [1], f"{name}/stashIndex")
        graph.setTileMapping(self._index, 0)
        parts: dict[Type, list[Tensor]] = {}
        for variable in variables:
            tensor = whole_variable(graph, variable)
            parts.setdefault(tensor.elementType(), []).append(tensor)
        self._rings = [(flat, self._ring(flat)) for flat in map(concat, parts.values())]

    def _ring(self, flat: Tensor) -> Tensor:
        """[depth, elements]"""
        slots = [self._graph.clone(flat, f"{self._name}/stash{slot}").expand([0]) for slot in range(self._depth)]
        return concat(slots)

    def start(self, program: programs.Sequence) -> None:
        """Begin with the first slot."""
        popops.zero(self._graph, self._index, program, f"{self._name}/stashIndex/zero")

    def restore(self, program: programs.Sequence) -> None:
        for flat, ring in self._rings:
            name = f"{self._name}/RestoreInplace"
            slot = popops.dynamicSlice(self._graph, ring, self._index, [0], [1], program, name)
            program.add(programs.Copy(slot.flatten(), flat, False, name))

    def save(self, program: programs.Sequence) -> None:
        for flat, ring in self._rings:
            name = f"{self._name}/Stash"
            popops.dynamicUpdate(self._graph, ring, flat.expand([0]), self._index, [0], [1], program, name)

    def advance(self, program: programs.Sequence) -> None:
        next_slot = (e._1 + 1) % self._depth
        popops.mapInPlace(self._graph, next_slot, [self._index], program, f"{self._name}/stashIndex/next")
