"""Cost terms of external exchange vertices, for what their tiles do before they run.

A dictionary from tile to terms: a tile has one such vertex in a compute set at the most, and few tiles have one. The
figures are those of `simulator.machine.external_exchange`.
"""

from __future__ import annotations

from collections.abc import Sequence

from popvision.formats.profile.model import CostTerm
from simulator.compiler.machine import Machine
from simulator.graph.vertices import VertexBlock
from simulator.machine import external_exchange as edge


def external_terms(index: int, blocks: Sequence[VertexBlock], machine: Machine) -> dict[int, list[CostTerm]]:
    """The terms of each tile with an external exchange vertex in a compute set; those with "+ " are its cycles."""
    terms: dict[int, list[CostTerm]] = {}
    name, places = f"computeSet:{index}", machine.stage.places
    for block in blocks:
        for row, external in block.external.items():
            tile, count, east = int(block.tiles[row]), external.incoming_down_count, external.uses_east_edge
            arriving = edge.arriving_cycles(count, east, int(places.island[tile]), int(places.side[tile]))
            side = "east" if east else "west"
            terms[tile] = [
                CostTerm(name, "incomingDownCount", count, "exact: addExternalExchangeVertex"),
                CostTerm(name, "+ setting two registers", edge.setting_cycles(count), edge.SETTING_SOURCE),
                CostTerm(name, f"+ words that come from the {side} edge", arriving, edge.ARRIVING_SOURCE),
            ]
    return terms
