"""Graphs over several IPUs with something on every tile, as `python -m benchmarks.many_tiles` builds them."""

from __future__ import annotations

import numpy as np

from benchmarks import many_tiles
from simulator.compiler.compile import compile_graph


def test_the_result_is_that_of_numpy() -> None:
    assert many_tiles.measure(2, vertices=4 * 4000)["same"]


def test_a_tile_receives_each_cell_of_another_ipu_once() -> None:
    cells = 3 * 1472 * 2
    graph, program, other = many_tiles.build(3, cells)
    compilation = compile_graph(graph.store, graph.getTarget(), [program]).compilation
    index = np.arange(cells)
    tile = index * (3 * 1472) // cells
    read = np.concatenate([index, (index - 1) % cells, (index + 1) % cells, other])
    reader = np.tile(tile, 4)
    pairs = {(t, c) for t, c in zip(reader.tolist(), read.tolist(), strict=True) if t // 1472 != tile[c] // 1472}
    names = compilation.programs.type
    received = [
        int(row.rx.sum())
        for row in compilation.program_on_ipu
        if names[row.program] == "GlobalExchange" and row.rx is not None
    ]
    assert sum(received) == len(pairs) * 4 * many_tiles.WIDTH * many_tiles.LAYERS
