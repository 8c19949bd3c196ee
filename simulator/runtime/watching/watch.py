"""Who watches programs run: each watcher may put its own work around the running of a program.

An engine asks its watchers once, when programs are bound; a program that nobody watches runs as if there were none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Program

Action = Callable[[], None]


class Watcher(Protocol):
    def around(self, place: Place, program: Program, action: Action) -> Action:
        """What is done in place of `action`; itself where the program does not matter."""
        ...

    def around_row(self, row: int, action: Action) -> Action:
        """The same for one lowered program, where programs run row by row (the address-accurate mode)."""
        ...


def watched(watchers: Sequence[Watcher], place: Place, program: Program, action: Action) -> Action:
    """`action` with all watchers around it, the last one outermost."""
    for watcher in watchers:
        action = watcher.around(place, program, action)
    return action


def watched_row(watchers: Sequence[Watcher], row: int, action: Action) -> Action:
    """The same for a lowered program."""
    for watcher in watchers:
        action = watcher.around_row(row, action)
    return action
