"""target.hostSyncTimeout within a run: stop the program at the first synchronisation that is too late.

Without choices of data the modelled time, and with it the first late synchronisation, is known before the run. With
such choices it is known only after the run, which then fails at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Program
from simulator.runtime.checks.watch import Action

if TYPE_CHECKING:
    from simulator.runtime.clock.host_response import Late


@dataclass
class _Deadline:
    """A deadline that is set. `met`: how often the program with the late synchronisation has begun."""

    late: Late
    place: Place | None
    expire: Action
    met: int = 0

    def counted(self, action: Action) -> Callable[[], None]:
        """The action, or the end of the run where its synchronisation is the late one."""

        def run() -> None:
            self.met += 1
            if self.met == self.late.nth:
                self.expire()
            action()

        return run


class SyncDeadline:
    """A watcher that ends the run at one synchronisation, while it is set. `expire` raises."""

    def __init__(self) -> None:
        self._set: _Deadline | None = None

    def set(self, late: Late, place: Place | None, expire: Action) -> None:
        """Set the deadline. `place`: the program with the late synchronisation."""
        self._set = _Deadline(late, place, expire)

    @property
    def is_set(self) -> bool:
        return self._set is not None

    def clear(self) -> None:
        self._set = None

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        return self._set.counted(action) if self._set is not None and place == self._set.place else action

    def wrap_row(self, row: int, action: Action) -> Action:
        """As `wrap`, where programs run row by row."""
        return self._set.counted(action) if self._set is not None and row == self._set.late.row else action
