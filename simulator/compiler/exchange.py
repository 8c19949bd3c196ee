"""Exchange: bytes, messages, code and cycles per tile of one set of transfers.

A word sent to several tiles is sent once: what a tile sends is the union of the elements it sends, over receivers. A
receiver that wants a word in two places is sent it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.compiler.arrange import Transfer
from simulator.compiler.bus_sharing import shared_words
from simulator.compiler.element_map import union_in_groups
from simulator.machine import exchange as fabric

I8 = npt.NDArray[np.int64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Exchange:
    """Figures per tile of the device, and the traffic from tile to tile."""

    rx: I8  #: bytes received
    tx: I8  #: bytes sent, a multicast once
    code: I8  #: bytes of exchange code
    cycles: I8
    src: I4  #: message i: `size[i]` bytes from tile `src[i]` to tile `dst[i]`
    dst: I4
    size: I8


@dataclass(frozen=True)
class Exchanges:
    """One set of transfers, split where it crosses IPUs."""

    internal: Exchange | None
    between_ipus: Exchange | None

    def __bool__(self) -> bool:
        return self.internal is not None or self.between_ipus is not None


def plan_exchange(transfer: Transfer, ipu_of_tile: I8, bus_of_tile: I8, rate: float) -> Exchanges:
    """Figures of a set of transfers. IPUs and buses: one entry per tile of the device; `rate` is bytes per cycle."""
    if len(transfer) == 0:
        return Exchanges(None, None)
    crosses = ipu_of_tile[transfer.src] != ipu_of_tile[transfer.dst]
    inside = _figures(_take(transfer, ~crosses), ipu_of_tile, bus_of_tile, rate, False)
    outside = _figures(_take(transfer, crosses), ipu_of_tile, bus_of_tile, rate, True)
    return Exchanges(inside, outside)


def broadcast(source: int, size: int, ipu_of_tile: I8, bus_of_tile: I8, rate: float) -> Exchanges:
    """One tile sends the same `size` bytes to all others."""
    others = np.delete(np.arange(len(ipu_of_tile)), source)
    n = len(others)
    constant = [np.full(n, value, np.int64) for value in (source, 0, size, 1)]
    transfer = Transfer(constant[0], others, constant[1], constant[2], constant[3])
    return plan_exchange(transfer, ipu_of_tile, bus_of_tile, rate)


def _take(transfer: Transfer, keep: npt.NDArray[np.bool_]) -> Transfer:
    if keep.all():
        return transfer
    columns = (transfer.src, transfer.dst, transfer.start, transfer.length, transfer.item_bytes)
    return Transfer(*(column[keep] for column in columns))


def _figures(transfer: Transfer, ipu_of_tile: I8, bus_of_tile: I8, rate: float, between_ipus: bool) -> Exchange | None:
    if len(transfer) == 0:
        return None
    tiles = len(ipu_of_tile)
    size = transfer.bytes
    rx = _sum(transfer.dst, size, tiles)
    rx_words = _sum(transfer.dst, fabric.words(size), tiles)
    rx_runs = np.bincount(transfer.dst, minlength=tiles)
    sender, run_bytes = _sent_once(transfer)
    tx = _sum(sender, run_bytes, tiles)
    run_words = fabric.words(run_bytes)
    tx_words = _sum(sender, run_words, tiles)
    tx_runs = _sum(sender, -(-run_words // fabric.MAX_WORDS_PER_SEND), tiles)
    if between_ipus:
        cycles = fabric.global_exchange_cycles(np.maximum(rx, tx), ipu_of_tile)
    else:
        # Two tiles of a bus that receive the same take it together, in half the time.
        cycles = fabric.exchange_cycles(rx_words - shared_words(transfer, bus_of_tile) // 2, tx_words, rate)
    code = fabric.exchange_code_bytes(rx_runs, tx_runs)
    pair, inverse = np.unique(transfer.src * tiles + transfer.dst, return_inverse=True)
    volume = np.bincount(inverse, weights=size).astype(np.int64)
    return Exchange(rx, tx, code, cycles, (pair // tiles).astype(np.int32), (pair % tiles).astype(np.int32), volume)


def _sent_once(transfer: Transfer) -> tuple[I8, I8]:
    """(sender, bytes) of each run after merging what goes to several receivers. Items of different size are never
    in one run: a run lies within one variable."""
    span = int((transfer.start + transfer.length).max())
    wide = int(transfer.item_bytes.max()) + 1
    src, item_bytes, start, length, time = _sendings(transfer)
    group = (time * (int(src.max()) + 1) + src) * wide + item_bytes
    owner, _, length = union_in_groups(group, start, length, span)
    return owner // wide % (int(src.max()) + 1), length * (owner % wide)


def _sendings(transfer: Transfer) -> tuple[I8, I8, I8, I8, I8]:
    """(src, item bytes, start, length, time) of disjoint stretches per receiver: a tile that wants an element in two
    places is sent it twice, at times 0 and 1, because what it receives goes to one place.

    The slow way: for each receiver count how often it wants each element, n; the element is sent at times 0 .. n - 1.
    Counts change only where a run begins or ends, so stretches between these moments stand for their elements."""
    width = int((transfer.start + transfer.length).max()) + 1
    pair = transfer.src * (int(transfer.dst.max()) + 1) + transfer.dst
    place = pair * width + transfer.start
    order = np.argsort(place, kind="stable")
    ends = np.maximum.accumulate(place[order] + transfer.length[order])
    if (place[order][1:] >= ends[:-1]).all():  # no tile wants an element twice
        once = np.zeros(len(transfer), np.int64)
        return transfer.src, transfer.item_bytes, transfer.start, transfer.length, once
    n = len(transfer)
    # At one moment ends come before begins: the last begin then tells whose elements follow.
    moments = np.concatenate([(place + transfer.length) * 2, place * 2 + 1])
    order = np.argsort(moments, kind="stable")
    wanted = np.cumsum(np.where(order < n, -1, 1))
    begun = np.maximum.accumulate(np.where(order >= n, np.arange(2 * n), 0))
    run = order[begun] - n
    at = moments[order] // 2
    until = np.append(at[1:], at[-1])
    kept = (wanted > 0) & (until > at)
    times = wanted[kept]
    time = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    columns = (transfer.src[run[kept]], transfer.item_bytes[run[kept]], at[kept] % width, (until - at)[kept])
    src, item_bytes, start, length = (np.repeat(column, times) for column in columns)
    return src, item_bytes, start, length, time


def _sum(tile: I8, value: I8, tiles: int) -> I8:
    return np.bincount(tile, weights=value, minlength=tiles).astype(np.int64)
