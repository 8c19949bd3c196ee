"""Programs that choose, in the numeric plan: their branches are steps, bound once; values choose among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simulator.runtime.values.choices import Decision

if TYPE_CHECKING:
    from simulator.runtime.host.host_side import Action, HostSide, Step
    from simulator.runtime.values.arena import Arena, Place


def one_of(control: Place, decide: Decision, branches: Sequence[Step]) -> Step:
    """Run the branch that the scalar at `control` decides on; a number beyond the last one runs nothing."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        actions = [branch(arenas, side) for branch in branches]

        def run() -> None:
            choice = decide([int(arena.read(control)) for arena in arenas])
            side.chose(choice)
            if choice < len(actions):
                actions[choice]()

        return run

    return bind


def as_long_as(cond: Step, control: Place, decide: Decision, body: Step) -> Step:
    """`cond`, a look at the scalar, and as long as it decides for it: the body, `cond` and another look."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        before, trip = cond(arenas, side), body(arenas, side)

        def run() -> None:
            before()
            while decide([int(arena.read(control)) for arena in arenas]):
                side.chose(1)
                trip()
                before()
            side.chose(0)

        return run

    return bind


def without_end(body: Step) -> Step:
    """The body, until something in it raises."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        trip = body(arenas, side)

        def run() -> None:
            while True:
                trip()

        return run

    return bind


def checked(control: Place, decide: Decision) -> Step:
    """Look at the scalar: `decide` raises where it ends the run."""
    return lambda arenas, side: lambda: _ignore(decide([int(arena.read(control)) for arena in arenas]))


def ended(shown: Place | None, end: Callable[[Sequence[object]], None]) -> Step:
    """End the run, showing a tensor."""
    return lambda arenas, side: lambda: end([] if shown is None else [arena.read(shown) for arena in arenas])


def _ignore(_: object) -> None: ...
