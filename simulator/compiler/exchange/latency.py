"""How far the messages of an exchange travel: what distance adds to the cycles of each tile that receives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.exchange.grouped_sums import sums_by_key
from simulator.machine import exchange as fabric
from simulator.machine.physical_tiles import Places


@dataclass(frozen=True)
class Stage:
    """Where the tiles of the device lie, and by how many cycles each leaves a sync before the last one."""

    places: Places
    lead: Int64Array


def way_of(
    src: Int64Array, dst: Int64Array, words: Int64Array, stage: Stage, rate: float = float(fabric.WORD_BYTES)
) -> fabric.Way:
    """How far the words of an exchange travel. Row i of the arguments: a run of `words[i]` words from tile `src[i]` to
    tile `dst[i]` at `rate` bytes a cycle; the runs of a pair of tiles are one message."""
    tiles = len(stage.lead)
    far = np.iinfo(np.int64).max
    nearest, latest = np.full(tiles, far), np.zeros(tiles, np.int64)
    pair, total = sums_by_key(src * tiles + dst, words)
    message = fabric.moving_cycles(total, rate)
    sender, receiver = np.divmod(pair, tiles)
    distance = fabric.distance_cycles(stage.places.take(sender), stage.places.take(receiver))
    np.minimum.at(nearest, receiver, distance)
    np.maximum.at(latest, receiver, distance + message)
    nearest[nearest == far] = 0
    return fabric.Way(nearest, latest, stage.lead)
