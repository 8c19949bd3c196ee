"""The address map of a tile: memory elements, and where interleaved memory begins."""

from __future__ import annotations

from simulator.machine.targets import Chip

#: The supervisor fetches this far ahead, so code cannot reach the very end of the memory that can hold it
#: (poplar-model 6.3).
FETCH_AHEAD = 64


def element_offsets(chip: Chip, bytes_per_tile: int | None = None) -> list[int]:
    """Byte offset of every memory element of a tile. An element serves one access per cycle."""
    return list(range(0, bytes_per_tile or chip.bytes_per_tile, chip.memory_element_bytes))
