"""Plan exchanges: bytes, messages, code and cycles per tile of one set of transfers.

A word sent to several tiles is sent once (`multicast`). Two tiles share an exchange bus that is 8 bytes wide
(`simulator.machine.physical_tiles` says which). When both receive the same run of elements from the same sender, it
arrives at 8 bytes a cycle, in half the time (published-numbers 7.7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.exchange.multicast import sent_runs
from simulator.compiler.ir.exchanges import Exchange, Exchanges, Moving
from simulator.compiler.ir.grouping import in_order, sums_by_key
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.transfers import Arrivals, LocalCopy, Transfer, separate_arrivals
from simulator.compiler.machine import Stage
from simulator.machine import exchange as fabric
from simulator.machine.exchange_code import optimised_exchange
from simulator.machine.links import Links
from simulator.machine.targets import MK2


def plan_exchange(
    transfer: Transfer,
    ipu_of_tile: Int64Array,
    bus_of_tile: Int64Array,
    rate: float,
    stage: Stage | None = None,
    links: Links | None = None,
    arrivals: Arrivals | None = None,
) -> Exchanges:
    """Plan a set of transfers. IPUs, buses and stage have one entry per tile of the device; `rate` is in bytes per
    cycle. Defaults: all tiles are neighbours; the links of a Mk2 device; every row is a fragment of its own."""
    if len(transfer) == 0:
        return Exchanges(None, None)
    arrivals = arrivals or separate_arrivals(transfer)
    tiles = len(ipu_of_tile)
    crosses = ipu_of_tile[transfer.src] != ipu_of_tile[transfer.dst]
    own = transfer.src == transfer.dst  # added by arrange_copies: takes time, but is no traffic between tiles
    passing, arriving = transfer.take(~crosses), arrivals.take(~crosses)
    between = links or Links(int(ipu_of_tile[-1]) + 1, MK2.clock_hz)

    def within_ipu(t: Transfer, sent: _Sent) -> tuple[Int64Array, Moving]:
        words = sent.words + _sum(transfer.src[own], arrivals.words[own], tiles)
        return _within_ipu(passing, arriving, bus_of_tile, words, sent, rate, stage)

    def over_links(t: Transfer, sent: _Sent) -> tuple[Int64Array, None]:
        busiest = _busiest_tile(t, sent, ipu_of_tile, rate)
        cycles = between.exchange_cycles(ipu_of_tile[t.src], ipu_of_tile[t.dst], t.bytes, busiest)
        return _where_taking_part(cycles[ipu_of_tile], t), None

    return Exchanges(
        exchange_figures(transfer.take(~crosses & ~own), tiles, within_ipu, arrivals.take(~crosses & ~own)),
        exchange_figures(transfer.take(crosses), tiles, over_links),
    )


def plan_between_replicas(transfer: Transfer, ipu_of_tile: Int64Array, links: Links) -> Exchange | None:
    """Plan transfers to another replica. It has other IPUs, so all transfers use the links."""

    def over_links(t: Transfer, sent: _Sent) -> tuple[Int64Array, None]:
        received = np.bincount(ipu_of_tile[t.dst], weights=t.bytes, minlength=links.ipus)
        given = np.bincount(ipu_of_tile[t.src], weights=t.bytes, minlength=links.ipus)
        busiest = _busiest_tile(t, sent, ipu_of_tile, fabric.WORD_BYTES)
        cycles = links.replica_cycles(np.maximum(received, given).astype(np.int64), busiest)
        return _where_taking_part(cycles[ipu_of_tile], t), None

    return exchange_figures(transfer, len(ipu_of_tile), over_links)


def _busiest_tile(transfer: Transfer, sent: _Sent, ipu_of_tile: Int64Array, rate: float) -> Int64Array:
    """Per IPU the cycles that one of its tiles needs to send or receive its words."""
    received = _sum(transfer.dst, fabric.words(transfer.bytes), len(ipu_of_tile))
    busiest = np.zeros(int(ipu_of_tile[-1]) + 1, np.int64)
    np.maximum.at(busiest, ipu_of_tile, fabric.moving_cycles(np.maximum(received, sent.words), rate))
    return busiest


def _where_taking_part(cycles: Int64Array, transfer: Transfer) -> Int64Array:
    """The cycles of tiles that send or receive; 0 for the others."""
    takes_part = np.zeros(len(cycles), np.bool_)
    takes_part[transfer.src] = takes_part[transfer.dst] = True
    return np.asarray(np.where(takes_part, cycles, 0), dtype=np.int64)


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


@dataclass(frozen=True)
class _Sent:
    """Totals that each tile sends; a multicast counts once. `fragments`: those that each tile receives."""

    bytes: Int64Array
    words: Int64Array
    runs: Int64Array
    fragments: Int64Array


_Time = Callable[[Transfer, _Sent], tuple[Int64Array, Moving | None]]
"""Computes the cycles per tile of an exchange, and their parts."""


def exchange_figures(transfer: Transfer, tiles: int, time: _Time, arrivals: Arrivals | None = None) -> Exchange | None:
    """The figures of a set of transfers on `tiles` tiles; None for an empty set."""
    if len(transfer) == 0:
        return None
    arrivals = arrivals or separate_arrivals(transfer)
    rx = _sum(transfer.dst, transfer.bytes, tiles)
    rx_fragments = np.bincount(transfer.dst[arrivals.begins], minlength=tiles)
    sender, run_bytes, run_words, sendings = sent_runs(transfer, arrivals.words)
    sends = -(-run_words // fabric.MAX_WORDS_PER_SEND)
    sent = _Sent(
        _sum(sender, run_bytes, tiles), _sum(sender, run_words, tiles), _sum(sender, sends, tiles), rx_fragments
    )
    cycles, moving = time(transfer, sent)
    code = fabric.exchange_code_bytes(rx_fragments, sent.runs)
    pair, volume = sums_by_key(transfer.src * tiles + transfer.dst, transfer.bytes)
    src, dst = (pair // tiles).astype(np.int32), (pair % tiles).astype(np.int32)
    return Exchange(rx, sent.bytes, code, cycles, sendings, src, dst, volume, rx_fragments, moving)


def _within_ipu(
    transfer: Transfer,
    arrivals: Arrivals,
    bus_of_tile: Int64Array,
    tx_words: Int64Array,
    sent: _Sent,
    rate: float,
    stage: Stage | None,
) -> tuple[Int64Array, Moving]:
    """Cycles per tile, and their parts."""
    tiles = len(bus_of_tile)
    passing = np.where(received_by_both(transfer, bus_of_tile), 1, 2) * arrivals.words
    received = -(-_sum(transfer.dst, passing, tiles) // 2)
    none = np.zeros(tiles, np.int64)
    way = fabric.Way(none, none, none)
    if stage is not None:
        way = way_of(transfer.src, transfer.dst, -(-passing // 2), stage, rate)
    instructions = fabric.instructions(sent.fragments, sent.runs)
    columns = (
        fabric.moving_cycles(received, rate),
        fabric.moving_cycles(tx_words, rate),
        way.nearest,
        way.latest,
        instructions,
    )
    cycles = fabric.exchange_cycles(received, tx_words, rate, way, instructions)
    return cycles, Moving(*(column.astype(np.int32) for column in columns))


def _sum(tile: Int64Array, value: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=value, minlength=tiles).astype(np.int64)


def way_of(
    src: Int64Array, dst: Int64Array, words: Int64Array, stage: Stage, rate: float = float(fabric.WORD_BYTES)
) -> fabric.Way:
    """The cycles that distance adds at each receiving tile. Row i: a run of `words[i]` words from tile `src[i]` to tile
    `dst[i]` at `rate` bytes a cycle. The runs of a pair of tiles are one message."""
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


def received_by_both(transfer: Transfer, bus_of_tile: Int64Array) -> BoolArray:
    """Flag the rows whose run goes from the same sender to both tiles of a bus."""
    both = np.zeros(len(transfer), np.bool_)
    if len(transfer) < 2:
        return both
    first, second = _equal_starts(transfer, bus_of_tile[transfer.dst])
    same = transfer.dst[first] != transfer.dst[second]
    for column in (transfer.src, transfer.length, transfer.item_bytes):
        same &= column[first] == column[second]
    both[first[same]] = both[second[same]] = True
    return both


def _equal_starts(transfer: Transfer, bus: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Pairs of rows (first, second) on one bus that begin at the same element; equal runs are always paired.

    One sort by bus and element pairs them where no bus gets more than two runs from one element, as in nearly all
    exchanges. Others are sorted by five keys."""
    place = bus * (int(transfer.start.max()) + 1) + transfer.start
    order, ordered = in_order(place)
    if (ordered[2:] == ordered[:-2]).any():
        order = np.lexsort((transfer.dst, transfer.length, transfer.start, transfer.src, bus))
        ordered = place[order]
    beside = np.flatnonzero(ordered[1:] == ordered[:-1])
    return order[beside], order[beside + 1]


