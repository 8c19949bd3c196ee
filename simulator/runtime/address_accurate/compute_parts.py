"""Addresses of a compute set's operands, and the moves before and after it.

An operand is used in place, in the message or output buffer of the tile, or in its gather buffer, according to the
compiler's arrangement (`simulator.compiler.lowering.arrange`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.transfers import Transfer
from simulator.compiler.lowering.exchange_plans import ComputePlan, ExchangePlans
from simulator.compiler.lowering.landing import Landing
from simulator.compiler.lowering.operand_pieces import Operands
from simulator.runtime.address_accurate.claims import Claims
from simulator.runtime.address_accurate.moves import Moved, Sending, buffer_address
from simulator.runtime.address_accurate.slots import Slots, bytes_from


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
    address = replica.buffer(plan.before_buffers, "message", tile[first], arranged.message_place, size[first])
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


def outputs_of(replica: Replica, plan: ComputePlan) -> tuple[Side, Sending, Moved]:
    """(outputs, the exchange of remote ones, the moves that unpack what lands)."""
    assert plan.arranged is not None
    arranged, rows = plan.arranged, plan.arranged.after
    tile, pieces, place = _far(replica, arranged.outputs, gathered=False)
    size = pieces["length"] * pieces["item_bytes"]
    address = replica.buffer(plan.after_buffers, "outputEdge", tile, place, size)
    output = Slots(
        f"the output buffer of '{plan.label}'", tile, pieces["start"], pieces["length"], pieces["item_bytes"], address
    )
    side = _side(replica, arranged.outputs, plan.after_buffers, output)
    far_tile, far, _ = _far(replica, arranged.outputs, gathered=True)
    source = Slots(
        f"the buffers of '{plan.label}'",
        np.concatenate([tile, far_tile]),
        np.concatenate([pieces["start"], far["start"]]),
        np.concatenate([pieces["length"], far["length"]]),
        np.concatenate([pieces["item_bytes"], far["item_bytes"]]),
        np.concatenate([address, side.far_gathered]),
    )
    target = replica.slots.addresses(rows.dst + replica.shift, rows.start)
    target, unpacked = through_landing(replica, plan.landing, arranged.landing, rows, target)
    return side, Sending(rows, source, target), unpacked


def through_landing(
    replica: Replica, buffers: Sequence[int], landing: Landing, rows: Transfer, target: Int64Array
) -> tuple[Int64Array, Moved]:
    """(where the exchange puts each row, the moves that unpack the rows that land), given the rows' places."""
    at = landing.rows
    size = rows.bytes[at]
    landed = replica.buffer(buffers, "message", rows.dst[at] + replica.shift, landing.place, size)
    reached = target.copy()
    reached[at] = landed
    return reached, Moved(bytes_from(landed, size), bytes_from(target[at], size))


def _far(
    replica: Replica, operands: Sequence[Operands], *, gathered: bool
) -> tuple[Int64Array, dict[str, Int64Array], Int64Array]:
    """(vertex's tile, columns, place in the buffer) of remote pieces, gathered or not."""
    emap = replica.emap
    none = np.empty(0, np.int64)
    tile, start, length, row, place = [none], [none], [none], [none], [none]
    for o in operands:
        remote = (emap.tile[o.pieces.row] != o.tile) & (o.gathered == gathered)
        tile.append(o.tile[remote] + replica.shift)
        start.append(o.pieces.start[remote])
        length.append(o.pieces.length[remote])
        row.append(o.pieces.row[remote])
        place.append(o.place[remote])
    columns = {"start": np.concatenate(start), "length": np.concatenate(length)}
    columns["item_bytes"] = emap.item_bytes[np.concatenate(row)]
    return np.concatenate(tile), columns, np.concatenate(place)


def _side(replica: Replica, operands: Sequence[Operands], buffers: Sequence[int], buffered: Slots) -> Side:
    emap = replica.emap
    elements: dict[tuple[int, str], Int64Array] = {}
    none = np.empty(0, np.int64)
    near: list[tuple[Int64Array, Int64Array]] = [(none, none)]
    far: list[Int64Array] = [none]
    for o in operands:
        tile, item_bytes = o.tile + replica.shift, emap.item_bytes[o.pieces.row]
        local, size = emap.tile[o.pieces.row] == o.tile, o.pieces.length * item_bytes
        used = np.empty(len(tile), np.int64)
        in_place, waiting = local & ~o.gathered, ~local & ~o.gathered
        used[in_place] = replica.slots.addresses(tile[in_place], o.pieces.start[in_place])
        used[waiting] = buffered.addresses(tile[waiting], o.pieces.start[waiting])
        gathered = o.gathered
        used[gathered] = replica.buffer(buffers, "rearrangement", tile[gathered], o.place[gathered], size[gathered])
        _check_one_run(o, used, size)
        elements[id(o.block), o.field] = bytes_from_items(used, o.pieces.length, item_bytes)
        for copied, slots in ((local & o.own, replica.slots), (o.spread, buffered)):
            at = slots.addresses(tile[copied], o.pieces.start[copied])
            near.append((bytes_from(at, size[copied]), bytes_from(used[copied], size[copied])))
        far.append(used[~local & o.own & ~o.spread])
    moved = Moved(np.concatenate([a for a, _ in near]), np.concatenate([b for _, b in near]))
    return Side(elements, moved, buffered, np.concatenate(far))


def _check_one_run(o: Operands, address: Int64Array, size: Int64Array) -> None:
    """Raises poplar_error where an operand does not lie in one run of memory."""
    apart = (o.operand[1:] == o.operand[:-1]) & (address[1:] != (address + size)[:-1])
    if apart.any():
        first = int(np.flatnonzero(apart)[0])
        raise poplar_error(
            f"Field '{o.field}' of a vertex of type '{o.block.type.name}' on tile {int(o.tile[first])} is read or "
            f"written at address {int((address + size)[first])}, but its next element lies at "
            f"{int(address[first + 1])}."
        )


def bytes_from_items(address: Int64Array, length: Int64Array, item_bytes: Int64Array) -> Int64Array:
    """The address of each element of runs that begin at `address`."""
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    return np.asarray(np.repeat(address, length) + within * np.repeat(item_bytes, length), dtype=np.int64)
