"""Watchers: they wrap their own work around the running of programs.

An engine asks its watchers once, when programs are bound; a program without watchers runs at full speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Program

Action = Callable[[], None]


class Watcher(Protocol):
    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        """Wrap the action of a program; `action` itself for a program that is not watched."""
        ...

    def wrap_row(self, row: int, action: Action) -> Action:
        """Wrap the action of a lowered program, where programs run row by row (the address-accurate mode)."""
        ...


def wrap_program(watchers: Sequence[Watcher], place: Place, program: Program, action: Action) -> Action:
    """Wrap an action in all watchers, the last one outermost."""
    for watcher in watchers:
        action = watcher.wrap(place, program, action)
    return action


def wrap_lowered(watchers: Sequence[Watcher], row: int, action: Action) -> Action:
    """Wrap the action of a lowered program."""
    for watcher in watchers:
        action = watcher.wrap_row(row, action)
    return action
