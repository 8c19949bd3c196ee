"""Unfold the tree of lowered programs along the liveness indices, so that each step knows the live memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulator.base.errors import poplar_error
from simulator.compiler.ir.program_table import ProgramTable
from simulator.runtime.address_accurate.claims import Claims, dead_at, living_at
from simulator.runtime.address_accurate.leaves import Leaves
from simulator.runtime.address_accurate.tile_memory import POISON, TileMemory

Action = Callable[[], None]
Ending = tuple[int, slice]
"""(index at which it became live, memory) of a range that ends."""


def branch_actions(
    table: ProgramTable,
    branches: list[int],
    claims: Claims,
    leaves: Leaves,
    memory: TileMemory,
    wrap_lowered: Callable[[int, Action], Action],
) -> list[Action]:
    """One action per branch of the root switch. `wrap_lowered`: as in HostSide. Raises poplar_error where the report's
    static order differs from the order in which programs run."""
    walk = _Walk(table, frozenset(branches), claims, leaves, memory, wrap_lowered)
    walk.node(0)
    if walk.position != len(claims.order):
        raise poplar_error(f"The report has {len(claims.order)} liveness indices, the programs {walk.position}.")
    return [walk.branches[row] for row in branches]


class _Walk:
    def __init__(
        self,
        table: ProgramTable,
        wanted: frozenset[int],
        claims: Claims,
        leaves: Leaves,
        memory: TileMemory,
        wrap_lowered: Callable[[int, Action], Action],
    ) -> None:
        self._wrap_lowered = wrap_lowered
        self.position = 0
        self.branches: dict[int, Action] = {}
        #: ranges that end at a position: at the program itself, then at each loop that ends there, inner loops first
        self._last: dict[int, list[list[Ending]]] = {}
        self._table, self._wanted, self._claims, self._leaves, self._memory = table, wanted, claims, leaves, memory

    def node(self, row: int) -> Action:
        """The action of the program in this row, at the current position. Syncs have no position."""
        type_ = self._table.type[row]
        if type_ == "Sync":
            return self._wrap_lowered(row, lambda: None)
        first = self.position + 1
        own = self._own(row)
        inner = [self.node(child) for child in self._table.children[row]]
        if self._table.function[row] >= 0:
            inner.append(self.node(self._table.function_roots[self._table.function[row]]))
        if type_ in ("Repeat", "RepeatWhile") and inner:
            inner[-1] = self._poison_after_trip(inner[-1], first)
        run = self._running(row, type_, own, inner)
        if type_ in ("Repeat", "RepeatWhile"):
            run = self._poison_after_loop(first, run)
        run = self._wrap_lowered(row, run)
        if row in self._wanted:
            self.branches[row] = run
        return run

    def _running(self, row: int, type_: str, own: Action, inner: list[Action]) -> Action:
        """The action of a program with children: all in order, a number of times, or the branch that data chose."""
        chosen = self._leaves.choosing.chosen
        if type_ == "RepeatWhile" and len(inner) > 1:
            looking = next(c for c in self._table.children[row] if self._table.type[c] == "SetLocalConsensusFromVar")
            return lambda: _run_while(own, inner, lambda: bool(chosen[looking]))
        if type_ in ("If", "Switch"):
            return lambda: _run_choice(own, inner, lambda: chosen[row])
        if type_ == "RepeatWhile":
            return lambda: _run_while(own, [*inner, lambda: None], lambda: True)
        times = self._table.repeat_count[row] if type_ == "Repeat" else 1
        return lambda: _run_repeat(own, inner, times)

    def _own(self, row: int) -> Action:
        """The action of the program itself; poison memory before it becomes live and after it dies."""
        at, claims = self.position, self._claims
        if at >= len(claims.order) or int(claims.order[at]) != row:
            raise poplar_error(f"The report has another program than {row} at liveness index {at}.")
        self.position += 1
        action, memory = self._leaves.action(row), self._memory
        begins, ends = claims.starts.get(at, []), self._last.setdefault(at, [list(claims.ends.get(at, []))])[0]

        def run() -> None:
            memory.poison(begins)
            if action is not None:
                action()
            memory.poison(place for _, place in ends)

        return run

    def _poison_after_trip(self, last: Action, first: int) -> Action:
        """At the end of a loop trip, poison memory that is not live there. `first`: position of the body."""
        memory, addresses = self._memory, dead_at(self._claims, self.position - 1, first)

        def run() -> None:
            last()
            memory.data[addresses] = POISON

        return run

    def _poison_after_loop(self, first: int, loop: Action) -> Action:
        """At the end of a loop, poison loop-loop_carried memory. Ranges that end with the loop and are also live at its
        body's first position carry values from trip to trip (in one range, or in two where the body writes anew), so
        they must survive the end of a trip."""
        memory, loop_carried = self._memory, list[Ending]()
        lives = np.zeros(len(memory.data), np.bool_)
        lives[living_at(self._claims, first)] = True

        def carries(ending: Ending) -> bool:
            return ending[0] <= first or bool(lives[ending[1]].all())

        for endings in self._last.get(self.position - 1, []):
            loop_carried += [ending for ending in endings if carries(ending)]
            endings[:] = [ending for ending in endings if not carries(ending)]
        self._last.setdefault(self.position - 1, []).append(loop_carried)

        def run() -> None:
            loop()
            memory.poison(place for _, place in loop_carried)

        return run


def _run_repeat(own: Action, inner: list[Action], times: int) -> None:
    own()
    for _ in range(times):
        for action in inner:
            action()


def _run_choice(own: Action, inner: list[Action], choice: Callable[[], int]) -> None:
    own()
    for action in inner[choice() :][:1]:
        action()


def _run_while(own: Action, inner: list[Action], wanted: Callable[[], bool]) -> None:
    """The last action is the body, those before it compute the condition."""
    own()
    *tests, body = inner
    for action in tests:
        action()
    while wanted():
        body()
        for action in tests:
            action()
