"""Five published ways to exchange the halos of a plane, programs that do nothing but move data, on the Mk1 IPU Model.

Source L: T. Louw, github.com/thorbenlouw/lbm-graphcore: experiments/halo-exchange-approaches/results.txt (cycles of ten
iterations on 1,216 tiles with 100 x 100 floats each, two tiles a row of the grid) and main/HaloRegionApproaches.cpp,
whose copies these are; every vertex counts 100 cycles. An iteration goes from one plane to a second and back.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Sizes
from typing import Any, NamedTuple

import numpy as np

from simulator.codelets.vertex import Input, Output, Vector, VectorList, Vertex
from simulator.poplar import FLOAT, ComputeSet, Device, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Execute, Program, Repeat, Sequence

#: tiles of a row of the grid
COLUMNS = 2
VERTEX_CYCLES = 100
ITERATIONS = 10
#: cycles of the stencils of an iteration: one worker of six on a tile, twice
STENCILS = 2 * 6 * VERTEX_CYCLES
_EXCHANGE = re.compile(r"Tile average IPU exchange cycles:\s+([\d,.]+)")
_COMPUTE = re.compile(r"Tile average compute cycles \(including idle threads\):\s+([\d,.]+)")


class Stencil(Vertex):
    """The mean of nine neighbours, for the inside of a block with its halo."""

    source = Input(VectorList(FLOAT, "deltan"))
    target = Output(VectorList(FLOAT, "deltan"))

    def compute(self) -> None:
        after = _mean(np.stack(self.source))
        for row, values in zip(self.target[1:-1], after, strict=True):
            row[1:-1] = values

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return VERTEX_CYCLES, 0


class StencilOfParts(Vertex):
    """The same for a block and its eight neighbouring pieces, each an edge of its own."""

    source = Input(VectorList(FLOAT, "deltan"))
    target = Output(VectorList(FLOAT, "deltan"))
    n, s, w, e = Input(Vector(FLOAT)), Input(Vector(FLOAT)), Input(Vector(FLOAT)), Input(Vector(FLOAT))
    nw, ne, sw, se = Input(FLOAT), Input(FLOAT), Input(FLOAT), Input(FLOAT)

    def compute(self) -> None:
        block = np.pad(np.stack(self.source), 1)
        block[0, 0], block[0, -1], block[-1, 0], block[-1, -1] = self.nw, self.ne, self.sw, self.se
        for part, halo in ((self.n, block[0]), (self.s, block[-1]), (self.w, block[:, 0]), (self.e, block[:, -1])):
            halo[-1 - len(part) : -1] = part
        for row, values in zip(self.target, _mean(block), strict=True):
            row[:] = values

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return VERTEX_CYCLES, 0


def _mean(block: np.ndarray) -> np.ndarray:
    height, width = block.shape
    parts = (block[i : height - 2 + i, j : width - 2 + j] for i in range(3) for j in range(3))
    return np.asarray(sum(parts) / np.float32(9))


class Cell(NamedTuple):
    """A tile and its place in the grid of `rows` x COLUMNS."""

    tile: int
    row: int
    column: int
    rows: int

    def has(self, down: int, right: int) -> bool:
        """Whether there is a tile at this distance."""
        return 0 <= self.row + down < self.rows and 0 <= self.column + right < COLUMNS


class Halos(NamedTuple):
    """A graph, the blocks of the two planes, without halo, and an iteration."""

    graph: Graph
    device: Device
    planes: tuple[list[Tensor], list[Tensor]]
    iteration: Program


class Iteration(NamedTuple):
    """Cycles of an iteration: in all, of exchange on the mean tile, and of on-tile copies on the mean tile, which is
    the compute with idle threads less that of the stencils."""

    total: float
    exchange: float
    copies: float


#: of ten iterations, by strategy: total cycles, and of the mean tile exchange and compute with idle threads
_PUBLISHED = {
    "edges of the vertex": (21_010, 5_682.0, 12_000.0),
    "a variable a tile": (315_370, 7_930.3, 210_256.1),
    "one matrix, two waves": (147_570, 9_262.3, 129_556.1),
    "one matrix, by direction": (147_530, 9_220.7, 122_211.1),
    "one matrix, tile by tile": (178_569_036, 19_309.1, 207_965.0),
}


def published(strategy: str) -> Iteration:
    """The published figures of an iteration."""
    total, exchange, compute = (figure / ITERATIONS for figure in _PUBLISHED[strategy])
    return Iteration(total, exchange, compute - STENCILS)


def cells(tiles: int) -> list[Cell]:
    """The grid, row by row."""
    return [Cell(t, t // COLUMNS, t % COLUMNS, tiles // COLUMNS) for t in range(tiles)]


def build(strategy: str, tiles: int, side: int) -> Halos:
    """One of `STRATEGIES` for blocks of `side` x `side` floats; the grid's own border is 0."""
    model = IPUModel("ipu1")
    model.tilesPerIPU = tiles
    device = model.createDevice()
    graph = Graph(device)
    graph.addCodelets(Stencil)
    graph.addCodelets(StencilOfParts)
    if strategy == "edges of the vertex":
        return _edges(graph, device, tiles, side)
    planes = (_padded(graph, tiles, side, strategy), _padded(graph, tiles, side, strategy))
    programs = []
    for source, target in (planes, planes[::-1]):
        compute_set = graph.addComputeSet("compute")
        for tile, (block, after) in enumerate(zip(source, target, strict=True)):
            _vertex(graph, compute_set, "Stencil", tile, {"source": block, "target": after})
        programs += [Sequence(*STRATEGIES[strategy](source, tiles)), Execute(compute_set)]
    first, second = ([block.slice([1, 1], [side + 1, side + 1]) for block in plane] for plane in planes)
    return Halos(graph, device, (first, second), Sequence(*programs))


