"""The plan of the address-accurate mode: the interface of NumericPlan, on the bytes of the tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import AnyArray
from simulator.runtime.address_accurate.choosing import Choosing
from simulator.runtime.address_accurate.claims import claims_of
from simulator.runtime.address_accurate.codelet_code import CodeletCode
from simulator.runtime.address_accurate.compute_parts import Replica
from simulator.runtime.address_accurate.leaves import Leaves
from simulator.runtime.address_accurate.slots import variable_slots
from simulator.runtime.address_accurate.tile_memory import TileMemory
from simulator.runtime.address_accurate.transfers import (
    AddressedTensor,
    HostTransfers,
    ReplicaMemory,
    addressed,
    addressed_elements,
)
from simulator.runtime.address_accurate.walk import branch_actions

if TYPE_CHECKING:
    from simulator.compiler.compiled_graph import Arrangements, CompiledGraph
    from simulator.runtime.values.host_side import HostSide
    from simulator.runtime.values.numeric_plan import NumericPlan


class AddressPlan:
    """All programs and host copies of a compiled graph with its arrangements.

    Raises poplar_error where the report's addresses, liveness and messages contradict the programs."""

    def __init__(self, compiled: CompiledGraph, arrangements: Arrangements, plan: NumericPlan) -> None:
        m = compiled.machine
        store, plans = arrangements.store, arrangements.plans
        self._store, self._arrangements = store, arrangements
        self._lowered, self._programs = compiled.lowered, compiled.num_programs
        self._claims = claims_of(
            compiled.compilation,
            len(plans.numels) + len(plans.buffers),
            arrangements.part_of,
            m.bytes_per_tile,
            m.device_tiles,
        )
        names = list(store.variables.name)
        self._replicas = [
            Replica(self._claims, plans, variable_slots(self._claims, plans.emap, m.tiles, r, names), r * m.tiles)
            for r in range(m.num_replicas)
        ]
        self._size = m.bytes_per_tile * m.device_tiles
        self._codelets, self._counted, self._stamps = plan.codelets, plan.counted, plan.stamps
        self.streams = plan.streams
        self.host_types = plan.host_types
        self.host_copies: dict[tuple[str, str], AddressedTensor] = {
            (kind, handle): addressed(tensor, self._replicas) for kind, handle, tensor in store.host_copies
        }
        self.metadata: dict[tuple[str, str], AddressedTensor] = {
            (kind, handle): addressed(tensor.getMetadata(), self._replicas)
            for kind, handle, tensor in store.host_copies
            if tensor.hasMetadata()
        }

    def variable(self, variable: int) -> AddressedTensor:
        """The addresses of a whole variable, flat."""
        columns = self._store.variables
        start, count = np.array([columns.base[variable]]), columns.numel[variable]
        dtype = columns.type[variable].dtype
        return addressed_elements(start, np.array([count]), (count,), dtype, self._replicas)

    def memories(self, autoload: bool = False) -> list[ReplicaMemory]:
        """The initial memory, one view per replica. Each replica is loaded separately, also with `autoload`."""
        memory = TileMemory(self._claims, self._size)
        for replica in self._replicas:
            number = replica.shift // max(len(replica.plans.machine.ipu_of_tile), 1)
            for element, values in self._initial(number):
                _store(memory, replica, element, values)
        return [ReplicaMemory(memory, r) for r in range(len(self._replicas))]

    def bind(self, memories: Sequence[ReplicaMemory], side: HostSide) -> list[Callable[[], None]]:
        """One function per program, in order."""
        memory = memories[0].memory
        host_side = HostTransfers(self._replicas, memories, self.streams, self._arrangements.messages, side)
        table = self._lowered.table
        choosing = Choosing(self._lowered, self._replicas, memories, side)
        code = CodeletCode(self._codelets, side)
        leaves = Leaves(
            self._store,
            self._arrangements,
            table,
            self._replicas,
            memory,
            host_side,
            choosing,
            code,
            side,
            self._counted,
            self._stamps,
        )
        branches = branch_actions(table, self._lowered.branches, self._claims, leaves, memory, side.wrap_lowered)

        def guarded(action: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                action()
                memory.check_guards()

            return run

        return [guarded(action) for action in branches[: self._programs]]

    def _initial(self, replica: int) -> Iterator[tuple[int, AnyArray]]:
        """(first element, values) of constants and initial values."""
        v = self._store.variables
        for base, constant, initial in zip(v.base, v.constant, v.initial, strict=True):
            if constant is not None:
                yield base, np.ravel(constant)
            for first, values in initial:
                yield base + first, np.ravel(values)
        for element, by_replica in v.by_replica.items():
            yield element, np.array(by_replica[replica : replica + 1], np.uint32)


def _store(memory: TileMemory, replica: Replica, element: int, values: AnyArray) -> None:
    """Write values from an element on; those without a tile or an address are skipped."""
    emap, claims = replica.emap, replica.claims
    cut = emap.cut(np.array([element]), np.array([len(values)]))
    tile = emap.tile[cut.row]
    for i in range(len(cut.row)):
        row = cut.row[i : i + 1]
        there = tile[i : i + 1] + replica.shift
        if tile[i] < 0 or int(claims.begin[emap.variable[row], there][0]) < 0:
            continue
        place = replica.slots.bytes_of(there, cut.start[i : i + 1], cut.length[i : i + 1], emap.item_bytes[row])
        first = int(cut.start[i]) - element
        memory.write(place, values[first : first + int(cut.length[i])])
