"""External exchange vertices: setting the tile's registers, and the words that come from an exchange block at the edge.

Public is that INCOMING_DCOUNT and INCOMING_MUX are set before the vertex is called, and what they hold; not what this
takes. Here the supervisor loads (`setzi`, and a second instruction beyond 20 bits) and puts one register after the
other, and the words that INCOMING_DCOUNT counts arrive
one a cycle, as they do between tiles, before the vertex runs. The first one travels as between tiles: out of the
exchange block at the chip's edge, along the tile's column, and across the chip where the tile lies on the other side.
All figures but those of `simulator.machine.exchange` are guesses; a time that a program gives by setPerfEstimate is the
vertex's own and comes on top.
"""

from __future__ import annotations

from simulator.machine.code_bytes import IMMEDIATE_BITS
from simulator.machine.exchange import CROSSING_CYCLES, CYCLES_PER_ISLAND, PIPELINE_CYCLES
from simulator.machine.footprint import WORKERS

SETTING_SOURCE = "guess: load and put of INCOMING_DCOUNT and INCOMING_MUX, an instruction every 6 cycles"
ARRIVING_SOURCE = "guess: one word a cycle, 31 cycles of pipeline and the way from the edge, as between tiles"

#: The side of the chip (`physical_tiles.Places.side`) on which the blocks of the east edge are taken to lie. A guess.
EAST_SIDE = 1


def setting_cycles(down_count: int) -> int:
    """Tile cycles of setting both registers; addresses of exchange blocks take one instruction to load."""
    load_address = put = 1
    loads = 1 if down_count < 1 << IMMEDIATE_BITS else 2
    return WORKERS * (loads + put + load_address + put)


def arriving_cycles(down_count: int, east: bool, island: int, side: int) -> int:
    """Tile cycles until `down_count` words have come from the east or the west edge to a tile at this place; 0 where
    none comes."""
    if down_count == 0:
        return 0
    crosses = (side == EAST_SIDE) != east
    return PIPELINE_CYCLES + CYCLES_PER_ISLAND * island + CROSSING_CYCLES * crosses + down_count
