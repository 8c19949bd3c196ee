"""Units that a browser asks for, without a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from webapp.base import preferences


@contextmanager
def preferring(*, units: str | None = None, time: str | None = None) -> Iterator[None]:
    """Use these preferences inside the block instead of the cookies."""
    wanted = preferences.current()
    token = preferences._current.set(replace(wanted, units=units or wanted.units, time=time or wanted.time))
    try:
        yield
    finally:
        preferences._current.reset(token)
