"""Trace channels: each event belongs to one; switching it off drops its events."""

from __future__ import annotations

import threading

from popvision.formats.pvti.schema import KIND_BITS
from popvision.pvti.arguments import check_channel, check_text
from popvision.pvti.scopes import Scope, SilentScope
from popvision.pvti.session import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_LABELS = 1 << 16

LABEL = "the label of an event"


class TraceChannel:
    """A channel; its events are recorded while it is `enabled`. Made by `createTraceChannel`, one per name."""

    __slots__ = ("_labels", "id", "name", "scopes")

    def __init__(self, name: str, enabled: bool) -> None:
        self.name = name
        self.id = session.declarations.next_id()
        self._labels: dict[str, Scope] = {}
        self.scopes: dict[str, Scope] | None = None
        """Label -> scope; None while the channel is off. Emptied at 65,536 labels."""
        self.enabled = enabled

    @property
    def enabled(self) -> bool:
        """Whether events are recorded."""
        return self.scopes is not None

    @enabled.setter
    def enabled(self, on: bool) -> None:
        with session.lock:
            self.scopes = self._labels if on else None
            for scope in self._labels.values():
                scope.__class__ = Scope if on else SilentScope

    def __repr__(self) -> str:
        return f"TraceChannel({self.name!r}, enabled={self.enabled})"

    def __reduce__(self) -> tuple[Any, ...]:
        return createTraceChannel, (self.name,)

    def scope(self, label: str, metadata: object = None) -> Scope:
        """The scope of a label. Declares it in the file at its first use; with metadata at each use."""
        if metadata is None and label.__class__ is str:
            known = self._labels.get(label)
            if known is not None:
                return known
        check_text(label, LABEL)
        return self._new_scope(label, metadata)

    def _new_scope(self, label: str, metadata: object) -> Scope:
        with session.lock:
            text = None if metadata is None else session.declarations.string_id(as_json(metadata))
            site = session.declarations.next_id()
            session.declarations.declare("add_site", site, self.id, session.declarations.string_id(label), text)
            kind = Scope if self.enabled else SilentScope
            scope = kind(self, label, metadata, site << KIND_BITS)
            if metadata is None:
                if len(self._labels) >= _MOST_LABELS:
                    self._labels.clear()
                self._labels[label] = scope
            return scope

    def declare(self) -> None:
        """Declare the channel and its labels in a new file, with the codes already in use."""
        session.declarations.declare("set_channel", self.id, self.name, self.enabled)
        for label, scope in self._labels.items():
            text = session.declarations.string_id(label)
            session.declarations.declare("add_site", scope.begin_code >> KIND_BITS, self.id, text, None)


class Metadata(str):
    """JSON text attached to an event; made by `createJsonMetadata`."""

    __slots__ = ()


def createJsonMetadata(text: str) -> Metadata:
    """Metadata from JSON text. Raises ValueError when it is not JSON, TypeError when it is no text."""
    import json

    check_text(text, "JSON metadata")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"metadata is not JSON ({error.msg} at character {error.pos}).") from None
    return Metadata(text)


def as_json(metadata: object) -> str:
    """JSON text of metadata given as text or as an object; values that JSON cannot hold become their str, and so does
    an object whose keys or depth it cannot hold."""
    if isinstance(metadata, str):
        return metadata
    import json

    try:
        return json.dumps(metadata, default=str)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(str(metadata))


_channels: dict[str, TraceChannel] = {}


def createTraceChannel(name: str) -> TraceChannel:
    """The channel of that name; the first call makes it. It is enabled unless `PVTI_OPTIONS` excludes it."""
    check_text(name, "the name of a channel")
    channel = _channels.get(name)
    if channel is not None:
        return channel
    with session.lock:
        if name not in _channels:
            on = session.recording and (session.channels is None or name in session.channels)
            _channels[name] = TraceChannel(name, on)
            _channels[name].declare()
        return _channels[name]


def enableTraceChannel(channel: TraceChannel) -> None:
    """Record the channel's events from now on; no effect unless `PVTI_OPTIONS` turned tracing on."""
    _switch(channel, session.recording)


def disableTraceChannel(channel: TraceChannel) -> None:
    """Drop the channel's events from now on. A `with Tracepoint` that has begun still records its end."""
    _switch(channel, False)


def _switch(channel: TraceChannel, enabled: bool) -> None:
    check_channel(channel)
    channel.enabled = enabled
    session.declarations.declare("set_channel", channel.id, channel.name, enabled)


def checkTraceChannel(channel: TraceChannel) -> bool:
    """True while the channel records."""
    check_channel(channel)
    return channel.enabled


def listTraceChannel() -> list[list[object]]:
    """`[name, enabled]` of each channel, in the order of creation."""
    return [[channel.name, channel.enabled] for channel in _channels.values()]


def _switch_all_off() -> None:
    for channel in list(_channels.values()):
        channel.enabled = False


def _declare_all() -> None:
    for channel in _channels.values():
        channel.declare()


session.on_end = _switch_all_off
session.on_fork = _declare_all

traceDrivers = createTraceChannel("Drivers")
"""Predefined: the layer that talks to the device."""
tracePoplar = createTraceChannel("Poplar")
"""Predefined: Poplar itself."""
traceFramework = createTraceChannel("Framework")
"""Predefined: frameworks above Poplar. The channel of SDK 1.4 to 2.0; programs written for these still name it."""


def ThreadName(name: str) -> None:
    """Name the calling thread in the trace. Threads named through `threading` need no call."""
    check_text(name, "the name of a thread")
    threading.current_thread().name = name
