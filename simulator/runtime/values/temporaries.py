"""Share arena memory between temporaries whose uses do not overlap: register allocation by linear scan.

Library operations leave a new variable with each result. With memory of their own, all of them together are far larger
than the processor's caches; reused memory stays warm. A variable may share when every use lies in one straight run of
programs (the body of one loop, or of one function), the first use writes all of it, and neither the host nor a single
vertex accesses it. It owns its memory from the first use to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.graph import program as host
from simulator.runtime.values.orders import Order, orders_of

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.tensor import Tensor


@dataclass
class _Use:
    """The uses of one variable so far."""

    block: int
    first: int
    last: int
    shareable: bool


@dataclass
class _Walk:
    store: GraphStore
    uses: dict[int, _Use] = field(default_factory=dict)
    groups: list[host.LibraryGroup] = field(default_factory=list)
    blocks: int = 0
    position: int = 0
    functions: set[int] = field(default_factory=set)

    def walk_block(self, program: host.Program) -> None:
        """Walk through a program as a new block."""
        outer, self.blocks = self.blocks, self.blocks + 1
        self._walk(program, outer)

    def _walk(self, program: host.Program, block: int) -> None:
        match program:
            case host.LibraryGroup():
                self.groups.append(program)
                self._access(block, program.inputs, program.outputs)
            case host.Sequence():
                for part in program.programs:
                    self._walk(part, block)
            case host.Execute():
                self._pin_vertices(program.compute_set)
                self._access(block, (), program.writes())
            case host.Call() if program.host_function is None:
                if program.function not in self.functions:
                    self.functions.add(program.function)
                    self.walk_block(self.store.functions[program.function])
            case _:  # a choice reads its predicate before its bodies, each of which may not run
                self._access(block, program.reads(), program.writes())
                for body in program.nested():
                    self.position += 1
                    self.walk_block(body)

    def _access(self, block: int, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> None:
        self.position += 1
        for tensor in reads:
            for variable in tensor.view.variables():
                self._use(variable, block, False)
        for tensor in writes:
            for variable in tensor.view.variables():
                whole = tensor.numElements() == self.store.variables.numel[variable] and not tensor.containsAliases()
                self._use(variable, block, whole)

    def _use(self, variable: int, block: int, whole_write: bool) -> None:
        use = self.uses.get(variable)
        if use is None:
            self.uses[variable] = _Use(block, self.position, self.position, whole_write)
        else:
            use.shareable &= use.block == block
            use.last = self.position

    def _pin_vertices(self, compute_set: int) -> None:
        for block in self.store.settled_blocks:
            if block.compute_set == compute_set:
                for edges in block.edges.values():
                    for variable in self._variables_of(edges.starts):
                        self.uses[variable] = _Use(-1, 0, 0, False)

    def _variables_of(self, elements: Int64Array) -> list[int]:
        """The variables of these elements; nearly all fields of a block have one."""
        if not len(elements):
            return []
        ends = self.store.variable_of(np.array([elements.min(), elements.max()]))
        found = ends[:1] if ends[0] == ends[1] else np.unique(self.store.variable_of(elements))
        return [int(variable) for variable in found]


@dataclass(frozen=True)
class Temporaries:
    """`groups`: those that share memory; a variable in no group has its own. `orders`: of elements in the arena."""

    groups: list[list[int]] = field(default_factory=list)
    orders: dict[int, Order] = field(default_factory=dict)


def find_temporaries(store: GraphStore, programs: Sequence[host.Program]) -> Temporaries:
    """The temporaries of library operations: what shares memory, and in which order the arena holds them."""
    walk = _Walk(store)
    for program in programs:
        walk.walk_block(program)
    v = store.variables
    uses = {
        variable: use
        for variable, use in walk.uses.items()
        if use.shareable
        and not (v.constant[variable] is not None or v.host_visible[variable] or bool(v.initial[variable]))
    }
    return Temporaries(_shared_slots(store, uses), orders_of(store, walk.groups, uses))


def _shared_slots(store: GraphStore, uses: dict[int, _Use]) -> list[list[int]]:
    v = store.variables
    open_slots: dict[int, list[tuple[int, int, list[int]]]] = {}  #: block -> (last use, bytes, variables)
    groups: list[list[int]] = []
    for variable, use in sorted(uses.items(), key=lambda item: item[1].first):
        size = v.numel[variable] * v.type[variable].size
        slots = open_slots.setdefault(use.block, [])
        # The smallest free slot that is large enough and at most twice as large.
        free = [i for i, (last, room, _) in enumerate(slots) if last < use.first and size <= room <= 2 * size]
        if free:
            best = min(free, key=lambda i: slots[i][1])
            _, room, group = slots[best]
            group.append(variable)
            slots[best] = (use.last, room, group)
        else:
            groups.append([variable])
            slots.append((use.last, size, groups[-1]))
    return [group for group in groups if len(group) > 1]
