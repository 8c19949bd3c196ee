"""debug.verify: check the passes' results against the graph alone.

The check is slow and independent on purpose. It reads from vertices and copies what each tile needs and compares it
with what the planned exchanges deliver. A fault of `arrange`, `exchange` or `layout` then ends compilation with an
error instead of wrong figures. `simulator.runtime.address_accurate` makes the same check on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.exchanges import Exchanges
from simulator.compiler.ir.grouping import union_in_groups
from simulator.compiler.ir.transfers import Transfer
from simulator.compiler.lowering.arrange import ComputeArrangement
from simulator.compiler.lowering.arrange_copies import CopyArrangement, sender_offsets
from simulator.compiler.lowering.exchange_plans import CopyPlan, ExchangePlans
from simulator.compiler.lowering.packing import Packing
from simulator.compiler.memory.layout import ALIGNMENT, CODE_CATEGORIES
from simulator.machine.exchange import LAUNCH_CYCLES, MAX_WORDS_PER_SEND, WORD_BYTES

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


_CODE = [model.CATEGORIES.index(name) for name in CODE_CATEGORIES]


def verify_exchanges(store: GraphStore, plans: ExchangePlans, emap: ElementMap) -> None:
    """Raises poplar_error for an exchange that does not deliver what its vertices or its copy need, or whose figures
    differ from its transfer. `plans` must hold their arrangements."""
    blocks: dict[int, list[VertexBlock]] = {}
    for block in store.blocks:
        blocks.setdefault(block.compute_set, []).append(block)
    for compute_set, plan in plans.computes.items():
        if not isinstance(plan.arranged, ComputeArrangement):
            continue
        name = store.compute_set_names[compute_set]
        reads, writes = _remote_accesses(blocks.get(compute_set, []), emap)
        _check_delivery(f"before compute set '{name}'", reads, plan.arranged.before, emap, receiving=True)
        _check_delivery(f"after compute set '{name}'", writes, plan.arranged.after, emap, receiving=False)
        _check_figures(f"before compute set '{name}'", plan.arranged.before, plan.before, plans)
        _check_figures(f"after compute set '{name}'", plan.arranged.after, plan.after, plans)
        after, landing = plan.arranged.after, plan.arranged.landing.rows
        _check_words(f"after compute set '{name}'", after, after.start, landing, emap, plans)
        at, packing = sender_offsets(plan.arranged.before, emap), plan.arranged.packing
        before = _fewest_sends(plan.arranged.before, at if packing is None else packing.sent_from(at), plans)
        _check_packing(f"before compute set '{name}'", plan.arranged.before, packing)
        _check_limits(f"before compute set '{name}'", plan.before, before, plans)
        some = np.bincount(after.src, minlength=len(before)) > 0  # runs of output buffers are not known here
        _check_limits(f"after compute set '{name}'", plan.after, some.astype(np.int64), plans)
    for copy, programs in plans.copied:
        if isinstance(copy.arranged, CopyArrangement):
            _verify_copy(copy, copy.arranged, programs, plans, emap)


def _verify_copy(
    plan: CopyPlan, arranged: CopyArrangement, programs: Sequence[Any], plans: ExchangePlans, emap: ElementMap
) -> None:
    where, moved = f"of '{plan.label}'", arranged.transfer
    _check_copied(where, programs, moved, emap, plans)
    _check_figures(where, moved, plan.exchange, plans)
    _check_words(where, moved, arranged.sent.to, arranged.landing.rows, emap, plans)
    at, packing = sender_offsets(moved, emap), arranged.packing
    sends = _fewest_sends(moved, at if packing is None else packing.sent_from(at), plans)
    _check_limits(where, plan.exchange, sends, plans)
    _check_packing(where, moved, packing)


def verify_layout(lowered: Sequence[model.LoweredTile], classes: model.EquivalenceClasses) -> None:
    """Raises poplar_error for two allocations of a tile that share a byte while both are live, and for code that is not
    aligned."""
    for tile in lowered:
        _check_overlap(tile, classes)
        code = np.isin(tile.category, _CODE)
        misaligned = np.flatnonzero(code & (np.asarray(tile.address) % ALIGNMENT != 0))
        if len(misaligned):
            at = int(tile.address[misaligned[0]])
            raise _fault(f"code of tile {tile.tile} begins at byte {at}, which is not a multiple of {ALIGNMENT}")


def _remote_accesses(blocks: Sequence[VertexBlock], emap: ElementMap) -> tuple[list[Transfer], list[Transfer]]:
    """(remote reads, remote writes) of vertices, as runs between an element's tile and the vertex's."""
    reads: list[Transfer] = []
    writes: list[Transfer] = []
    for block in blocks:
        for name, edges in block.edges.items():
            pieces = emap.cut(edges.starts, edges.lengths)
            vertex = block.tiles.astype(np.int64)[edges.vertex_of_region(len(block))[pieces.region]]
            element_tile, size = emap.tile[pieces.row], emap.item_bytes[pieces.row]
            away = element_tile != vertex
            columns = [c[away] for c in (element_tile, vertex, pieces.start, pieces.length, size)]
            direction = block.type.fields_by_name[name].direction
            if direction in ("in", "inout"):
                reads.append(Transfer(*columns))
            if direction in ("out", "inout"):
                writes.append(Transfer(columns[1], columns[0], *columns[2:]))
    return reads, writes


def _check_delivery(where: str, needed: list[Transfer], sent: Transfer, emap: ElementMap, *, receiving: bool) -> None:
    """Check that the transfer contains every needed run, and that its runs lie on the tiles it says."""
    element_tile = sent.src if receiving else sent.dst
    lies = emap.tile[emap.find(sent.start)] if len(sent) else element_tile
    wrong = np.flatnonzero(lies != element_tile)
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


def _check_copied(where: str, copies: Sequence[Any], moved: Transfer, emap: ElementMap, plans: ExchangePlans) -> None:
    """Check the bytes that a copy sends to each tile against a count element by element."""
    tiles = len(plans.machine.ipu_of_tile)
    expected = np.zeros(tiles, np.int64)
    for copy in copies:
        to = regions.elements(*copy.destination.regions())
        row = emap.find(regions.elements(*copy.source.regions()))
        src, dst = emap.tile[row], emap.tile[emap.find(to)]
        crosses = (src != dst) & ~plans.fills[emap.variable[row]]
        expected += np.bincount(dst[crosses], weights=emap.item_bytes[row[crosses]], minlength=tiles).astype(np.int64)
    between = moved.src != moved.dst
    sent = np.bincount(moved.dst[between], weights=moved.bytes[between], minlength=tiles).astype(np.int64)
    wrong = np.flatnonzero(sent != expected)
    if len(wrong):
        tile = int(wrong[0])
        raise _fault(
            f"the exchange {where} brings {int(sent[tile])} bytes to tile {tile} in place of {int(expected[tile])}"
        )


def _check_figures(where: str, moved: Transfer, planned: Exchanges, plans: ExchangePlans) -> None:
    """Check the received bytes of each tile against the transfer's rows."""
    tiles = len(plans.machine.ipu_of_tile)
    between = moved.src != moved.dst  # rows within a tile are no traffic
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


