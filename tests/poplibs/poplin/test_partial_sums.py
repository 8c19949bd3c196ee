"""Adding partial sums: the vertex by hand, the stages, and the rows that each tile adds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from simulator.machine.cycles.partial_reduction import reduce_add, reduce_add_single_input, stage_depths
from simulator.poplar import FLOAT, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from tests.poplibs.programs import linear, small_graph
from tests.poplibs.slow_machine import vectors_of


@pytest.mark.parametrize(
    ("outputs", "depth", "cycles"),
    [
        (240, 7, 6 * (32 + 10 * (3 * 7 + 7))),  # 60 loops of 4, ten per worker: m4 of the published chain
        (128, 9, 6 * (32 + 6 * (3 * 9 + 7))),  # 32 loops, two left over: six for the longest worker (m5)
        (26, 3, 6 * (32 + (2 * 3 + 13) + 1 * (3 * 3 + 7))),  # six loops and a pair, which adds a short loop
        (2, 2, 6 * (32 + 2 * 2 + 13)),
    ],
)
def test_reduce_add_by_hand(outputs: int, depth: int, cycles: int) -> None:
    assert int(reduce_add("float", "float", outputs, depth)) == cycles


def test_half_sums_and_single_blocks_by_hand() -> None:
    # 96 halves are 12 loops of 8, two per worker; 8 / 4 + 1 cycles a row, 9 per loop, 8 to store halves.
    assert int(reduce_add("half", "float", 96, 5)) == 6 * (32 + 2 * (3 * 5 + 9))
    assert int(reduce_add("half", "half", 96, 5)) == 6 * (32 + 2 * (3 * 5 + 8))
    assert int(reduce_add_single_input("float", "float", 240, 6, False)) == 33 + 6 * (20 + 10 * (2 * 6 + 8))
    assert int(reduce_add_single_input("float", "half", 240, 6, True)) == 33 + 6 * (20 + 10 * (1 * 6 + 7))


def test_stages_leave_about_as_many_rows_for_each() -> None:
    assert [stage_depths(n) for n in (1, 15)] == [[], []]
    assert stage_depths(16) == [4]  # 4 rows, then 4
    assert stage_depths(30) == [6]  # 30 / 6 + 6 messages are as many as 30 / 5 + 5: take the larger number
    assert stage_depths(100) == [10]  # 100 / 10 + 10 is less than 100 / 11 + 11
    first, second = stage_depths(1000)
    assert (first, second) in ((100, 10), (99, 9), (99, 10))
    assert stage_depths(1000, multi_stage=False) == []


def _reductions(graph: Graph) -> dict[str, list[tuple[int, list[Any], Any]]]:
    """Compute set -> (tile, rows of partial sums, outputs) of each ReduceAdd vertex, as element numbers."""
    found: dict[str, list[tuple[int, list[Any], Any]]] = {}
    for block in graph.store.blocks:
        if "ReduceAdd" in block.type.name:
            name = graph.store.compute_set_names[block.compute_set].rsplit("/", 1)[1]
            for row, tile in enumerate(block.tiles.tolist()):
                partials = vectors_of(block.edges["partials"], row, True)
                found.setdefault(name, []).append((tile, partials, vectors_of(block.edges["out"], row, False)[0]))
    return found


def _tile_of(graph: Graph, elements: Any) -> Any:
    ends, tiles = graph.store.mapping_table()
    return tiles[np.searchsorted(ends, elements, side="right")]


@pytest.mark.parametrize(("k", "split", "stages"), [(56, 7, 1), (24 * 8, 24, 2)])
def test_tiles_add_what_they_made_in_equal_parts(k: int, split: int, stages: int) -> None:
    graph, program = small_graph(64), Sequence()
    a, b = linear(graph, FLOAT, [10, k]), linear(graph, FLOAT, [k, 16])
    partition = {"inChanSplit": {"parallel": split}, "outChanSplit": {"parallel": 1}, "fieldSplit": {"0": 2}}
    wanted = {"method": "AMP", "0": {"partition": partition, "transform": {"swapOperands": False}}}
    poplin.matMul(graph, a, b, program, "mm", options={"planConstraints": json.dumps(wanted)})
    found = _reductions(graph)
    assert sorted(found) == [f"Reduce{stage}" for stage in range(stages)]
    for vertices in found.values():
        written = np.concatenate([out for _, _, out in vertices])
        assert len(np.unique(written)) == len(written)
        for tile, rows, out in vertices:
            assert {len(row) for row in rows} == {len(out)}
            assert (_tile_of(graph, out) == tile).all()  # the result stays on the tile that added it
    for tile, rows, _ in found["Reduce0"]:
        holders = {int(t) for row in rows for t in _tile_of(graph, row)}
        assert len(holders) == len(rows)  # each row has its own tile
        assert tile in holders or stages > 1
    # 5 positions of 16 channels are cut into whole positions: no part of the first stage is smaller than one.
    assert {len(out) % 16 for _, _, out in found["Reduce0"]} == {0}
