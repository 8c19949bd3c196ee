"""Flows: what leads from an event to another one, often on another thread or in another process."""

from __future__ import annotations

import os
from time import perf_counter_ns

from popvision.pvti.recorder import local
from popvision.pvti.scopes import start_recorder
from popvision.pvti.session import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Flow:
    """A path from event to event: a batch from the thread that loads it to the one that uses it. Our own name.

    `flow.step()` inside an event makes it the next event of the flow. A flow may be sent to other threads, and pickled
    to other processes of the run, whose files the viewer joins."""

    def __init__(self, name: str = "") -> None:
        self.name = str(name)
        self.id = 1 + int.from_bytes(os.urandom(6), "little") if session.recording else 0
        self._declared_in = ""

    def step(self) -> None:
        """Make the innermost open event of the calling thread the next one of this flow. Outside all events, or while
        nothing is recorded, nothing happens."""
        if not session.recording or not self.id:
            return
        if not hasattr(local, "buffer"):
            start_recorder()
        if self._declared_in != session.path:
            session.declarations.declare("add_flow", self.id, self.name)
            self._declared_in = session.path
        time = perf_counter_ns() + session.clock_offset_ns
        session.declarations.declare("add_flow_point", self.id, local.buffer.id, time)

    def __reduce__(self) -> tuple[Any, ...]:
        return _flow_of, (self.name, self.id)


def _flow_of(name: str, id: int) -> Flow:
    flow = Flow(name)
    flow.id = id
    return flow
