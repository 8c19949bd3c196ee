"""Programs that move values, in the numeric plan: between replicas, and between device and host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.graph import program as host

if TYPE_CHECKING:
    from simulator.runtime.values.arena import Arena, Place
    from simulator.runtime.values.host_side import Action, HostSide, Leaf, Step


def between_replicas(source: Place, destination: Place, replica_map: Sequence[int]) -> Step:
    """Copy between replicas. All send before any receives, because source and destination may share arena memory."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        def run() -> None:
            sent = [arena.read(source).copy() for arena in arenas]
            for values, to in zip(sent, replica_map, strict=True):
                arenas[to].write(destination, values)

        return run

    return bind


def broadcast(handle: str, place: Place) -> Step:
    """One transfer from the host to all replicas."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        count = int(np.prod(place.shape))

        def run() -> None:
            values = np.empty(count, place.dtype)
            side.read_stream(handle, 0, values)
            for arena in arenas:
                arena.write(place, values)

        return run

    return bind


def printed(title: str, place: Place, form: host.PrintTensorFmt) -> Leaf:
    return lambda arena, side: lambda: side.print_tensor(title, arena.replica, arena.read(place), form)


def from_stream(handle: str, place: Place) -> Leaf:
    def bind(arena: Arena, side: HostSide) -> Action:
        count = int(np.prod(place.shape))

        def run() -> None:
            values = np.empty(count, place.dtype)
            side.read_stream(handle, arena.replica, values)
            arena.write(place, values)

        return run

    return bind


def to_stream(place: Place, handle: str) -> Leaf:
    return lambda arena, side: (
        lambda: side.write_stream(handle, arena.replica, np.ascontiguousarray(arena.read(place)).reshape(-1))
    )


def _rows(arena: Arena, offset: Place | None) -> list[int]:
    return [0] if offset is None else [int(row) for row in arena.read(offset).reshape(-1)]


def from_rows(handle: str, offset: Place | None, place: Place) -> Leaf:
    return lambda arena, side: lambda: arena.write(place, side.read_rows(handle, arena.replica, _rows(arena, offset)))


def to_rows(handle: str, offset: Place | None, place: Place) -> Leaf:
    return lambda arena, side: (
        lambda: side.write_rows(handle, arena.replica, _rows(arena, offset), np.ascontiguousarray(arena.read(place)))
    )


def host_call(handle: str, inputs: Sequence[Place], outputs: Sequence[Place]) -> Leaf:
    """Call a host function with `inputs`; its results go to `outputs`."""

    def bind(arena: Arena, side: HostSide) -> Action:
        def run() -> None:
            given = [np.ascontiguousarray(arena.read(p)).reshape(-1) for p in inputs]
            for place, values in zip(outputs, side.call_host_function(handle, arena.replica, given), strict=True):
                arena.write(place, values)

        return run

    return bind


def metadata_from_stream(handle: str, place: Place) -> Step:
    """Store the metadata of a QUARTER transfer from the host, one byte per replica."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        def run() -> None:
            for arena in arenas:
                arena.write(place, np.array(side.get_metadata(handle, arena.replica), np.uint8))

        return run

    return bind


def metadata_to_stream(handle: str, place: Place) -> Step:
    """Send the metadata of a QUARTER tensor to the host, before its data."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        def run() -> None:
            for arena in arenas:
                side.put_metadata(handle, arena.replica, int(arena.read(place)))

        return run

    return bind
