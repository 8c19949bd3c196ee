"""The data-moving programs beside published figures move what their sources say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.validation import halo_copies, row_lookups
from simulator.poplar import Engine

TILES, SIDE = 8, 4


def block_of(whole: np.ndarray, row: int, column: int) -> np.ndarray:
    return whole[row * SIDE : (row + 1) * SIDE, column * SIDE : (column + 1) * SIDE]


def padded(strategy: str, blocks: list[np.ndarray], tile: int) -> np.ndarray:
    """The block of a tile with its halo, cell by cell."""
    row, column = divmod(tile, 2)
    below = column if strategy == "a variable a tile" else 2
    out = np.zeros((SIDE + 2, SIDE + 2))
    out[1:-1, 1:-1] = blocks[tile]
    for y in range(SIDE + 2):
        for x in range(SIDE + 2):
            down, right = (y > SIDE) - (y == 0), (x > SIDE) - (x == 0)
            if (down, right) != (0, 0) and 0 <= row + down < TILES // 2 and 0 <= column + right < 2:
                source = blocks[tile + down * below + right]
                out[y, x] = source[(y - 1) % SIDE, (x - 1) % SIDE]
    if strategy == "edges of the vertex":
        out[0, 1] = out[1, 0] = out[1, -1] = 0
        out[-1, 1:SIDE] = 0
    return out


def step(strategy: str, blocks: list[np.ndarray]) -> list[np.ndarray]:
    """The mean of nine neighbours."""
    after = []
    for tile in range(TILES):
        own = padded(strategy, blocks, tile)
        after.append(np.array([[own[y : y + 3, x : x + 3].mean() for x in range(SIDE)] for y in range(SIDE)]))
    return after


@pytest.mark.parametrize("strategy", list(halo_copies.STRATEGIES))
def test_two_exchanges_of_halos_are_those_of_the_source(strategy: str) -> None:
    halos = halo_copies.build(strategy, TILES, SIDE)
    start = [np.random.default_rng(tile).random((SIDE, SIDE)).astype(np.float32) for tile in range(TILES)]
    for tile, block in enumerate(halos.planes[0]):
        halos.graph.createHostWrite(f"write{tile}", block)
        halos.graph.createHostRead(f"read{tile}", block)
    results = [np.empty((SIDE, SIDE), np.float32) for _ in start]
    with Engine(halos.graph, halos.iteration) as engine:
        engine.load(halos.device)
        for tile, values in enumerate(start):
            engine.writeTensor(f"write{tile}", values)
        engine.run(0)
        for tile, values in enumerate(results):
            engine.readTensor(f"read{tile}", values)
    expected = step(strategy, step(strategy, [block.astype(np.float64) for block in start]))
    np.testing.assert_allclose(results, expected, rtol=1e-5)


@pytest.mark.parametrize("sizes", [row_lookups.Sizes(5, 6, 11), row_lookups.Sizes(40, 3, 9)])
@pytest.mark.parametrize("operation", ["gather", "scatter"])
def test_rows_arrive_where_the_indices_say(operation: str, sizes: row_lookups.Sizes) -> None:
    lookup = (row_lookups.gather if operation == "gather" else row_lookups.scatter_add)(sizes, 16)
    tensors = {"source": lookup.source, "indices": lookup.indices, "result": lookup.result}
    found = {}
    for name, tensor in tensors.items():
        lookup.graph.createHostRead(name, tensor)
        found[name] = np.empty(tensor.shape(), np.uint32 if name == "indices" else np.float32)
    with Engine(lookup.graph, lookup.program) as engine:
        engine.load(lookup.device)
        engine.run(0)
        for name, values in found.items():
            engine.readTensor(name, values)
    expected = np.zeros((sizes.outputs, sizes.features))
    for i, index in enumerate(found["indices"].flatten().astype(int).tolist()):
        if operation == "gather":
            expected[i] = found["source"][index]
        else:
            expected[index] += found["source"][i]
    np.testing.assert_array_equal(found["result"], expected)


def test_published_figures_are_of_one_of_ten_iterations() -> None:
    assert halo_copies.published("edges of the vertex") == (2101.0, 568.2, 0.0)
    found = halo_copies.published("one matrix, two waves")
    assert found == pytest.approx((14757.0, 926.23, 11755.61))


def test_only_copies_take_more_than_the_stencils() -> None:
    edges, waves = (halo_copies.measure(s, TILES, 100) for s in ("edges of the vertex", "one matrix, two waves"))
    assert edges.copies == 0
    assert waves.copies > 0
    assert waves.total > edges.total > halo_copies.STENCILS
