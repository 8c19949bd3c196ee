"""Waiting for what another thread or process does: the one place where a test sleeps, between two looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

#: Seconds that a loaded machine may take for what an idle one does at once.
LIMIT = 60.0
_BETWEEN = 0.01


def wait_until(look: Callable[[], Seen], what: str | Callable[[], str] = "", limit: float = LIMIT) -> Seen:
    """The first true value that `look` gives. Raises AssertionError after `limit` seconds, with `what` was awaited."""
    ends = time.monotonic() + limit
    while not (seen := look()):
        if time.monotonic() > ends:
            raise AssertionError(f"not within {limit:g} s: {what() if callable(what) else what or look}")
        time.sleep(_BETWEEN)
    return seen
