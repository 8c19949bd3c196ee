"""The metadata of QUARTER tensors that streams move: one byte beside the transfer, in each replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.runtime.values.arena import Arena, Place

if TYPE_CHECKING:
    from simulator.runtime.host.host_side import Action, HostSide, Step


def metadata_from_stream(handle: str, place: Place) -> Step:
    """The metadata of a transfer to the device becomes that of the tensor."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        def run() -> None:
            for arena in arenas:
                arena.write(place, np.array(side.get_metadata(handle, arena.replica), np.uint8))

        return run

    return bind


def metadata_to_stream(handle: str, place: Place) -> Step:
    """The metadata of the tensor goes to the host before its data."""

    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        def run() -> None:
            for arena in arenas:
                side.put_metadata(handle, arena.replica, int(arena.read(place)))

        return run

    return bind
