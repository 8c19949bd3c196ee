"""Occupation: what an engine is doing, which nothing else may disturb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from simulator.base.errors import poplar_error


class Occupation:
    """A run or load of an engine, one at a time. A second one is refused and does not wait: in a callback of the first
    it would wait for ever."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._doing, self._until = "", ""  #: what the engine does now, and the call that it lasts for; "" = nothing

    @contextmanager
    def of(self, call: str, doing: str) -> Iterator[None]:
        """Do something that the method `call` stands for. Raises poplar_error while anything is done."""
        with self._lock:
            if self._doing:
                raise poplar_error(
                    f"The engine is {self._doing}; call {call}() after {self._until}() has returned, not meanwhile "
                    "from a callback or another thread."
                )
            self._doing, self._until = doing, call
        try:
            yield
        finally:
            self._doing = ""
