"""Send words that control needs to other tiles: predicates, values of switches, row numbers.

They go as whole words into message buffers, each to every tile that needs it, as the published exchange
`switchControlBroadcast` sends the number of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.exchange.plan import plan_exchange
from simulator.compiler.ir.accesses import Elements, elements_of
from simulator.compiler.ir.program_table import SentWords
from simulator.compiler.ir.transfers import Transfer

if TYPE_CHECKING:
    from simulator.compiler.lowering.exchange_plans import ExchangePlans
    from simulator.graph.tensor import Tensor


#: The smallest message (poplar-model 1.1: what tiles store at once).
WORD_BYTES = 4


def sent_words(plans: ExchangePlans, tensor: Tensor, receivers: Int64Array, what: str) -> SentWords:
    """Send the elements of a tensor to tiles; the same elements to the same tiles are sent by one plan. Raises
    invalid_tile_mapping for elements without a tile."""
    starts, lengths = tensor.regions()
    key = what, starts.tobytes(), lengths.tobytes(), receivers.tobytes()
    if key not in plans.words:
        plans.words[key] = _plan_words(plans, (starts, lengths), receivers, what)
    return plans.words[key]


def _plan_words(plans: ExchangePlans, regions: Elements, receivers: Int64Array, what: str) -> SentWords:
    pieces, m = plans.mapped_pieces(regions), plans.machine
    sources = plans.emap.tile[pieces.row]
    src, dst = np.repeat(sources, len(receivers)), np.tile(receivers, len(sources))
    start, length = (np.repeat(column, len(receivers)) for column in (pieces.start, pieces.length))
    away = src != dst
    rows = Transfer(src[away], dst[away], start[away], length[away], np.full(int(away.sum()), WORD_BYTES))
    exchange = plan_exchange(rows, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage, m.links)
    number = plans.number() if len(rows) else -1
    label = f"copy{number}_{what}{number}/ExchangePre"
    size = np.bincount(rows.dst, weights=rows.bytes, minlength=m.tiles).astype(np.int64)
    buffers = plans.add_buffer(label.replace("/ExchangePre", "/message"), "message", size, -1)
    packets = plans.add_packets(label.replace("/Exchange", "/Global"), exchange, rows, -1)
    moves, item_bytes = plans.moves(rows, rows.start, None), int(plans.emap.item_bytes[pieces.row].max(initial=0))
    elements = elements_of([regions])
    return SentWords(label, elements, exchange, moves, packets, buffers, rows, item_bytes)
