"""Exchanges of control words, and the check that a tile holds the word that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import poplar_error
from simulator.compiler.ir.exchanges import Exchange
from simulator.compiler.ir.program_table import SentWords
from simulator.compiler.lowering.sent_words import WORD_BYTES
from simulator.runtime.address_accurate.compute_parts import Replica
from simulator.runtime.address_accurate.moves import buffer_address
from simulator.runtime.address_accurate.slots import stacked
from simulator.runtime.address_accurate.tile_memory import TileMemory

Action = Callable[[], None]


class Words:
    """The words of one tensor that other tiles receive, in all replicas."""

    def __init__(self, sent: SentWords, replicas: Sequence[Replica], memory: TileMemory) -> None:
        self._memory, self.sent = memory, sent
        source, target = zip(*(_places(sent, replica) for replica in replicas), strict=True)
        self._source, self._target = np.concatenate(source), np.concatenate(target)
        rows, of_tile = sent.rows, replicas[0].plans.machine.ipu_of_tile
        crosses = np.repeat(of_tile[rows.src] != of_tile[rows.dst], rows.length)
        self._crosses = np.tile(crosses, len(replicas))

    def action(self, exchange: Exchange) -> Action:
        """The action of an exchange: of words within IPUs, or between them."""
        mine = self._crosses == (exchange is self.sent.exchange.between_ipus)
        source, target = self._source[mine], self._target[mine]

        def run() -> None:
            words = np.zeros((len(source), WORD_BYTES), np.uint8)
            words[:, : source.shape[1]] = self._memory.data[source]
            self._memory.data[target] = words

        return run

    def check(self) -> None:
        """Raises poplar_error where a tile does not hold the word sent to it."""
        there = self._memory.data[self._target][:, : self._source.shape[1]]
        if not np.array_equal(there, self._memory.data[self._source]):
            raise poplar_error(f"'{self.sent.label}': a tile reads a word that differs from the one sent to it.")


def _places(sent: SentWords, replica: Replica) -> tuple[Int64Array, Int64Array]:
    """(source, target) addresses of the bytes of each word."""
    rows = sent.rows
    element = regions.elements(rows.start, rows.length)
    address = replica.slots.addresses(np.repeat(rows.src + replica.shift, rows.length), element)
    source = address[:, None] + np.arange(sent.item_bytes)
    if not sent.buffers:
        return source, np.empty((0, WORD_BYTES), np.int64)
    (number,) = sent.buffers
    name = replica.plans.buffers[number].name
    tile = rows.dst + replica.shift
    row = len(replica.plans.numels) + number
    first = buffer_address(replica.claims, row, tile, stacked(tile, rows.bytes), rows.bytes, name)
    words = regions.elements(first, rows.bytes).reshape(-1, WORD_BYTES)
    return source, words
