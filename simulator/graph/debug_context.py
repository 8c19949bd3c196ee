"""Debug contexts: names, parents and source lines of graph objects.

Every creation takes a `DebugContext` (or a plain name) and leaves one record in the graph: its name, the layer that
made it, its parent record and the file and line of the user's call. The line comes from one walk over the frames,
without traceback objects: about 0.5 us (measured), where making a variable or program takes several, so it is always
on. Vertices have no record; they belong to the record of their compute set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.base.errors import graph_object_creation_error
from simulator.base.user_files import is_users
from simulator.base.wrong_arguments import constructor_checks_arguments

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


@dataclass(frozen=True)
class SourceLocation:
    file: str
    line: int


UNKNOWN_PLACE = SourceLocation("", 0)

#: Answers for a program that is not written in Python (native/): the line whose call runs, or `UNKNOWN_PLACE`.
host_place: Callable[[], SourceLocation] | None = None

#: where all objects are said to come from while `created_at` holds, the last one first
_places: list[SourceLocation] = []


@contextmanager
def created_at(location: SourceLocation) -> Iterator[None]:
    """Say that all objects made inside come from `location`: for front ends, which build a graph long after the user's
    line ran. For one thread at a time."""
    _places.append(location)
    try:
        yield
    finally:
        _places.pop()


#: the record that objects without a parent go below while `belonging_to` holds, the last one first
_owners: list[DebugInfo | None] = []


@contextmanager
def belonging_to(info: DebugInfo | None) -> Iterator[None]:
    """Put the record of all objects made inside below `info` (None: below nothing) unless they have a parent of their
    own; their names stay as they are. For front ends, and for one thread at a time."""
    _owners.append(info)
    try:
        yield
    finally:
        _owners.pop()


def user_location() -> SourceLocation:
    """The innermost frame of the user's own code: outside the simulator, installed packages and Python itself; the
    place that `created_at` names, if any; in a program in another language what `host_place` answers."""
    if _places:
        return _places[-1]
    frame = sys._getframe(1)
    while frame.f_back is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    if host_place is not None and not is_users(frame.f_code.co_filename):
        return host_place()
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)


@dataclass
class DebugInfo:
    """One record of a graph, usable as the parent of further contexts. Made by `Graph.addDebugInfo`."""

    store: GraphStore
    id: int

    def getPathName(self) -> str:
        return str(self.store.debug_infos[self.id]["name"])

    def setValue(self, name: str, value: Any) -> None:
        """Store an argument or output under `name` in the record."""
        self.store.debug_infos[self.id]["arguments"][name] = value

    def setOutputs(self, **outputs: Any) -> None:
        self.store.debug_infos[self.id]["outputs"].update(outputs)


@constructor_checks_arguments
@dataclass(frozen=True)
class DebugNameAndId:
    """A name below a parent record."""

    name: str = ""
    parent: DebugInfo | None = None


class DebugContext:
    """A name, an optional parent and the place in the user's source."""

    __slots__ = ("location", "name", "owner", "parent")

    def __init__(
        self,
        name: str | DebugInfo | DebugNameAndId = "",
        parent: DebugInfo | DebugNameAndId | None = None,
        location: SourceLocation | None = None,
    ) -> None:
        own, above = (name, parent) if isinstance(name, str) else ("", name)
        if above is not None and not isinstance(above, DebugInfo | DebugNameAndId):
            raise graph_object_creation_error(
                f"{above!r} is not a debug context; give a name, a DebugContext, a DebugInfo or a pair (info, name)."
            )
        if isinstance(above, DebugNameAndId):
            own = "/".join(part for part in (above.name, own) if part)
            above = above.parent
        if location is not None and not isinstance(location, SourceLocation):
            raise graph_object_creation_error(f"{location!r:.60} is not a SourceLocation; give its file and line.")
        self.name = own
        self.parent = above
        self.owner = _owners[-1] if _owners else None  #: what it belongs to where it has no parent
        self.location = location or user_location()

    def getPathName(self) -> str:
        """The names from the outermost parent to this one, joined by slashes."""
        above = self.parent.getPathName() if self.parent is not None else ""
        return "/".join(part for part in (above, self.name) if part)


Context = str | DebugContext | DebugInfo | DebugNameAndId | tuple[DebugInfo, str]
"""What may be given where Poplar takes a DebugContext."""


def as_context(value: Context | None) -> DebugContext:
    """`value` as a `DebugContext`; a pair (DebugInfo, name) is a name below that record."""
    if isinstance(value, DebugContext):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return DebugContext(value[1], value[0])
    return DebugContext("" if value is None else value)


def record(
    store: GraphStore,
    context: DebugContext,
    category: str,
    layer: str = "poplar",
    arguments: dict[str, Any] | None = None,
) -> int:
    """Append a record for an object of this category ("variable", "computeset", "program", ...); returns its id."""
    infos = store.debug_infos
    parent = context.parent or context.owner
    infos.append(
        {
            "id": len(infos),
            "parentId": -1 if parent is None else parent.id,
            "layer": layer,
            "category": category,
            "name": context.getPathName(),
            "file": context.location.file,
            "line": context.location.line,
            "arguments": arguments or {},
            "outputs": {},
        }
    )
    return len(infos) - 1
