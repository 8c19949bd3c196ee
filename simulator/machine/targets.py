"""Constants of the chips, and the memory elements of their tiles.

Each field names its source: P = published (published-numbers 1, poplar-model 4), F = fitted or not published for this
chip.

Mk1 is the GC2 ("ipu1"), Mk2 the GC200 ("ipu2"), Bow the third chip ("ipu21"), which is Mk2 at a higher clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

KIB = 1024


@dataclass(frozen=True)
class Chip:
    name: str  #: "ipu1", "ipu2", "ipu21"
    title: str
    tiles: int  #: P
    physical_tiles: int  #: P for Mk1; Mk2: see physical_tiles.py
    columns: int  #: P for Mk1, F for Mk2
    bytes_per_tile: int  #: P
    tile_base_address: int  #: P
    region_split: int  #: byte offset at which interleaved memory begins, P
    clock_hz: float  #: the clock of reports, P
    conv_units_half: int  #: AMP units that read halves and write halves, P
    #: AMP units that read halves and write floats: a unit writes a sum in four cycles, and the data path takes eight
    #: floats in four; PopLibs' vertices of float sums have 8 units on every chip, P
    conv_units_half_to_float: int
    conv_units_float: int
    peak_half_macs: int  #: multiply-accumulates per tile and cycle, P
    peak_float_macs: int
    #: bytes of non-interleaved memory that programs cannot use, P for Mk1: a full tile holds 122,880 bytes there
    #: (published-numbers 1, 6.2), and published sizes count what lies above as if it followed directly
    reserved_bytes: int = 0
    memory_element_bytes: int = 16 * KIB  #: P
    worker_contexts: int = 6  #: P
    data_path_bits: int = 64  #: P
    exchange_bytes_per_cycle: float = 4.0  #: each way, P
    memcpy_bytes_per_cycle: int = 8  #: P
    tiles_per_shared_bus: int = 2  #: P
    tiles_per_super_tile: int = 4  #: P for Mk1
    min_ipu_sync_delay: int = 100  #: F: published internal syncs take 100 to 133 cycles
    max_ipu_sync_delay: int = 126  #: P (newest single-chip target)
    global_sync_cycles: int = 600  #: P (newest single-chip target)
    coeff_load_bytes_per_cycle: int = 16  #: interleaved, P
    rpt_count_max: int = 4095  #: 12-bit repeat counter; F
    stride_bits: int = 10  #: signed strides of paced loads; F
    host_contexts_per_xb: int = 4  #: P
    tiles_per_xb_context: int = 38  #: P for Mk1; Mk2 has 1472 / (16 * 4) = 23


MK1 = Chip(
    name="ipu1",
    title="Mk1 GC2",
    tiles=1216,
    physical_tiles=1280,
    columns=16,
    bytes_per_tile=256 * KIB,
    tile_base_address=0x40000,
    region_split=128 * KIB,
    reserved_bytes=8 * KIB,
    clock_hz=1.6e9,
    conv_units_half=8,
    conv_units_half_to_float=8,
    conv_units_float=8,
    peak_half_macs=32,
    peak_float_macs=8,
)

MK2 = replace(
    MK1,
    name="ipu2",
    title="Mk2 GC200",
    tiles=1472,
    physical_tiles=1472,
    bytes_per_tile=624 * KIB,
    tile_base_address=0x4C000,
    region_split=208 * KIB,
    reserved_bytes=0,
    clock_hz=1.33e9,
    conv_units_half=16,
    conv_units_float=16,
    peak_half_macs=64,
    peak_float_macs=16,
    tiles_per_xb_context=23,
)

BOW = replace(MK2, name="ipu21", title="Bow", clock_hz=1.85e9)

CHIPS = {chip.name: chip for chip in (MK1, MK2, BOW)}

#: The supervisor fetches this far ahead, so code cannot reach the very end of the memory that can hold it
#: (poplar-model 6.3).
FETCH_AHEAD = 64


def element_offsets(chip: Chip, bytes_per_tile: int | None = None) -> list[int]:
    """Byte offset of every memory element of a tile. An element serves one access per cycle."""
    return list(range(0, bytes_per_tile or chip.bytes_per_tile, chip.memory_element_bytes))
