"""Figures of one copy between host and tiles: bytes, packets, code and cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
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


def host_copy(pieces: Pieces, emap: ElementMap, to_device: bool, machine: Machine, *, looped: bool = False) -> HostCopy:
    """A stream copy of the tensor with these pieces."""
    tile = emap.tile[pieces.row]
    weights = pieces.length * emap.item_bytes[pieces.row]
    size = np.bincount(tile, weights=weights, minlength=machine.tiles).astype(np.int64)
    return bytes_copy(size, to_device, machine, looped=looped)


def bytes_copy(size: Int64Array, to_device: bool, machine: Machine, *, looped: bool = False) -> HostCopy:
    """A stream copy of `size` bytes per tile. `looped`: a loop handles the packets where its code is shorter."""
    packets = link.packets(size, machine.host_link, to_device=to_device)
    each = link.CODE_PER_PACKET * packets
    in_loop = looped & (each > link.CODE_PER_PACKET + link.LOOP_CODE)
    each = np.where(in_loop, link.CODE_PER_PACKET + link.LOOP_CODE, each)
    code = np.where(size > 0, link.CODE_PER_STREAM + each, 0)
    looping = np.where(in_loop, link.LOOP_CYCLES * packets, 0)
    return HostCopy(
        rx=size if to_device else None,
        tx=None if to_device else size,
        packets=packets,
        code=code if machine.counts_code else None,
        host_wait=machine.host_link.begin_data,
        mid_cycles=link.mid_cycles(size, machine.ipu_of_tile, machine.host_link) + looping,
        end_cycles=np.where(size > 0, machine.host_link.end_data, 0),
    )


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
