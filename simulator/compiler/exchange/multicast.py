"""Bytes that each tile sends, a multicast once: the union of its sent elements over receivers.

In nearly all exchanges any two rows of a sender are the same run, for different tiles, or have no element in common;
one sort then counts the receivers of each run. Rows that overlap in part, or go to one tile twice, are cut into
stretches with the same receivers. A receiver that wants a word in two places is sent it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.ir.exchanges import Sendings
from simulator.compiler.ir.grouping import in_order, sums_by_key, union_in_groups
from simulator.compiler.ir.transfers import Transfer
from simulator.machine.exchange import WORD_BYTES


@dataclass(frozen=True)
class WholeRuns:
    """Distinct runs in order of sender and start, and the number of tiles that receive each."""

    sender: Int64Array
    start: Int64Array
    length: Int64Array
    item_bytes: Int64Array
    words: Int64Array
    receivers: Int64Array

    def joined(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(sender, bytes, words) after joining runs that touch. Items of different size are never in one run."""
        end = self.start + self.length
        apart = (self.start[1:] != end[:-1]) | (self.sender[1:] != self.sender[:-1])
        apart |= self.item_bytes[1:] != self.item_bytes[:-1]
        first = np.flatnonzero(np.append(True, apart))
        last = np.append(first[1:] - 1, len(end) - 1)
        size = (end[last] - self.start[first]) * self.item_bytes[first]
        return self.sender[first], size, np.add.reduceat(self.words, first)


def whole_runs(transfer: Transfer, words: Int64Array) -> WholeRuns | None:
    """The runs of a transfer with rows, each of so many words; None where two rows overlap in part or a tile receives a
    run twice."""
    width = int((transfer.start + transfer.length).max()) + 1
    place = transfer.src * width + transfer.start
    order, at = in_order(place)
    length = transfer.length[order]
    again = at[1:] == at[:-1]
    if not np.where(again, length[1:] == length[:-1], at[1:] >= at[:-1] + length[:-1]).all():
        return None
    fresh = np.append(True, ~again)
    head = np.flatnonzero(fresh)
    if len(head) < len(at):
        tiles = int(transfer.dst.max()) + 1
        wanted = np.sort((np.cumsum(fresh) - 1) * tiles + transfer.dst[order], kind="stable")
        if (wanted[1:] == wanted[:-1]).any():
            return None
    sender, start = np.divmod(at[head], width)
    first = order[head]
    receivers = np.diff(np.append(head, len(at)))
    return WholeRuns(sender, start, length[head], transfer.item_bytes[first], words[first], receivers)


def sent_runs(transfer: Transfer, words: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array, Sendings]:
    """(sender, bytes, words) of each run that is sent, a multicast once, and the bytes by number of receivers. `words`:
    those that each row takes. Stretches of runs that overlap in part begin at a word."""
    whole = whole_runs(transfer, words)
    if whole is None:
        stretches = stretches_of(transfer)
        sender, size = sent_once(stretches)
        return sender, size, -(-size // WORD_BYTES), bytes_by_receivers(stretches)
    return *whole.joined(), _sendings(whole.sender, whole.receivers, whole.length * whole.item_bytes)


def _sendings(sender: Int64Array, receivers: Int64Array, size: Int64Array) -> Sendings:
    most = int(receivers.max()) + 1
    key, total = sums_by_key(sender * most + receivers, size)
    return Sendings((key // most).astype(np.int32), (key % most).astype(np.int32), total)


@dataclass(frozen=True)
class _Stretches:
    """Elements that tiles send, one row per receiver. Rows of a group have the same sender, item size and time; within
    a group no receiver gets an element twice."""

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


def sent_once(stretches: _Stretches) -> tuple[Int64Array, Int64Array]:
    """(sender, bytes) of each run after merging over receivers. A run lies within one variable, so its items have one
    size."""
    group, _, length = union_in_groups(stretches.group, stretches.start, stretches.length, stretches.span)
    return stretches.sender(group), length * stretches.item_bytes(group)


def bytes_by_receivers(stretches: _Stretches) -> Sendings:
    """Bytes of each sender by the number of receivers. A sweep over begins and ends counts the rows of a group at every
    element."""
    width = stretches.span + 1
    place = stretches.group * width + stretches.start
    n = len(place)
    moments = np.concatenate([place + stretches.length, place])
    order = np.argsort(moments, kind="stable")  # the order of equal ones does not matter: no element lies between them
    receivers = np.cumsum(np.where(order < n, -1, 1))[:-1]
    extent = np.diff(moments[order])
    kept = (receivers > 0) & (extent > 0)
    group = moments[order][:-1][kept] // width
    return _sendings(stretches.sender(group), receivers[kept], extent[kept] * stretches.item_bytes(group))


def stretches_of(transfer: Transfer) -> _Stretches:
    senders, wide = int(transfer.src.max()) + 1, int(transfer.item_bytes.max()) + 1
    span = int((transfer.start + transfer.length).max())
    src, item_bytes, start, length, time = _sent_apart(transfer)
    return _Stretches((time * senders + src) * wide + item_bytes, start, length, senders, wide, span)


def _sent_apart(transfer: Transfer) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
    """(src, item bytes, start, length, time) of disjoint stretches per receiver.

    A tile that wants an element in two places is sent it twice, at times 0 and 1: a message goes to one place. Where
    that occurs, a sweep over begins and ends counts how often, n, each receiver wants each element; the element is sent
    at times 0 .. n - 1."""
    width = int((transfer.start + transfer.length).max()) + 1
    pair = transfer.src * (int(transfer.dst.max()) + 1) + transfer.dst
    place = pair * width + transfer.start
    order, at = in_order(place)
    ends = np.maximum.accumulate(at + transfer.length[order])
    if (at[1:] >= ends[:-1]).all():  # no tile wants an element twice
        once = np.zeros(len(transfer), np.int64)
        return transfer.src, transfer.item_bytes, transfer.start, transfer.length, once
    n = len(transfer)
    # Ends sort before begins at the same element: the last begin then tells which row follows.
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
