"""Keys of several host traces in one timeline: `<key>+<key>[+<key>...][@<alignment>]`.

The alignment is absolute time without `@`, the first events with `@first`, and with `@<thread>.<depth>.<position>` an
event: that event (threads counted over all files, depth i for an instant) and those with its label, channel and number
in the other files coincide. Such a key stands wherever the key of a trace stands, so a page of several files is a page
like any other. Keys of single files have neither `+` nor `@`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.base.query import whole_number

#: Files of one timeline.
MOST_FILES = 64


@dataclass(frozen=True)
class JointKey:
    """Keys of the traces, in the order of their rows; `event` is (thread, depth, position), depth -1 an instant."""

    keys: tuple[str, ...]
    mode: str = "absolute"
    event: tuple[int, int, int] | None = None


def parse_joint_key(key: str) -> JointKey | None:
    """The parts of a key; None for the key of a single file and for what is no such key."""
    names, at, alignment = key.partition("@")
    keys = tuple(names.split("+"))
    if not 2 <= len(keys) <= MOST_FILES or len(set(keys)) < len(keys) or not all(keys):
        return None
    if not at or alignment == "first":
        return JointKey(keys, "first" if at else "absolute")
    event = parse_event(alignment)
    return None if event is None else JointKey(keys, "event", event)


def joint_key(keys: Sequence[str], alignment: str = "") -> str:
    """The key of some traces; of one trace its own."""
    return "+".join(keys) + (f"@{alignment}" if alignment and len(keys) > 1 else "")


def alignment_of(key: str) -> str:
    """What follows `@` in a key: "", "first" or an event."""
    return key.partition("@")[2]


def trace_keys(key: str) -> tuple[str, ...]:
    """The keys of the files of a trace."""
    joint = parse_joint_key(key)
    return (key,) if joint is None else joint.keys


def parse_event(text: str) -> tuple[int, int, int] | None:
    """ "2.0.17" -> (2, 0, 17); "2.i.3" -> (2, -1, 3); None for other texts."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    thread, position = whole_number(parts[0]), whole_number(parts[2])
    depth = -1 if parts[1] == "i" else whole_number(parts[1])
    return None if thread is None or depth is None or position is None else (thread, depth, position)
