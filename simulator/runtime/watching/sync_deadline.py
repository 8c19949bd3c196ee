"""target.hostSyncTimeout within a run: stop the program at the first synchronisation that is too late.

Without choices of data the modelled time, and with it the first late synchronisation, is known before the run. With
such choices it is known only after the run, which then fails at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Program
from simulator.runtime.watching.watch import Action

if TYPE_CHECKING:
    from simulator.runtime.clock.host_response import Late


class SyncDeadline:
    """A watcher that ends the run at one synchronisation, while it is set. `expire` raises."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._late: Late | None = None
        self._met = 0
        self._expire: Action = lambda: None

    def set(self, late: Late, place: Place | None, expire: Action) -> None:
        """Set the deadline. `place`: the program with the late synchronisation."""
        self._late, self._place, self._met, self._expire = late, place, 0, expire

    @property
    def is_set(self) -> bool:
        return self._late is not None

    def clear(self) -> None:
        self._late = self._place = None

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        return self._counted(action) if self._late is not None and place == self._place else action

    def wrap_row(self, row: int, action: Action) -> Action:
        """As `wrap`, where programs run row by row."""
        return self._counted(action) if self._late is not None and row == self._late.row else action

    def _counted(self, action: Action) -> Callable[[], None]:
        def run() -> None:
            assert self._late is not None
            self._met += 1
            if self._met == self._late.nth:
                self._expire()
            action()

        return run