def measure(strategy: str, tiles: int, side: int) -> Iteration:
    """Cycles of an iteration, from a run of ITERATIONS and its profile summary."""
    halos = build(strategy, tiles, side)
    text = io.StringIO()
    with Engine(halos.graph, Repeat(ITERATIONS, halos.iteration), {"debug.instrument": "true"}) as engine:
        engine.load(halos.device)
        before = engine.getTimeStamp().device_cycles
        engine.run(0)
        cycles = engine.getTimeStamp().device_cycles - before
        engine.printProfileSummary(text)
    exchange, compute = (_found(pattern, text.getvalue()) / ITERATIONS for pattern in (_EXCHANGE, _COMPUTE))
    return Iteration(cycles / ITERATIONS, exchange, compute - STENCILS)


def _found(pattern: re.Pattern[str], text: str) -> float:
    found = pattern.search(text)
    assert found is not None, f"the summary has no line {pattern.pattern}"
    return float(found[1].replace(",", ""))


def _padded(graph: Graph, tiles: int, side: int, strategy: str) -> list[Tensor]:
    """A block with its halo for each tile: variables of their own, or parts of one matrix."""
    size = side + 2
    if strategy == "a variable a tile":
        blocks = [graph.addVariable(FLOAT, [size, size], f"block{tile}") for tile in range(tiles)]
    else:
        whole = graph.addVariable(FLOAT, [tiles // COLUMNS * size, COLUMNS * size], "plane")
        corners = [(c.row * size, c.column * size) for c in cells(tiles)]
        blocks = [whole.slice([y, x], [y + size, x + size]) for y, x in corners]
    for tile, block in enumerate(blocks):
        graph.setTileMapping(block, tile)
        graph.setInitialValue(block, np.zeros([size, size], np.float32))
    return blocks


def _vertex(graph: Graph, compute_set: ComputeSet, name: str, tile: int, edges: dict[str, Tensor]) -> None:
    graph.setTileMapping(graph.addVertex(compute_set, name, edges), tile)


def _edges(graph: Graph, device: Device, tiles: int, side: int) -> Halos:
    """No halo is stored: a vertex has an edge to each neighbouring piece. As published, three sides lack their first
    cell and the southern one holds only its last; what lacks counts as 0."""
    planes = tuple(
        graph.addVariable(FLOAT, [tiles // COLUMNS * side, COLUMNS * side], name) for name in ("first", "second")
    )
    zeros = {}
    for cell in cells(tiles):
        for plane in planes:
            graph.setTileMapping(_block(plane, cell, side), cell.tile)
        zeros[cell.tile] = graph.addConstant(FLOAT, [side], np.zeros(side, np.float32))
        graph.setTileMapping(zeros[cell.tile], cell.tile)
    programs = []
    for source, target in (planes, planes[::-1]):
        compute_set = graph.addComputeSet("compute")
        for cell in cells(tiles):
            edges = _pieces(source, cell, side, zeros[cell.tile])
            edges |= {"source": _block(source, cell, side), "target": _block(target, cell, side)}
            _vertex(graph, compute_set, "StencilOfParts", cell.tile, edges)
        programs.append(Execute(compute_set))
    first, second = ([_block(plane, cell, side) for cell in cells(tiles)] for plane in planes)
    return Halos(graph, device, (first, second), Sequence(*programs))


def _block(plane: Tensor, cell: Cell, side: int, down: int = 0, right: int = 0) -> Tensor:
    y, x = (cell.row + down) * side, (cell.column + right) * side
    return plane.slice([y, x], [y + side, x + side])


def _pieces(plane: Tensor, cell: Cell, side: int, zeros: Tensor) -> dict[str, Tensor]:
    last = side - 1
    places: dict[str, tuple[int, int, Sizes[int], Sizes[int]]] = {
        "n": (-1, 0, (last, 1), (side, side)),
        "s": (1, 0, (0, last), (1, side)),
        "w": (0, -1, (1, last), (side, side)),
        "e": (0, 1, (1, 0), (side, 1)),
        "nw": (-1, -1, (last, last), (side, side)),
        "ne": (-1, 1, (last, 0), (side, 1)),
        "sw": (1, -1, (0, last), (1, side)),
        "se": (1, 1, (0, 0), (1, 1)),
    }
    edges = {}
    for name, (down, right, low, high) in places.items():
        inside = cell.has(down, right)
        piece = _block(plane, cell, side, down, right).slice(low, high).flatten() if inside else zeros
        edges[name] = piece if len(name) == 1 else piece[0]
    return edges


def _copy(source: Tensor, target: Tensor, low: Sizes[int], high: Sizes[int], to: Sizes[int]) -> Program:
    """Copy source[low:high] to the same shape at `to` of the target."""
    end = [t + h - lo for t, h, lo in zip(to, high, low, strict=True)]
    return Copy(source.slice(low, high), target.slice(to, end))


def _around(blocks: list[Tensor], cell: Cell, width: int = COLUMNS) -> Iterator[tuple[int, Program]]:
    """The copies into one halo in the published order, each with the number of its direction. A row down is `width`
    tiles further."""
    size = blocks[0].dim(0)
    last, ring = size - 2, size - 1
    for number, (down, right) in enumerate([(-1, 0), (-1, 1), (-1, -1), (1, 0), (1, 1), (1, -1), (0, 1), (0, -1)]):
        if not cell.has(down, right):
            continue
        low = [{-1: last, 0: 1, 1: 1}[d] for d in (down, right)]
        high = [{-1: ring, 0: ring, 1: 2}[d] for d in (down, right)]
        to = [{-1: 0, 0: 1, 1: ring}[d] for d in (down, right)]
        neighbour = blocks[cell.tile + down * width + right]
        yield number, _copy(neighbour, blocks[cell.tile], low, high, to)


def _tile_by_tile(blocks: list[Tensor], tiles: int) -> list[Program]:
    return [program for cell in cells(tiles) for _, program in _around(blocks, cell)]


def _wrong_rows(blocks: list[Tensor], tiles: int) -> list[Program]:
    """Tile by tile, but the published source takes the tile's column for the number of columns: its "north" and "south"
    of a left tile are the tile itself. We copy what it copies."""
    return [program for cell in cells(tiles) for _, program in _around(blocks, cell, cell.column)]


def _by_direction(blocks: list[Tensor], tiles: int) -> list[Program]:
    found = [pair for cell in cells(tiles) for pair in _around(blocks, cell)]
    return [program for _, program in sorted(found, key=lambda pair: pair[0])]


def _two_waves(blocks: list[Tensor], tiles: int) -> list[Program]:
    """North and south first, then east and west with the corners that came with the first wave."""
    size = blocks[0].dim(0)
    last, ring = size - 2, size - 1
    first, second = [], []
    for cell in cells(tiles):
        own = blocks[cell.tile]
        for down, row, to in ((-1, last, 0), (1, 1, ring)):
            if cell.has(down, 0):
                first.append(_copy(blocks[cell.tile + down * COLUMNS], own, [row, 1], [row + 1, size], [to, 1]))
        for right, column, to in ((1, 1, ring), (-1, last, 0)):
            if cell.has(0, right):
                second.append(_copy(blocks[cell.tile + right], own, [0, column], [size, column + 1], [0, to]))
    return [*first, *second]


STRATEGIES: dict[str, Callable[[list[Tensor], int], list[Program]]] = {
    "edges of the vertex": _tile_by_tile,
    "a variable a tile": _wrong_rows,
    "one matrix, two waves": _two_waves,
    "one matrix, by direction": _by_direction,
    "one matrix, tile by tile": _tile_by_tile,
}
