"""Exchange: bytes, messages, code and cycles per tile of one set of transfers.

A word sent to several tiles is sent once: what a tile sends is the union of the elements it sends, over receivers. A
receiver that wants a word in two places is sent it twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int32Array, Int64Array
from simulator.compiler.exchange.bus_sharing import received_by_both
from simulator.compiler.exchange.grouped_sums import sums_by_key
from simulator.compiler.exchange.latency import Stage, way_of
from simulator.compiler.exchange.whole_runs import whole_runs
from simulator.compiler.lowering.arrange import Transfer
from simulator.compiler.lowering.element_map import union_in_groups
from simulator.machine import exchange as fabric
from simulator.machine.links import Links
from simulator.machine.targets import MK2


@dataclass(frozen=True)
class Sendings:
    """Row i: tile `src[i]` sends `size[i]` bytes that go to `receivers[i]` tiles each. Sorted, each pair once."""

    src: Int32Array
    receivers: Int32Array
    size: Int64Array


@dataclass(frozen=True)
class Moving:
    """What the cycles of an exchange within an IPU are made of; per tile, in cycles. See `fabric.exchange_cycles`."""

    received: Int32Array
    sent: Int32Array
    nearest: Int32Array
    latest: Int32Array


@dataclass(frozen=True)
class Exchange:
    """Figures per tile of the device, and the traffic from tile to tile."""

    rx: Int64Array  #: bytes received
    tx: Int64Array  #: bytes sent, a multicast once
    code: Int64Array  #: bytes of exchange code
    cycles: Int64Array
    sendings: Sendings
    src: Int32Array  #: message i: `size[i]` bytes from tile `src[i]` to tile `dst[i]`
    dst: Int32Array
    size: Int64Array
    rx_runs: Int64Array  #: contiguous runs received
    moving: Moving | None = None  #: None between IPUs


@dataclass(frozen=True)
class Exchanges:
    """One set of transfers, split where it crosses IPUs."""

    internal: Exchange | None
    between_ipus: Exchange | None

    def __bool__(self) -> bool:
        return self.internal is not None or self.between_ipus is not None


def plan_exchange(
    transfer: Transfer,
    ipu_of_tile: Int64Array,
    bus_of_tile: Int64Array,
    rate: float,
    stage: Stage | None = None,
    links: Links | None = None,
) -> Exchanges:
    """Figures of a set of transfers. IPUs, buses and stage: one entry per tile of the device, no stage = all tiles
    are neighbours; `rate` is bytes per cycle; no links = those of a Mk2 device."""
    if len(transfer) == 0:
        return Exchanges(None, None)
    tiles = len(ipu_of_tile)
    crosses = ipu_of_tile[transfer.src] != ipu_of_tile[transfer.dst]
    own = transfer.src == transfer.dst  # rides along (arrange_copies): takes time, but is no traffic between tiles
    passing = _take(transfer, ~crosses)
    between = links or Links(int(ipu_of_tile[-1]) + 1, MK2.clock_hz)

    def within_ipu(t: Transfer, sent: _Sent) -> tuple[Int64Array, Moving]:
        words = sent.words + _sum(transfer.src[own], fabric.words(transfer.bytes[own]), tiles)
        return _within_ipu(passing, bus_of_tile, words, rate, stage)

    def over_links(t: Transfer, sent: _Sent) -> tuple[Int64Array, None]:
        busiest = _busiest_tile(t, sent, ipu_of_tile, rate)
        cycles = between.exchange_cycles(ipu_of_tile[t.src], ipu_of_tile[t.dst], t.bytes, busiest)
        return _of_those_concerned(cycles[ipu_of_tile], t), None

    return Exchanges(
        _figures(_take(transfer, ~crosses & ~own), tiles, within_ipu),
        _figures(_take(transfer, crosses), tiles, over_links),
    )


def plan_between_replicas(transfer: Transfer, ipu_of_tile: Int64Array, links: Links) -> Exchange | None:
    """Figures of a set of transfers to another replica, which is on other IPUs: all of them use the links."""

    def over_links(t: Transfer, sent: _Sent) -> tuple[Int64Array, None]:
        received = np.bincount(ipu_of_tile[t.dst], weights=t.bytes, minlength=links.ipus)
        given = np.bincount(ipu_of_tile[t.src], weights=t.bytes, minlength=links.ipus)
        busiest = _busiest_tile(t, sent, ipu_of_tile, fabric.WORD_BYTES)
        cycles = links.replica_cycles(np.maximum(received, given).astype(np.int64), busiest)
        return _of_those_concerned(cycles[ipu_of_tile], t), None

    return _figures(transfer, len(ipu_of_tile), over_links)


def _busiest_tile(transfer: Transfer, sent: _Sent, ipu_of_tile: Int64Array, rate: float) -> Int64Array:
    """Per IPU the cycles that one of its tiles needs to send or receive its words."""
    received = _sum(transfer.dst, fabric.words(transfer.bytes), len(ipu_of_tile))
    busiest = np.zeros(int(ipu_of_tile[-1]) + 1, np.int64)
    np.maximum.at(busiest, ipu_of_tile, fabric.moving_cycles(np.maximum(received, sent.words), rate))
    return busiest


def _of_those_concerned(cycles: Int64Array, transfer: Transfer) -> Int64Array:
    """The cycles of tiles that send or receive, 0 of the others."""
    concerned = np.zeros(len(cycles), np.bool_)
    concerned[transfer.src] = concerned[transfer.dst] = True
    return np.asarray(np.where(concerned, cycles, 0), dtype=np.int64)


def broadcast(
    source: int, size: int, ipu_of_tile: Int64Array, bus_of_tile: Int64Array, rate: float, stage: Stage | None = None
) -> Exchanges:
    """Tile `source` of each IPU sends the same `size` bytes to all others of that IPU."""
    tiles = np.arange(len(ipu_of_tile))
    first = np.searchsorted(ipu_of_tile, ipu_of_tile) + source
    others = np.flatnonzero(tiles != first)
    constant = [np.full(len(others), value, np.int64) for value in (0, size, 1)]
    transfer = Transfer(first[others], others, constant[0], constant[1], constant[2])
    return plan_exchange(transfer, ipu_of_tile, bus_of_tile, rate, stage)


def _take(transfer: Transfer, keep: BoolArray) -> Transfer:
    if keep.all():
        return transfer
    columns = (transfer.src, transfer.dst, transfer.start, transfer.length, transfer.item_bytes)
    return Transfer(*(column[keep] for column in columns))


@dataclass(frozen=True)
class _Sent:
    """What each tile sends, a multicast once."""

    bytes: Int64Array
    words: Int64Array
    runs: Int64Array


_Time = Callable[[Transfer, _Sent], tuple[Int64Array, Moving | None]]
"""The cycles per tile of an exchange, and what they are made of"""


def _figures(transfer: Transfer, tiles: int, time: _Time) -> Exchange | None:
    if len(transfer) == 0:
        return None
    rx = _sum(transfer.dst, transfer.bytes, tiles)
    rx_runs = np.bincount(transfer.dst, minlength=tiles)
    sender, run_bytes, sendings = _sent(transfer)
    run_words = fabric.words(run_bytes)
    sends = -(-run_words // fabric.MAX_WORDS_PER_SEND)
    sent = _Sent(*(_sum(sender, column, tiles) for column in (run_bytes, run_words, sends)))
    cycles, moving = time(transfer, sent)
    code = fabric.exchange_code_bytes(rx_runs, sent.runs)
    pair, volume = sums_by_key(transfer.src * tiles + transfer.dst, transfer.bytes)
    src, dst = (pair // tiles).astype(np.int32), (pair % tiles).astype(np.int32)
    return Exchange(rx, sent.bytes, code, cycles, sendings, src, dst, volume, rx_runs, moving)


def _within_ipu(
    transfer: Transfer, bus_of_tile: Int64Array, tx_words: Int64Array, rate: float, stage: Stage | None
) -> tuple[Int64Array, Moving]:
    """Cycles per tile, and what they are made of. Two tiles of a bus that receive the same take it together, in half
    the time."""
    tiles = len(bus_of_tile)
    passing = np.where(received_by_both(transfer, bus_of_tile), 1, 2) * fabric.words(transfer.bytes)
    received = -(-_sum(transfer.dst, passing, tiles) // 2)
    none = np.zeros(tiles, np.int64)
    way = fabric.Way(none, none, none)
    if stage is not None:
        way = way_of(transfer.src, transfer.dst, -(-passing // 2), stage, rate)
    columns = (fabric.moving_cycles(received, rate), fabric.moving_cycles(tx_words, rate), way.nearest, way.latest)
    cycles = fabric.exchange_cycles(received, tx_words, rate, way)
    return cycles, Moving(*(column.astype(np.int32) for column in columns))


def _sent(transfer: Transfer) -> tuple[Int64Array, Int64Array, Sendings]:
    """(sender, bytes) of each run that is sent, a multicast once, and the bytes by number of receivers."""
    whole = whole_runs(transfer)
    if whole is None:
        stretches = _stretches(transfer)
        return *_sent_once(stretches), _by_receivers(stretches)
    return *whole.joined(), _sendings(whole.sender, whole.receivers, whole.length * whole.item_bytes)


def _sendings(sender: Int64Array, receivers: Int64Array, size: Int64Array) -> Sendings:
    most = int(receivers.max()) + 1
    key, total = sums_by_key(sender * most + receivers, size)
    return Sendings((key // most).astype(np.int32), (key % most).astype(np.int32), total)


@dataclass(frozen=True)
class _Stretches:
    """Elements that a tile sends, one row per receiver. Rows of one group have sender, item size and time in common;
    within a group no receiver gets an element twice."""

    group: Int64Array
    start: Int64Array
    length: Int64Array
    senders: int  #: one more than the last sender
    wide: int  #: one more than the largest item size
    span: int  #: exceeds every end

    def sender(self, group: Int64Array) -> Int64Array:
        return group // self.wide % self.senders

    def item_bytes(self, group: Int64Array) -> Int64Array:
        return group % self.wide


def _sent_once(stretches: _Stretches) -> tuple[Int64Array, Int64Array]:
    """(sender, bytes) of each run after merging what goes to several receivers. Items of different size are never
    in one run: a run lies within one variable."""
    group, _, length = union_in_groups(stretches.group, stretches.start, stretches.length, stretches.span)
    return stretches.sender(group), length * stretches.item_bytes(group)


def _by_receivers(stretches: _Stretches) -> Sendings:
    """Bytes of each sender by the number of tiles that get them: at every element, how many rows of its group."""
    width = stretches.span + 1
    place = stretches.group * width + stretches.start
    n = len(place)
    moments = np.concatenate([place + stretches.length, place])
    order = np.argsort(moments, kind="stable")
    receivers = np.cumsum(np.where(order < n, -1, 1))[:-1]
    extent = np.diff(moments[order])
    kept = (receivers > 0) & (extent > 0)
    group = moments[order][:-1][kept] // width
    return _sendings(stretches.sender(group), receivers[kept], extent[kept] * stretches.item_bytes(group))


def _stretches(transfer: Transfer) -> _Stretches:
    senders, wide = int(transfer.src.max()) + 1, int(transfer.item_bytes.max()) + 1
    span = int((transfer.start + transfer.length).max())
    src, item_bytes, start, length, time = _sent_apart(transfer)
    return _Stretches((time * senders + src) * wide + item_bytes, start, length, senders, wide, span)


def _sent_apart(transfer: Transfer) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
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


def _sum(tile: Int64Array, value: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=value, minlength=tiles).astype(np.int64)
