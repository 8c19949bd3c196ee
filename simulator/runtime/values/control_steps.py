"""Programs that choose, in the numeric plan: branches are bound once, values select among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simulator.runtime.values.choices import Decision

if TYPE_CHECKING:
    from simulator.runtime.values.arena import Arena, Place
    from simulator.runtime.values.host_side import Action, HostSide, Step


def choice(control: Place, decide: Decision, branches: Sequence[Step]) -> Step:
    """Run the branch that the scalar at `control` selects; an index beyond the last runs nothing."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        actions = [branch(arenas, side) for branch in branches]

        def run() -> None:
            choice = decide([int(arena.read(control)) for arena in arenas])
            side.chose(choice)
            if choice < len(actions):
                actions[choice]()

        return run

    return bind


def while_loop(cond: Step, control: Place, decide: Decision, body: Step) -> Step:
    """Run `cond`; while the scalar at `control` says so, run the body and `cond` again."""

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


def endless_loop(body: Step) -> Step:
    """Run the body until it raises."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        trip = body(arenas, side)

        def run() -> None:
            while True:
                trip()

        return run

    return bind


def abort_check(control: Place, decide: Decision) -> Step:
    """Read the scalar; `decide` raises where it ends the run."""
    return lambda arenas, side: lambda: _ignore(decide([int(arena.read(control)) for arena in arenas]))


def run_end(shown: Place | None, end: Callable[[Sequence[object]], None]) -> Step:
    """End the run and show a tensor."""
    return lambda arenas, side: lambda: end([] if shown is None else [arena.read(shown) for arena in arenas])


def _ignore(_: object) -> None: ...