def _check_words(
    where: str, moved: Transfer, to: Int64Array, landing: BoolArray, emap: ElementMap, plans: ExchangePlans
) -> None:
    """Check, element by element, that every word that an exchange writes within an IPU comes whole from one tile, or is
    the last of its variable on the tile."""
    of_tile = plans.machine.ipu_of_tile
    straight = ~landing & (of_tile[moved.src] == of_tile[moved.dst])
    rows, target = moved.take(straight), to[straight]
    if not len(rows):
        return
    element = regions.elements(target, rows.length)
    row = emap.find(element)
    offset, size = emap.offset(row, element), emap.item_bytes[row]
    sender, receiver = np.repeat(rows.src, rows.length), np.repeat(rows.dst, rows.length)
    ends = (offset + size == emap.held[row] * size).astype(np.int64)
    words = np.stack([receiver, emap.variable[row], offset // WORD_BYTES])
    _, first, number = np.unique(words, axis=1, return_index=True, return_inverse=True)
    number = np.ravel(number)
    filled = np.bincount(number, size)
    mixed = np.bincount(number, sender != sender[first][number])
    wrong = np.flatnonzero((mixed > 0) | ((filled % WORD_BYTES != 0) & (np.bincount(number, ends) == 0)))
    if len(wrong):
        at = first[wrong[0]]
        raise _fault(
            f"the exchange {where} writes {int(filled[wrong[0]])} bytes of the word of element {int(element[at])} "
            f"on tile {int(receiver[at])}"
        )


def _check_limits(where: str, planned: Exchanges, sends: Int64Array, plans: ExchangePlans) -> None:
    """Check that no tile moves more than a word a cycle each way (two received where its bus partner receives the
    same), and that it has cycles and code for the instructions of what it sends and receives: `sends` at the least,
    three for each fragment."""
    exchange, rate = planned.internal, plans.machine.exchange_rate
    if exchange is None:
        return
    fragments = exchange.rx_fragments
    busy = (exchange.rx > 0) | (exchange.tx > 0)
    least = np.maximum(exchange.rx / (2 * rate), exchange.tx / rate)
    least = np.maximum(least, 3 * np.maximum(fragments - 1, 0) + sends)
    late = np.flatnonzero(busy & (exchange.cycles - LAUNCH_CYCLES < np.floor(least)))
    code = np.flatnonzero(busy & (exchange.code < 12 * fragments + 4 * sends))
    for tiles, what in ((late, "cycles"), (code, "bytes of code")):
        if len(tiles):
            tile = int(tiles[0])
            raise _fault(
                f"the exchange {where} has too few {what} on tile {tile}: it receives {int(exchange.rx[tile])} bytes "
                f"in {int(exchange.rx_fragments[tile])} fragments and sends {int(exchange.tx[tile])}"
            )


def _fewest_sends(rows: Transfer, at: Int64Array, plans: ExchangePlans) -> Int64Array:
    """Per tile the runs of memory that it sends within its IPU, what several tiles receive counted once, each as often
    as one send needs to be repeated for it. Row i lies at byte `at[i]` of its sender."""
    of_tile = plans.machine.ipu_of_tile
    mine = np.flatnonzero((of_tile[rows.src] == of_tile[rows.dst]) & (rows.src != rows.dst))
    order = mine[np.lexsort((at[mine], rows.src[mine]))]
    src, begin, end = rows.src[order], at[order], (at + rows.bytes)[order]
    words = np.zeros(len(of_tile), np.int64)
    tile = reach = -1
    first = 0
    for s, b, e in zip(src.tolist(), begin.tolist(), end.tolist(), strict=True):  # slow and obvious on purpose
        if s != tile or b > reach:
            tile, first, reach = s, b, b
            words[s] += 1
        reach = max(reach, e)
        if reach - first > WORD_BYTES * MAX_WORDS_PER_SEND:
            words[s] += 1
            first = reach
    return words


def _check_packing(where: str, transfer: Transfer, packing: Packing | None) -> None:
    """Check, byte by byte, that no sender puts two bytes into one place of its pack buffer, and that all fit."""
    if packing is None:
        return
    rows, size = transfer.take(packing.rows), transfer.bytes[packing.rows]
    sender = np.repeat(rows.src, size)
    place = regions.elements(packing.place, size)
    within, item = regions.elements(np.zeros_like(size), size), np.repeat(rows.item_bytes, size)
    byte = (np.repeat(rows.start, size) + within // item) * item + within % item
    beyond = np.flatnonzero(place >= packing.copy.buffer[sender])
    if len(beyond):
        raise _fault(f"the pack buffer {where} is too small on tile {int(sender[beyond[0]])}")
    _, first, number = np.unique(np.stack([sender, place]), axis=1, return_index=True, return_inverse=True)
    mixed = np.flatnonzero(byte != byte[first][np.ravel(number)])
    if len(mixed):
        at = mixed[0]
        raise _fault(f"the pack buffer {where} holds two bytes at offset {int(place[at])} of tile {int(sender[at])}")


def _check_overlap(tile: model.LoweredTile, classes: model.EquivalenceClasses) -> None:
    order = np.argsort(tile.address, kind="stable")
    address, class_ = np.asarray(tile.address)[order], np.asarray(tile.eq_class)[order]
    top = address + np.asarray(tile.bytes)[order]
    for distance in range(1, len(order)):
        near = np.flatnonzero((address[distance:] < top[:-distance]) & (top[distance:] > address[distance:]))
        if len(near) == 0 and (address[distance:] >= np.maximum.accumulate(top)[:-distance]).all():
            return
        for i in near.tolist():
            if _live_together(int(class_[i]), int(class_[i + distance]), classes):
                raise _fault(
                    f"on tile {tile.tile} two allocations that are live at the same time lie at bytes "
                    f"{int(address[i])} to {int(top[i])} and {int(address[i + distance])} to {int(top[i + distance])}"
                )


def _live_together(one: int, other: int, classes: model.EquivalenceClasses) -> bool:
    if one < 0 or other < 0 or one == other:
        return True
    spans = []
    for c in (one, other):
        rows = slice(int(classes.offsets[c]), int(classes.offsets[c + 1]))
        spans.append(list(zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True)))
    return any(a < d and c < b for a, b in spans[0] for c, d in spans[1])


def _fault(what: str) -> poplar_error:
    return poplar_error(f"debug.verify: {what}; this is a fault of the compiler, not of the program.")
