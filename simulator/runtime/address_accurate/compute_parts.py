"""Addresses of a compute set's operands, and the moves before and after it.

An operand is used in place, in the message or output buffer of the tile, or in its gather buffer, according to the
compiler's arrangement (`simulator.compiler.lowering.arrange`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.lowering.arrange import Operands
from simulator.compiler.lowering.exchange_plans import ComputePlan, ExchangePlans
from simulator.runtime.address_accurate.claims import Claims
from simulator.runtime.address_accurate.moves import Moved, Sending, buffer_address
from simulator.runtime.address_accurate.slots import Slots, bytes_from, stacked


@dataclass(frozen=True)
class Replica:
    """Addresses in one replica: its tiles begin at `shift`, its variables are in `slots`."""

    claims: Claims
    plans: ExchangePlans
    slots: Slots
    shift: int

    @property
    def emap(self) -> ElementMap:
        return self.plans.emap

    def buffer(
        self, numbers: Sequence[int], category: str, tile: Int64Array, offset: Int64Array, size: Int64Array
    ) -> Int64Array:
        """Addresses of entries in the buffer of this category among `numbers` (rows of ExchangePlans.buffers)."""
        if len(tile) == 0:
            return tile
        (number,) = (n for n in numbers if self.plans.buffers[n].category == category)
        row = len(self.plans.numels) + number
        return buffer_address(self.claims, row, tile, offset, size, self.plans.buffers[number].name)


@dataclass(frozen=True)
class Side:
    """The inputs (or outputs) of a compute set. `elements`: the address of every element of every field, by (block,
    field) in the order of the regions; `buffered`: Slots of message (or output) buffers."""

    elements: dict[tuple[int, str], Int64Array]
    near: Moved  #: from variables of the tile, or its message buffer, to gather buffers
    buffered: Slots
    far_gathered: Int64Array  #: addresses in gather buffers of remote pieces, in order


def inputs_of(replica: Replica, plan: ComputePlan) -> tuple[Side, Sending]:
    """(inputs, the exchange of remote ones)."""
    assert plan.arranged is not None
    arranged, rows = plan.arranged, plan.arranged.before
    first = slice(arranged.message_rows)
    tile = rows.dst + replica.shift
    size = rows.bytes
    address = replica.buffer(
        plan.before_buffers, "message", tile[first], stacked(tile[first], size[first]), size[first]
    )
    message = Slots(
        f"the message buffer of '{plan.label}'",
        tile[first],
        rows.start[first],
        rows.length[first],
        rows.item_bytes[first],
        address,
    )
    side = _side(replica, arranged.inputs, plan.before_buffers, message)
    return side, Sending(rows, replica.slots, np.concatenate([address, side.far_gathered]))


def outputs_of(replica: Replica, plan: ComputePlan) -> tuple[Side, Sending]:
    """(outputs, the exchange of remote ones)."""
    assert plan.arranged is not None
    arranged, rows = plan.arranged, plan.arranged.after
    tile, pieces = _far(replica, arranged.outputs, gathered=False)
    size = pieces["length"] * pieces["item_bytes"]
    address = replica.buffer(plan.after_buffers, "outputEdge", tile, stacked(tile, size), size)
    output = Slots(
        f"the output buffer of '{plan.label}'", tile, pieces["start"], pieces["length"], pieces["item_bytes"], address
    )
    side = _side(replica, arranged.outputs, plan.after_buffers, output)
    far_tile, far = _far(replica, arranged.outputs, gathered=True)
    source = Slots(
        f"the buffers of '{plan.label}'",
        np.concatenate([tile, far_tile]),
        np.concatenate([pieces["start"], far["start"]]),
        np.concatenate([pieces["length"], far["length"]]),
        np.concatenate([pieces["item_bytes"], far["item_bytes"]]),
        np.concatenate([address, side.far_gathered]),
    )
    target = replica.slots.addresses(rows.dst + replica.shift, rows.start)
    return side, Sending(rows, source, target)


def _far(replica: Replica, operands: Sequence[Operands], *, gathered: bool) -> tuple[Int64Array, dict[str, Int64Array]]:
    """(vertex's tile, columns) of remote pieces, gathered or not."""
    emap = replica.emap
    none = np.empty(0, np.int64)
    tile, start, length, row = [none], [none], [none], [none]
    for o in operands:
        remote = (emap.tile[o.pieces.row] != o.tile) & (o.gathered == gathered)
        tile.append(o.tile[remote] + replica.shift)
        start.append(o.pieces.start[remote])
        length.append(o.pieces.length[remote])
        row.append(o.pieces.row[remote])
    columns = {"start": np.concatenate(start), "length": np.concatenate(length)}
    return np.concatenate(tile), columns | {"item_bytes": emap.item_bytes[np.concatenate(row)]}


def _side(replica: Replica, operands: Sequence[Operands], buffers: Sequence[int], buffered: Slots) -> Side:
    emap = replica.emap
    places = _gather_places(replica, operands, buffers)
    elements: dict[tuple[int, str], Int64Array] = {}
    none = np.empty(0, np.int64)
    near: list[tuple[Int64Array, Int64Array]] = [(none, none)]
    far: list[Int64Array] = [none]
    for o, place in zip(operands, places, strict=True):
        tile, item_bytes = o.tile + replica.shift, emap.item_bytes[o.pieces.row]
        local = emap.tile[o.pieces.row] == o.tile
        used = np.empty(len(tile), np.int64)
        in_place, waiting = local & ~o.gathered, ~local & ~o.gathered
        used[in_place] = replica.slots.addresses(tile[in_place], o.pieces.start[in_place])
        used[waiting] = buffered.addresses(tile[waiting], o.pieces.start[waiting])
        used[o.gathered] = place
        elements[id(o.block), o.field] = bytes_from_items(used, o.pieces.length, item_bytes)
        copied = local & o.gathered
        size = o.pieces.length[copied] * item_bytes[copied]
        at = replica.slots.addresses(tile[copied], o.pieces.start[copied])
        near.append((bytes_from(at, size), bytes_from(used[copied], size)))
        if o.spread.any():
            size = o.pieces.length[o.spread] * item_bytes[o.spread]
            at = buffered.addresses(tile[o.spread], o.pieces.start[o.spread])
            near.append((bytes_from(at, size), bytes_from(used[o.spread], size)))
        far.append(used[~local & o.gathered & ~o.spread])
    moved = Moved(np.concatenate([a for a, _ in near]), np.concatenate([b for _, b in near]))
    return Side(elements, moved, buffered, np.concatenate(far))


def _gather_places(replica: Replica, operands: Sequence[Operands], buffers: Sequence[int]) -> list[Int64Array]:
    """The address of every gathered piece, per field."""
    tiles = [o.tile[o.gathered] + replica.shift for o in operands]
    sizes = [(o.pieces.length * replica.emap.item_bytes[o.pieces.row])[o.gathered] for o in operands]
    if not operands:
        return []
    tile, size = np.concatenate(tiles), np.concatenate(sizes)
    address = replica.buffer(buffers, "rearrangement", tile, stacked(tile, size), size)
    return np.split(address, np.cumsum([len(t) for t in tiles])[:-1])


def bytes_from_items(address: Int64Array, length: Int64Array, item_bytes: Int64Array) -> Int64Array:
    """The address of each element of runs that begin at `address`."""
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    return np.asarray(np.repeat(address, length) + within * np.repeat(item_bytes, length), dtype=np.int64)
