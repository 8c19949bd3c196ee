"""How a run ends before its program does: exceptions on their way from the program to `Engine.run`."""

from __future__ import annotations

from simulator.compiler.ir.program_visits import Place


class RunEndedError(Exception):
    """`reason` is one sentence without the program that did it; `place` is where that program stands."""

    def __init__(self, reason: str, place: Place) -> None:
        super().__init__(reason)
        self.reason, self.place = reason, place


class RunStoppedError(Exception):
    """Engine.stop was called: the run ends where it would speak with the host."""
