"""Rows of what surrounds products in networks: reductions, layer norm, softmax."""

from __future__ import annotations

from benchmarks.sweep.measure import Build
from benchmarks.sweep.row import Point, Row
from simulator.poplar import FLOAT, HALF, Graph, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import popnn, popops, poputil

SIDES = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025)
_HEADS = 12
_HIDDEN = 768


def reduction(dtype: Type, rows: int, columns: int, axis: int) -> Build:
    """The sum along one axis of a matrix mapped linearly."""

    def build(graph: Graph, program: Sequence) -> None:
        source = graph.addVariable(dtype, [rows, columns], "source")
        poputil.mapTensorLinearly(graph, source)
        popops.reduce(graph, source, dtype, [axis], popops.ReduceParams(popops.Operation.ADD), program)

    return build


def layer_norm(dtype: Type, tokens: int) -> Build:
    """Statistics and normalised activations of [tokens, hidden]."""

    def build(graph: Graph, program: Sequence) -> None:
        acts = graph.addVariable(dtype, [tokens, _HIDDEN], "acts")
        poputil.mapTensorLinearly(graph, acts)
        gamma, beta = (graph.addVariable(dtype, [_HIDDEN], name) for name in ("gamma", "beta"))
        for tensor in (gamma, beta):
            poputil.mapTensorLinearly(graph, tensor)
        mean, deviation = popnn.ln.layerNormStatistics(graph, acts, 1e-5, program, False, True, FLOAT)
        popnn.ln.layerNormalise(graph, acts, gamma, beta, mean, deviation, program)

    return build


def softmax(dtype: Type, side: int) -> Build:
    """Softmax of [heads, side, side] scores."""

    def build(graph: Graph, program: Sequence) -> None:
        scores = graph.addVariable(dtype, [_HEADS, side, side], "scores")
        poputil.mapTensorLinearly(graph, scores)
        popnn.nonLinearityInPlace(graph, popnn.NonLinearityType.SOFTMAX_STABLE, scores, program)

    return build


def rows(quick: bool) -> list[Row]:
    """All rows of reductions and norms."""
    sides = SIDES[:9] if quick else SIDES
    found = []
    for dtype in (HALF, FLOAT):
        name = str(dtype).lower()
        for axis, what in ((0, "columns"), (1, "rows")):
            points = [Point(f"{n}", n, n * n, reduction(dtype, n, n, axis), _share(n * n, n, dtype)) for n in sides]
            found.append(Row(f"{name} sums of the {what} of squares", "side", points))
        points = [Point(f"{n}", n, n, layer_norm(dtype, n), _share(n * _HIDDEN, _HIDDEN, dtype)) for n in sides]
        found.append(Row(f"{name} layer norm of [tokens, {_HIDDEN}]", "tokens", points))
        chosen = [n for n in sides if n <= 513]
        points = [Point(f"{n}", n, n * n, softmax(dtype, n), _share(_HEADS * n * n, n, dtype)) for n in chosen]
        found.append(Row(f"{name} softmax of [{_HEADS}, rows, rows]", "rows", points))
    return found


def _share(elements: int, row: int, dtype: Type) -> str:
    """The elements of the fullest tile of a tensor mapped linearly (128 bytes at least), and how rows lie on tiles."""
    share = max(-(-elements // 1472), 128 // dtype.size)
    ends = "rows end with tiles" if share % row == 0 or row % share == 0 else "rows end inside tiles"
    return f"{share} elements on the fullest tile, {ends}"
