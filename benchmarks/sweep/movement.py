"""Rows of programs that move data: transposes, strided slices, gathers, concatenations, halo exchanges."""

from __future__ import annotations

from benchmarks.sweep.measure import Build
from benchmarks.sweep.row import Point, Row
from simulator.poplar import CHAR, FLOAT, HALF, LONGLONG, UNSIGNED_INT, Graph, Tensor, Type, concat
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops, poputil

TILES = 1472
_TYPES = ((CHAR, 1), (HALF, 2), (FLOAT, 4))
STRIDES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64)
SIDES = (63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 1471, 1472, 1473)
#: elements that a strided slice takes
_TAKEN = 65_536


def _linear(graph: Graph, dtype: Type, shape: list[int], name: str) -> Tensor:
    tensor = graph.addVariable(dtype, shape, name)
    poputil.mapTensorLinearly(graph, tensor)
    return tensor


def transpose(dtype: Type, side: int) -> Build:
    """A square mapped linearly, transposed into another."""

    def build(graph: Graph, program: Sequence) -> None:
        source, target = (_linear(graph, dtype, [side, side], name) for name in ("source", "target"))
        program.add(Copy(source.transpose(), target))

    return build


def strided(dtype: Type, stride: int) -> Build:
    """Every `stride`-th element of a vector, into a vector of its own mapping."""

    def build(graph: Graph, program: Sequence) -> None:
        source = _linear(graph, dtype, [_TAKEN, stride], "source")
        target = _linear(graph, dtype, [_TAKEN], "target")
        program.add(Copy(source.slice(0, 1, 1).flatten(), target))

    return build


def concatenation(dtype: Type, length: int) -> Build:
    """Two vectors one after another in a third, so that the second lies on other tiles than its source."""

    def build(graph: Graph, program: Sequence) -> None:
        left, right = (_linear(graph, dtype, [length], name) for name in ("left", "right"))
        program.add(Copy(concat([left, right]), _linear(graph, dtype, [2 * length], "target")))

    return build


def gather(dtype: Type, rows: int) -> Build:
    """`rows` rows of 64 elements out of 4,096."""

    def build(graph: Graph, program: Sequence) -> None:
        table = popops.createGatherInput(graph, dtype, [4096, 64], 0, popops.GatherParams())
        indices = graph.addVariable(UNSIGNED_INT, [rows], "indices")
        poputil.mapTensorLinearly(graph, indices)
        popops.gather(graph, table, indices, 0, program, popops.GatherParams())

    return build


def halo(dtype: Type, side: int, dimensions: int) -> Build:
    """Blocks of side^dimensions, one a tile; each tile receives the faces of its neighbours."""
    grid = (32, 46) if dimensions == 2 else (8, 8, 23)

    def build(graph: Graph, program: Sequence) -> None:
        data = graph.addVariable(dtype, [*grid, *([side] * dimensions)], "blocks")
        blocks = data.reshape([TILES, side**dimensions])
        for tile in range(TILES):
            graph.setTileMapping(blocks[tile], tile)
        for axis in range(dimensions):
            face_axis = dimensions + axis
            low, high = (data.slice(at, at + 1, face_axis) for at in (0, side - 1))
            for name, face, begin in (("below", high, 0), ("above", low, 1)):
                sent = face.slice(begin, grid[axis] - 1 + begin, axis)
                target = graph.addVariable(dtype, sent.shape(), f"{name}{axis}")
                _map_beside(graph, target, grid, axis, 1 - begin)
                program.add(Copy(sent, target))

    return build


def _map_beside(graph: Graph, target: Tensor, grid: tuple[int, ...], axis: int, shift: int) -> None:
    """Map each received face to the tile of the block that it belongs to: `shift` further along the axis."""
    count = 1
    for extent in (*grid[:axis], grid[axis] - 1, *grid[axis + 1 :]):
        count *= extent
    faces = target.reshape([count, target.numElements() // count])
    inner = 1
    for extent in grid[axis + 1 :]:
        inner *= extent
    for number in range(count):
        outer, rest = divmod(number, (grid[axis] - 1) * inner)
        graph.setTileMapping(faces[number], outer * grid[axis] * inner + rest + shift * inner)


def rows(quick: bool) -> list[Row]:
    """All rows of moved data."""
    sides = SIDES[:9] if quick else SIDES
    found = []
    for dtype, size in (*_TYPES, (LONGLONG, 8)):
        name = str(dtype).lower()
        points = [
            Point(f"{s}", s, _TAKEN, strided(dtype, s), f"runs of {size} B" if s > 1 else "whole words")
            for s in (STRIDES[:6] if quick else STRIDES)
        ]
        found.append(Row(f"{name} slices of {_TAKEN:,} elements by stride", "stride", points))
    for dtype, size in _TYPES[1:]:
        name = str(dtype).lower()
        words = 4 // size
        points = [Point(f"{n}", n, n * n, transpose(dtype, n), _share(n * n, words)) for n in sides]
        found.append(Row(f"{name} transposes of squares", "side", points))
        lengths = [n * n for n in sides]
        points = [Point(f"{n:,}", n, n, concatenation(dtype, n), _joint(n, size)) for n in lengths]
        found.append(Row(f"{name} concatenations of two vectors", "length", points))
        counts = (63, 64, 65) if quick else (1, 2, 16, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025)
        points = [Point(f"{n}", n, n, gather(dtype, n), f"{n} row{'' if n == 1 else 's'}") for n in counts]
        found.append(Row(f"{name} gathers of rows of 64 from 4,096", "rows", points))
        for dimensions, extents in ((2, (4, 7, 8, 9, 15, 16, 17, 32, 64)), (3, (3, 4, 5, 7, 8, 9, 12))):
            chosen = extents[:4] if quick else extents
            points = [
                Point(
                    f"{n}", n, n, halo(dtype, n, dimensions), f"faces of {-(-(n ** (dimensions - 1)) // words)} words"
                )
                for n in chosen
            ]
            found.append(Row(f"{name} halo exchange in {dimensions} dimensions", "side of a block", points))
    return found


def _share(elements: int, grain: int) -> str:
    """The elements of the fullest tile of a vector mapped linearly, and whether they fill words."""
    share = -(-elements // TILES)
    return f"{share} elements on the fullest tile{'' if share % grain == 0 else ', no whole words'}"


def _joint(length: int, size: int) -> str:
    """Where the second of two vectors begins in the target."""
    share = max(-(-2 * length // TILES), 128 // size)
    place = "with a tile's share" if length % share == 0 else "inside a share"
    return f"shares of {share} elements, the second vector begins {place}"