def packet_copy(exchange: Exchange, transfer: Transfer, crosses: BoolArray) -> LocalCopy:
    """GlobalPre: the copy that fills the packet buffers before an exchange between IPUs.

    The links take packets: consecutive bytes behind a header. Variables are not consecutive and have no room for
    headers, so senders copy into buffers; receivers need none, because packets carry addresses (poplar-model 3.2.5).
    The copy moves all bytes that a tile sends, from as many runs of memory as the `crosses` rows begin; a run that goes
    to several tiles counts once."""
    runs = np.unique(np.stack([transfer.src[crosses], transfer.start[crosses]]), axis=1)[0]
    count = np.bincount(runs, minlength=len(exchange.tx)).astype(np.int64)
    return LocalCopy(exchange.tx, count, exchange.tx)


def optimise_exchanges(table: ProgramTable, target: str) -> None:
    """Apply opt.internalExchangeOptimisationTarget: change code and cycles of every exchange within an IPU. Programs
    that share an exchange go on sharing it."""
    if target == "cycles":
        return
    done: dict[int, tuple[Exchange, Exchange]] = {}  # the first keeps ids unique while they are keys
    for type_, work in zip(table.type, table.work, strict=True):
        if type_ != "DoExchange" or work.exchange is None:
            continue
        e = work.exchange
        if id(e) not in done:
            code, cycles = optimised_exchange(target, e.code, e.cycles, e.rx_fragments)
            done[id(e)] = (e, replace(e, code=code, cycles=cycles))
        work.exchange = done[id(e)][1]
        work.cycles = work.exchange.cycles
