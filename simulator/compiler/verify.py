"""debug.verify: look at what the passes made again, from the graph alone.

Slow and independent on purpose: what a tile needs is read from the vertices and copies as the program gave them, and
laid beside what the planned exchanges deliver; a fault of `arrange`, `exchange` or `layout` then ends compilation with
a sentence in place of wrong figures. `simulator.runtime.address_accurate` is the same question asked of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.formats.profile import model
from simulator.base import regions
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.exchanges import Exchanges
from simulator.compiler.ir.grouping import union_in_groups
from simulator.compiler.ir.transfers import Transfer
from simulator.compiler.lowering.arrange import ComputeArrangement
from simulator.compiler.lowering.arrange_copies import CopyArrangement
from simulator.compiler.lowering.items import Items
from simulator.compiler.memory.layout import ALIGNMENT, CODE_CATEGORIES

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


_CODE = [model.CATEGORIES.index(name) for name in CODE_CATEGORIES]


def verify_exchanges(store: GraphStore, items: Items, emap: ElementMap) -> None:
    """Raises poplar_error when an exchange does not deliver what the vertices or the copy behind it need, or when its
    figures are not those of what it moves. `items` must have kept their arrangements."""
    blocks: dict[int, list[VertexBlock]] = {}
    for block in store.blocks:
        blocks.setdefault(block.compute_set, []).append(block)
    for compute_set, item in items.computes.items():
        if not isinstance(item.arranged, ComputeArrangement):
            continue
        name = store.compute_set_names[compute_set]
        reads, writes = _needs_of(blocks.get(compute_set, []), emap)
        _check_delivery(f"before compute set '{name}'", reads, item.arranged.before, emap, receiving=True)
        _check_delivery(f"after compute set '{name}'", writes, item.arranged.after, emap, receiving=False)
        _check_figures(f"before compute set '{name}'", item.arranged.before, item.before, items)
        _check_figures(f"after compute set '{name}'", item.arranged.after, item.after, items)
    for copy, sources in items.copied:
        if isinstance(copy.arranged, CopyArrangement):
            moved = copy.arranged.transfer
            _check_copied(f"of '{copy.label}'", sources, moved, emap, items)
            _check_figures(f"of '{copy.label}'", moved, copy.exchange, items)


def verify_layout(lowered: Sequence[model.LoweredTile], classes: model.EquivalenceClasses) -> None:
    """Raises poplar_error when two allocations of a tile that are live at the same time share a byte, or when code does
    not begin where instructions may."""
    for tile in lowered:
        _check_overlap(tile, classes)
        code = np.isin(tile.category, _CODE)
        askew = np.flatnonzero(code & (np.asarray(tile.address) % ALIGNMENT != 0))
        if len(askew):
            at = int(tile.address[askew[0]])
            raise _fault(f"code of tile {tile.tile} begins at byte {at}, which is no multiple of {ALIGNMENT}")


def _needs_of(blocks: Sequence[VertexBlock], emap: ElementMap) -> tuple[list[Transfer], list[Transfer]]:
    """(what vertices read, what they write) away from home, as runs between an element's tile and the vertex's."""
    reads: list[Transfer] = []
    writes: list[Transfer] = []
    for block in blocks:
        for name, edges in block.edges.items():
            pieces = emap.cut(edges.starts, edges.lengths)
            vertex = block.tiles.astype(np.int64)[edges.vertex_of_region(len(block))[pieces.region]]
            home, size = emap.tile[pieces.row], emap.item_bytes[pieces.row]
            away = home != vertex
            columns = [c[away] for c in (home, vertex, pieces.start, pieces.length, size)]
            direction = block.type.fields_by_name[name].direction
            if direction in ("in", "inout"):
                reads.append(Transfer(*columns))
            if direction in ("out", "inout"):
                writes.append(Transfer(columns[1], columns[0], *columns[2:]))
    return reads, writes


def _check_delivery(where: str, needed: list[Transfer], sent: Transfer, emap: ElementMap, *, receiving: bool) -> None:
    """Every needed run is part of what goes that way, and what goes comes from (or to) where its elements lie."""
    home = sent.src if receiving else sent.dst
    lies = emap.tile[emap.find(sent.start)] if len(sent) else home
    wrong = np.flatnonzero(lies != home)
    if len(wrong):
        i = wrong[0]
        raise _fault(
            f"the exchange {where} moves element {int(sent.start[i])} between tiles {int(sent.src[i])} and "
            f"{int(sent.dst[i])}, but it lies on tile {int(lies[i])}"
        )
    away = sent.dst if receiving else sent.src
    span = int(max([(t.start + t.length).max(initial=0) for t in (*needed, sent)], default=0))
    group, start, length = union_in_groups(away, sent.start, sent.length, span)
    begin, end = group * (span + 1) + start, group * (span + 1) + start + length
    for run in needed:
        place = (run.dst if receiving else run.src) * (span + 1) + run.start
        row = np.searchsorted(begin, place, side="right") - 1
        covered = (row >= 0) & (place + run.length <= np.append(end, 0)[row])
        missing = np.flatnonzero(~covered)
        if len(missing):
            i = missing[0]
            raise _fault(
                f"the exchange {where} does not bring elements {int(run.start[i])} to "
                f"{int(run.start[i] + run.length[i])} from tile {int(run.src[i])} to tile {int(run.dst[i])}"
            )


def _check_copied(where: str, copies: Sequence[Any], moved: Transfer, emap: ElementMap, items: Items) -> None:
    """A copy sends each tile as many bytes as it has elements there whose source lies elsewhere, element by element."""
    tiles = len(items.machine.ipu_of_tile)
    expected = np.zeros(tiles, np.int64)
    for copy in copies:
        to = regions.elements(*copy.destination.regions())
        row = emap.find(regions.elements(*copy.source.regions()))
        src, dst = emap.tile[row], emap.tile[emap.find(to)]
        crosses = (src != dst) & ~items.fills[emap.variable[row]]
        expected += np.bincount(dst[crosses], weights=emap.item_bytes[row[crosses]], minlength=tiles).astype(np.int64)
    between = moved.src != moved.dst
    sent = np.bincount(moved.dst[between], weights=moved.bytes[between], minlength=tiles).astype(np.int64)
    wrong = np.flatnonzero(sent != expected)
    if len(wrong):
        tile = int(wrong[0])
        raise _fault(
            f"the exchange {where} brings {int(sent[tile])} bytes to tile {tile} in place of {int(expected[tile])}"
        )


def _check_figures(where: str, moved: Transfer, planned: Exchanges, items: Items) -> None:
    """The bytes that each tile is said to receive are those of the runs that go to it."""
    tiles = len(items.machine.ipu_of_tile)
    between = moved.src != moved.dst  # rows within a tile ride along and are no traffic
    expected = np.bincount(moved.dst[between], weights=moved.bytes[between], minlength=tiles).astype(np.int64)
    received, messages = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    for exchange in (planned.internal, planned.between_ipus):
        if exchange is not None:
            received += exchange.rx
            messages += np.bincount(exchange.dst, weights=exchange.size, minlength=tiles).astype(np.int64)
    for what, bytes_ in (("receives", received), ("gets messages of", messages)):
        wrong = np.flatnonzero(bytes_ != expected)
        if len(wrong):
            tile = int(wrong[0])
            raise _fault(
                f"in the exchange {where} tile {tile} {what} {int(bytes_[tile])} bytes in place of "
                f"{int(expected[tile])}"
            )


def _check_overlap(tile: model.LoweredTile, classes: model.EquivalenceClasses) -> None:
    order = np.argsort(tile.address, kind="stable")
    address, class_ = np.asarray(tile.address)[order], np.asarray(tile.eq_class)[order]
    top = address + np.asarray(tile.bytes)[order]
    for distance in range(1, len(order)):
        near = np.flatnonzero((address[distance:] < top[:-distance]) & (top[distance:] > address[distance:]))
        if len(near) == 0 and (address[distance:] >= np.maximum.accumulate(top)[:-distance]).all():
            return
        for i in near.tolist():
            if _together(int(class_[i]), int(class_[i + distance]), classes):
                raise _fault(
                    f"on tile {tile.tile} two allocations that are live at the same time lie at bytes "
                    f"{int(address[i])} to {int(top[i])} and {int(address[i + distance])} to {int(top[i + distance])}"
                )


def _together(one: int, other: int, classes: model.EquivalenceClasses) -> bool:
    if one < 0 or other < 0 or one == other:
        return True
    spans = []
    for c in (one, other):
        rows = slice(int(classes.offsets[c]), int(classes.offsets[c + 1]))
        spans.append(list(zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)))
    return any(a < d and c < b for a, b in spans[0] for c, d in spans[1])


def _fault(what: str) -> poplar_error:
    return poplar_error(f"debug.verify: {what}; this is a fault of the compiler, not of the program.")
