"""Places for the nodes of a drawing in layers, from top to bottom (Sugiyama, Tagawa and Toda 1981).

Nodes have a rank: edges from a lower to a higher one point down and decide the layers (longest path); the others point
back, and the caller draws them. An edge that passes layers has a bend in each of them. The order
within layers follows the mean place of the neighbours, down and up in turn; then nodes are pushed towards that mean as
far as the width of their neighbours allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popvision.arrays import Float64Array, Int64Array

#: Sweeps over all layers; drawings of some dozens of nodes settle earlier.
_SWEEPS = 8

#: Bends of one drawing; edges beyond are drawn straight.
_MOST_BENDS = 1_500


@dataclass(frozen=True)
class Layout:
    """`x[n]` = middle of node n (the leftmost edge of the drawing is 0), `layer[n]` counts from the top, `width` of the
    drawing. `bends[e]` = (x, layer) of edge e between its ends, in order; empty for edges that point back."""

    x: Float64Array
    layer: Int64Array
    width: float
    bends: list[list[tuple[float, int]]]


def layered_layout(rank: Sequence[float], edges: Sequence[tuple[int, int]], width: float, gap: float = 28.0) -> Layout:
    """Places of len(rank) nodes of one width, `gap` apart; `edges` are pairs of nodes."""
    n = len(rank)
    order = sorted(range(n), key=lambda node: (rank[node], node))
    place_in_order = {node: at for at, node in enumerate(order)}
    forward = [place_in_order[a] < place_in_order[b] for a, b in edges]
    layer = _layers(order, [edge for edge, is_forward in zip(edges, forward, strict=True) if is_forward], n)
    sizes = [width] * n
    links: list[tuple[int, int]] = []
    chains: list[list[int]] = []
    for (first, last), is_forward in zip(edges, forward, strict=True):
        chain: list[int] = []
        passed = layer[last] - layer[first] - 1 if is_forward else 0
        if is_forward:
            if len(sizes) - n + passed <= _MOST_BENDS:
                for at in range(layer[first] + 1, layer[last]):
                    chain.append(len(sizes))
                    layer.append(at)
                    sizes.append(gap / 2)
            links += list(zip([first, *chain], [*chain, last], strict=True))
        chains.append(chain)
    rows = _order_nodes(layer, links, place_in_order)
    x = _place_nodes(rows, links, sizes, gap)
    low = min((x[node] - sizes[node] / 2 for node in range(len(sizes))), default=0.0)
    high = max((x[node] + sizes[node] / 2 for node in range(len(sizes))), default=0.0)
    bends = [[(x[node] - low, layer[node]) for node in chain] for chain in chains]
    return Layout(np.array(x[:n], np.float64) - low, np.array(layer[:n], np.int64), high - low, bends)


def _layers(order: list[int], forward: list[tuple[int, int]], n: int) -> list[int]:
    """Longest path from the top; a node that only gives sinks to just above the first that takes."""
    layer = [0] * n
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for first, last in forward:
        above.setdefault(last, []).append(first)
        below.setdefault(first, []).append(last)
    for node in order:
        layer[node] = max((layer[each] + 1 for each in above.get(node, ())), default=0)
    for node in order:
        if node not in above and node in below:
            layer[node] = max(0, min(layer[each] for each in below[node]) - 1)
    return layer


def _order_nodes(layer: list[int], links: list[tuple[int, int]], rank: dict[int, int]) -> list[list[int]]:
    """Nodes of each layer from left to right."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in sorted(range(len(layer)), key=lambda node: rank.get(node, node)):
        rows[layer[node]].append(node)
    up, down = _neighbours(links)
    for sweep in range(_SWEEPS):
        sides = up if sweep % 2 == 0 else down
        place = {node: at / max(1, len(row) - 1) for row in rows for at, node in enumerate(row)}
        for row in rows if sweep % 2 == 0 else reversed(rows):
            mean = {node: _mean([place[each] for each in sides.get(node, ())], place[node]) for node in row}
            row.sort(key=lambda node: mean[node])
            place.update({node: at / max(1, len(row) - 1) for at, node in enumerate(row)})
    return rows


def _place_nodes(rows: list[list[int]], links: list[tuple[int, int]], sizes: list[float], gap: float) -> list[float]:
    """Middles: each row packed, then pushed towards its neighbours above and below in turn."""
    x = [0.0] * len(sizes)
    for row in rows:
        total = sum(sizes[node] + gap for node in row) - gap
        at = -total / 2
        for node in row:
            x[node] = at + sizes[node] / 2
            at += sizes[node] + gap
    up, down = _neighbours(links)
    for sweep in range(_SWEEPS):
        sides = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            _push_apart(row, [_mean([x[each] for each in sides.get(node, ())], x[node]) for node in row], x, sizes, gap)
    return x


def _push_apart(row: list[int], wanted: list[float], x: list[float], sizes: list[float], gap: float) -> None:
    """The row at its wanted places, apart by its widths: blocks that would overlap move to their common mean."""
    blocks: list[list[float]] = []  # sum of wanted places of the first node, nodes, width
    for node, at in zip(row, wanted, strict=True):
        size = sizes[node] + gap
        blocks.append([at - size / 2, 1, size])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] + blocks[-2][2] > blocks[-1][0] / blocks[-1][1]:
            first, count, width = blocks.pop()
            blocks[-1][0] += first - count * blocks[-1][2]
            blocks[-1][1] += count
            blocks[-1][2] += width
    nodes = iter(row)
    for first, count, _ in blocks:
        at = first / count
        for _ in range(int(count)):
            node = next(nodes)
            size = sizes[node] + gap
            x[node] = at + size / 2
            at += size


def _neighbours(links: list[tuple[int, int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    up: dict[int, list[int]] = {}
    down: dict[int, list[int]] = {}
    for first, last in links:
        up.setdefault(last, []).append(first)
        down.setdefault(first, []).append(last)
    return up, down


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
