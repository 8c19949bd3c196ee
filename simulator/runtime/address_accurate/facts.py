"""What the address-accurate mode needs to know of a compiled graph besides the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.compiler.lowering.items import Items
    from simulator.graph.program import Program
    from simulator.graph.store import GraphStore

#: More tiles than this are refused: their memory would be held twice over, and vertices run one by one.
MOST_TILES = 64


@dataclass(frozen=True)
class AddressFacts:
    """`items` with the arrangements kept; `programs`: host program of each debug record; `part_of`: the variable that
    each of the report's last variables is a part of."""

    store: GraphStore
    items: Items
    programs: Mapping[int, Program]
    part_of: Sequence[int] = ()
