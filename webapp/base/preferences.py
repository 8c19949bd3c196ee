"""The user's preferences: unit of memory, and cycles or time.

The browser stores each preference in a cookie (assets/shell/preferences.js) and sends it with each request; the
server only reads them, for the length of one request. Values that are not in the list count as the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from flask import Flask, request

#: Values of each cookie, the default first. assets/shell/preferences.js has the same list.
CHOICES = {
    "popvision_units": ("binary", "si", "bytes"),
    "popvision_time": ("cycles", "time"),
}


@dataclass(frozen=True)
class Preferences:
    """`units`: "binary" (1.0 KiB), "si" (1.0 kB) or "bytes" (1,024 B). `time`: device "cycles", or "time", which is
    cycles / clock."""

    units: str = "binary"
    time: str = "cycles"


_current: ContextVar[Preferences] = ContextVar("popvision_preferences", default=Preferences())  # noqa: B039  (frozen)


def current() -> Preferences:
    """The preferences of the current request; the defaults outside a request."""
    return _current.get()


def read(cookies: Mapping[str, str]) -> Preferences:
    """The preferences in cookies."""
    units, time = (value if (value := cookies.get(name)) in values else values[0] for name, values in CHOICES.items())
    return Preferences(str(units), str(time))


def follow_requests(server: Flask) -> None:
    """Answer every request of `server` in the units of the browser that sends it."""

    @server.before_request
    def read_cookies() -> None:
        _current.set(read(request.cookies))

    @server.teardown_request
    def forget(_: BaseException | None) -> None:
        _current.set(Preferences())
