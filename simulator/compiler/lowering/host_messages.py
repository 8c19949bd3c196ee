"""Host messages: tensors in the order in which the host sends or takes them, where that is not the order on tiles.

A packet holds elements that are neighbours in the order of the host. Where the elements of a tile are whole packets of
that, packets go straight to their places. Others go in order to buffers of the tiles that hold the tensor, each as many
bytes as it holds, and an exchange within the chip, a step of its own, takes them from there to their places; or from
their places to the buffers, before they are sent. A buffer is a variable of category *hostMessage* behind those of the
graph, and the exchange a copy between tensors like any other, so cycles, code, liveness and values follow from there.

Sources: rearrangeOnHost arranges "rather than doing an internal exchange" (documentation of createHostWrite); the IPU
Model of tutorial 6 takes 8,697 cycles of exchange a tile beside its products (published-numbers), of which its share of
the matrix is 6,793 words. Guesses: which tile buffers what; that the compiler takes more packets instead where
these cost fewer cycles than the exchange, by an estimate.

Sorts of the pieces of each tensor that the host moves; a row of the variables for each that is not in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import NO_LIMIT
from simulator.compiler.exchange.host_copies import runs_per_tile
from simulator.compiler.ir.accesses import Elements
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.ir.program_visits import all_programs
from simulator.compiler.machine import Machine
from simulator.graph import program as host
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.store import GraphStore, StreamColumns
from simulator.graph.tensor import Tensor
from simulator.machine import exchange as fabric
from simulator.machine import host_exchange as link
from simulator.machine.local_copy import local_copy_cycles


@dataclass(frozen=True)
class Elsewhere:
    """The regions of a copy's end."""

    runs: Elements

    def regions(self) -> Elements:
        return self.runs


@dataclass(frozen=True, eq=False)
class MessageCopy:
    """The copy between a message and its tensor, as a copy between tensors."""

    source: Elsewhere
    destination: Elsewhere
    dont_outline: bool = False


@dataclass
class HostMessages:
    """The messages of a compilation, by the regions of their tensors and the direction."""

    copies: dict[tuple[bytes, bytes, bool], MessageCopy] = field(default_factory=dict)

    def copy(self, tensor: Tensor, to_device: bool) -> MessageCopy | None:
        """The copy within the chip that belongs to a transfer, None where data go straight."""
        return self.copies.get(_key(tensor.regions(), to_device))

    def moved(self, tensor: Tensor, to_device: bool) -> Elements:
        """The elements between which and the host packets go."""
        copy = self.copy(tensor, to_device)
        if copy is None:
            return tensor.regions()
        return (copy.source if to_device else copy.destination).regions()


def _key(runs: Elements, to_device: bool) -> tuple[bytes, bytes, bool]:
    return runs[0].tobytes(), runs[1].tobytes(), to_device


def add_host_messages(
    store: GraphStore, programs: Sequence[host.Program], emap: ElementMap, machine: Machine
) -> tuple[GraphStore, HostMessages]:
    """The graph with a variable for each message that its programs and host copies need, and the messages."""
    messages = HostMessages()
    extended = replace(store, variables=store.variables.copy())
    for tensor, to_device in _moved_tensors(store, programs):
        runs = tensor.regions()
        pieces = emap.cut(*runs)
        if _key(runs, to_device) in messages.copies or not len(pieces.row) or (emap.tile[pieces.row] < 0).any():
            continue
        ends, tiles = _places_in_order(pieces, emap, machine)
        if _goes_straight(pieces, (ends, tiles), emap, machine, to_device):
            continue
        name = store.variables.name[int(emap.variable[pieces.row[0]])]
        base, numel = extended.num_elements, int(ends[-1])
        extended.variables.add(base, numel, tensor.elementType(), f"{name}/hostMessage", -1)
        extended.variables.mapping[-1] = ends, tiles
        extended.num_elements += numel
        there = Elsewhere((np.array([base]), np.array([numel])))
        ends_of_copy = (there, Elsewhere(runs)) if to_device else (Elsewhere(runs), there)
        messages.copies[_key(runs, to_device)] = MessageCopy(*ends_of_copy)
    return (extended, messages) if messages.copies else (store, messages)


# What the host moves


def _moved_tensors(store: GraphStore, programs: Sequence[host.Program]) -> Iterator[tuple[Tensor, bool]]:
    """(tensor, to the device) of each transfer that the host does not rearrange."""
    on_host = host_copies_arranged_by_host(store.streams)
    for kind, handle, tensor in store.host_copies:
        if (kind, handle) not in on_host:
            yield tensor, kind == "write"
    for program in all_programs([*programs, *store.functions]):
        match program:
            case host.PrintTensor():
                yield program.tensor, False
            case host.Call() if program.host_function is not None:
                yield from ((tensor, False) for tensor in program.inputs)
                yield from ((tensor, True) for tensor in program.outputs)
            case host.Copy() if not arranged_by_host(program):
                yield from _of_copy(program, store.streams)


