"""Figures of one copy between host and tiles: bytes, packets, code and cycles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.machine import Machine
from simulator.machine import host_exchange as link


@dataclass(frozen=True)
class HostCopy:
    """All arrays have one entry per tile of the device."""

    rx: Int64Array | None  #: bytes received
    tx: Int64Array | None  #: bytes sent
    packets: Int64Array
    code: Int64Array | None  #: bytes of host exchange code; None where code is not counted
    host_wait: int  #: cycles of StreamCopyBegin after its barrier
    mid_cycles: Int64Array
    end_cycles: Int64Array


def host_copy(
    pieces: Pieces, emap: ElementMap, to_device: bool, machine: Machine, *, small: bool = False, on_host: bool = False
) -> HostCopy:
    """A copy of the tensor with these pieces. A packet holds elements that are neighbours both in the order of the host
    and on their tile. `small`: a loop handles the packets where its code is shorter; `on_host`: it handles those of
    tiles with several runs. A loop takes `LOOP_CYCLES` for each packet."""
    tile, run = runs_per_tile(pieces, emap)
    size = np.bincount(tile, weights=run, minlength=machine.tiles).astype(np.int64)
    single = link.packets(run, machine.host_link, to_device=to_device)
    packets = np.bincount(tile, weights=single, minlength=machine.tiles).astype(np.int64)
    scattered = np.bincount(tile, minlength=machine.tiles) > 1
    each = link.CODE_PER_PACKET * packets
    looped = link.CODE_PER_PACKET + link.LOOP_CODE
    in_loop = (small & (each > looped)) | ((small | on_host) & scattered)
    return _copy_of(size, packets, in_loop, to_device, machine)


def runs_per_tile(pieces: Pieces, emap: ElementMap) -> tuple[Int64Array, Int64Array]:
    """(tile, bytes) of each run of a host copy: elements that are neighbours both in the stream and on their tile."""
    if not len(pieces.row):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    follows = (pieces.row[1:] == pieces.row[:-1]) & (pieces.start[1:] == pieces.start[:-1] + pieces.length[:-1])
    first = np.flatnonzero(np.concatenate([[True], ~follows]))
    size = np.add.reduceat(pieces.length * emap.item_bytes[pieces.row], first)
    return emap.tile[pieces.row[first]], size.astype(np.int64)


def bytes_copy(size: Int64Array, to_device: bool, machine: Machine) -> HostCopy:
    """A copy of `size` bytes per tile, in order."""
    packets = link.packets(size, machine.host_link, to_device=to_device)
    return _copy_of(size, packets, np.zeros(machine.tiles, np.bool_), to_device, machine)


def _copy_of(size: Int64Array, packets: Int64Array, in_loop: BoolArray, to_device: bool, machine: Machine) -> HostCopy:
    """The copy of so many bytes and packets per tile; `in_loop` flags the tiles on which a loop handles the packets."""
    in_order = link.packets(size, machine.host_link, to_device=to_device)
    looped = link.CODE_PER_PACKET + link.LOOP_CODE
    code = np.where(size > 0, link.CODE_PER_STREAM + np.where(in_loop, looped, link.CODE_PER_PACKET * packets), 0)
    looping = np.where(in_loop, link.LOOP_CYCLES * packets, 0)
    return HostCopy(
        rx=size if to_device else None,
        tx=None if to_device else size,
        packets=packets,
        code=code if machine.counts_code else None,
        host_wait=machine.host_link.begin_data,
        mid_cycles=link.mid_cycles(size, machine.ipu_of_tile, machine.host_link, packets - in_order) + looping,
        end_cycles=np.where(size > 0, machine.host_link.end_data, 0),
    )


def unasked(copy: HostCopy, machine: Machine) -> HostCopy:
    """The copy, for which the host is not asked."""
    end = np.where(copy.end_cycles > 0, machine.host_link.end_control, 0)
    return replace(copy, host_wait=machine.host_link.begin_control, end_cycles=end)


def control_copy(tile: int, size: int, machine: Machine) -> HostCopy:
    """One of the two copies that select the program to run: `size` bytes to one tile of each IPU. Every tile holds half
    of their code."""
    received = np.zeros(machine.tiles, np.int64)
    received[tile :: machine.tiles_per_ipu] = size
    code = np.full(machine.tiles, link.CODE_PER_TILE // 2, np.int64)
    return HostCopy(
        rx=received,
        tx=None,
        packets=link.packets(received, machine.host_link, to_device=True),
        code=code if machine.counts_code else None,
        host_wait=machine.host_link.begin_control,
        mid_cycles=link.mid_cycles(received, machine.ipu_of_tile, machine.host_link),
        end_cycles=np.where(received > 0, machine.host_link.end_control, 0),
    )