def _of_copy(copy: host.Copy, streams: StreamColumns) -> Iterator[tuple[Tensor, bool]]:
    if copy.kind in ("host_to_device", "device_to_host"):
        to_device = copy.kind == "host_to_device"
        stream, tensor = (copy.source, copy.destination) if to_device else (copy.destination, copy.source)
        for begin, end in parts_of(stream, streams):
            yield part_of(tensor, begin, end), to_device
    elif copy.kind in ("from_remote", "to_remote"):
        yield next(iter(copy.writes() or copy.reads())), copy.kind == "from_remote"


def arranged_by_host(copy: host.Copy) -> bool:
    """Whether the host, not an exchange, puts the data of a copy in order."""
    remote = next((end for end in (copy.source, copy.destination) if isinstance(end, RemoteBuffer)), None)
    return copy.optimise_memory if remote is None else remote.rearrange_on_host or remote.optimise_memory


def host_copies_arranged_by_host(streams: StreamColumns) -> set[tuple[str, str]]:
    """(kind, handle) of the host reads and writes with rearrangeOnHost."""
    columns = zip(streams.kind, streams.handle, streams.options, strict=True)
    return {(kind, handle) for kind, handle, options in columns if options.get("rearrangeOnHost") == "true"}


def parts_of(stream: DataStream, streams: StreamColumns) -> list[tuple[int, int]]:
    """Elements [begin, end) of each transfer of a stream."""
    size = elements_of_transfer(stream, streams)
    return [(begin, min(begin + size, stream.count)) for begin in range(0, stream.count, size)]


def elements_of_transfer(stream: DataStream, streams: StreamColumns) -> int:
    """Elements of a stream that one transfer moves: at most its splitLimit."""
    limit = int(streams.options[stream.id].get("splitLimit", "0"))
    return stream.count if limit in (0, NO_LIMIT) else min(stream.count, max(1, limit // stream.elementType().size))


def part_of(tensor: Tensor, begin: int, end: int) -> Tensor:
    """The elements of a tensor that one transfer moves."""
    return tensor if end - begin == tensor.numElements() else tensor.flatten().slice(begin, end)


# Where it goes


def _places_in_order(pieces: Pieces, emap: ElementMap, machine: Machine) -> tuple[Int64Array, Int64Array]:
    """(ends, tiles) of the mapping of a message. The tiles of an IPU, in the order of their first elements, buffer what
    the IPU holds, each as many elements as it holds."""
    tile = emap.tile[pieces.row]
    holding, first = np.unique(tile, return_index=True)
    by_ipu = np.lexsort((first, machine.ipu_of_tile[holding]))
    held = np.bincount(tile, weights=pieces.length, minlength=machine.tiles).astype(np.int64)
    blocks = holding[by_ipu]
    place = np.cumsum(pieces.length) - pieces.length
    order = np.argsort(machine.ipu_of_tile[tile], kind="stable")
    length = pieces.length[order]
    begin = np.cumsum(length) - length
    cut, size, block = regions.split_by_table(begin, length, np.cumsum(held[blocks]))
    source = np.searchsorted(begin, cut, side="right") - 1
    at = place[order][source] + cut - begin[source]
    back = np.argsort(at, kind="stable")
    ends, tiles = np.cumsum(size[back]), blocks[block[back]]
    last = np.append(tiles[1:] != tiles[:-1], True)
    return ends[last], tiles[last]


def _goes_straight(
    pieces: Pieces,
    message: tuple[Int64Array, Int64Array],
    emap: ElementMap,
    machine: Machine,
    to_device: bool,
) -> bool:
    """Whether packets between the host and the places of a tensor cost no more cycles than an exchange does."""
    tile, run = runs_per_tile(pieces, emap)
    size = np.bincount(tile, weights=run, minlength=machine.tiles).astype(np.int64)
    packets = np.bincount(tile, link.packets(run, machine.host_link, to_device=to_device), machine.tiles)
    further = packets.astype(np.int64) - link.packets(size, machine.host_link, to_device=to_device)
    if not further.any():
        return True
    of_ipu, host = machine.ipu_of_tile, machine.host_link
    longer = link.mid_cycles(size, of_ipu, host, further) - link.mid_cycles(size, of_ipu, host)
    return bool(longer.max() <= _exchange_cycles(pieces, message, emap, machine))


def _exchange_cycles(
    pieces: Pieces, message: tuple[Int64Array, Int64Array], emap: ElementMap, machine: Machine
) -> float:
    """Cycles of the exchange and its sync: words or the instructions of fragments on the busiest tile. Fragments that
    are not whole words are unpacked."""
    place = np.cumsum(pieces.length) - pieces.length
    cut, length, _ = regions.split_by_table(place, pieces.length, message[0])
    row = pieces.row[np.searchsorted(place, cut, side="right") - 1]
    tile, size = emap.tile[row], length * emap.item_bytes[row]
    words = np.bincount(tile, fabric.words(size), machine.tiles)
    fragments = fabric.INSTRUCTIONS_PER_FRAGMENT * np.bincount(tile, minlength=machine.tiles)
    exchanged = machine.min_sync_delay + fabric.LAUNCH_CYCLES + np.maximum(words, fragments).max()
    split = size % fabric.WORD_BYTES != 0
    moved = np.bincount(tile[split], size[split], machine.tiles).astype(np.int64)
    runs = np.bincount(tile[split], minlength=machine.tiles)
    return float(exchanged + local_copy_cycles(moved, runs, np.zeros_like(runs)).max())
