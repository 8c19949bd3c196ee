"""The memory columns of a report: lay out an inventory and sum it up by tile, category and position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import Int64Array, IntegerArray
from simulator.base.options.compile import CompileSettings
from simulator.compiler.ir.static_order import StaticOrder
from simulator.compiler.machine import Machine
from simulator.compiler.memory.allocation_parts import Parts, split_by_part
from simulator.compiler.memory.inventory import CATEGORY_NUMBER, Allocations, Inventory
from simulator.compiler.memory.layout import CODE_CATEGORIES, LayoutConstraints, check_fixed, lay_out
from simulator.compiler.memory.liveness import LiveClasses
from simulator.compiler.memory.lowered_tiles import LoweredTiles, lowered_tiles
from simulator.compiler.memory.overlap import Coverage, coverage
from simulator.compiler.memory.verify_constraints import verify_constraints
from simulator.machine.targets import FETCH_AHEAD


@dataclass(frozen=True)
class MemoryReport:
    """The memory columns of `model.Compilation`, by the same names."""

    tile_memory: model.TileMemory
    category_memory: Sequence[model.CategoryMemory]
    variables: model.Variables
    eq_classes: model.EquivalenceClasses
    liveness: model.Liveness
    vars_info: tuple[Int64Array, Int64Array, Int64Array, Int64Array]
    lowered: LoweredTiles
    lowered_names: list[str]
    part_of: list[int]  #: graph variable of each of the last rows of `variables`, its parts
    terms: Sequence[model.CostTerm] = ()
    high_code: int = 0  #: tiles with code above the border, where it cannot run
    high_state: int = 0  #: tiles with vertex state above the border despite opt.limitVertexStateToLower256K


def memory_report(
    inventory: Inventory,
    live: LiveClasses,
    parts: Parts | None,
    order: StaticOrder,
    machine: Machine,
    constraints: LayoutConstraints,
    settings: CompileSettings,
) -> MemoryReport:
    """Lay out an inventory and sum it up."""
    a = inventory.finish()
    by_part = split_by_part(a, parts, inventory)
    pieces = by_part.rows
    temps = pieces.take(pieces.live_class >= 0)
    by_class = bytes_of_classes(temps.live_class, temps.tile, temps.bytes, len(live), machine.tiles)
    peak = peak_by_tile(by_class, live)
    low_state = settings.limit_vertex_state
    border, capacity = machine.region_split, machine.usable_bytes
    address = lay_out(a, live, machine.tiles, border, constraints, peak, low_state=low_state, capacity=capacity)
    check_fixed(a, constraints.addresses(a), address, inventory.names)
    if settings.verify:
        verify_constraints(a, address, live, constraints, machine.region_split, inventory.names)
    # By the file's rows, so that readers of the file compute the same owner of a byte.
    place = address[by_part.owner] + by_part.offset
    cover = coverage(pieces.tile, place, pieces.bytes, machine.region_split, machine.usable_bytes)
    return MemoryReport(
        _tile_memory(pieces, place, cover, peak, machine),
        _category_memory(pieces, cover, machine),
        inventory.variables(pieces),
        model.EquivalenceClasses(live.offsets, live.starts, live.ends),
        _liveness(by_class, live, order, machine),
        _vars_info(a, len(inventory.names)),
        lowered_tiles(pieces, place, machine, settings.tiles_at_a_time),
        inventory.names,
        inventory.part_of,
        inventory.terms,
        _tiles_above(a, address, CODE_CATEGORIES, machine.region_split - FETCH_AHEAD),
        _tiles_above(a, address, ("vertexInstanceState",), machine.region_split) if low_state else 0,
    )


def _tile_memory(
    a: Allocations, address: Int64Array, cover: Coverage, peak: Int64Array, machine: Machine
) -> model.TileMemory:
    tiles = machine.tiles
    including = np.zeros(tiles, np.int64)
    np.maximum.at(including, a.tile, address + a.bytes)
    used = cover.alone + cover.overlapped
    return model.TileMemory(
        including_gaps=including,
        excluding_gaps=_sum(a.tile, used.sum(axis=0), tiles),
        always_live=_sum(a.tile, np.where(a.live_class < 0, a.bytes, 0), tiles),
        not_always_live=peak,
        overflowed=_sum(a.tile, used[2], tiles),
    )


def _tiles_above(a: Allocations, address: Int64Array, categories: Sequence[str], limit: int) -> int:
    """Tiles with an allocation of these categories that ends above an offset."""
    of_them = np.isin(a.category, [CATEGORY_NUMBER[name] for name in categories])
    return len(np.unique(a.tile[of_them & (address + a.bytes > limit)]))


def _category_memory(a: Allocations, cover: Coverage, machine: Machine) -> list[model.CategoryMemory]:
    tables = []
    n = len(model.CATEGORIES)
    key = a.category * machine.tiles + a.tile
    for overlapped, figures in ((False, cover.alone), (True, cover.overlapped)):
        for region, title in enumerate(model.REGIONS):
            dense = _sum(key, figures[region], n * machine.tiles).reshape(n, machine.tiles)
            for category in np.flatnonzero(dense.any(axis=1)).tolist():
                for ipu in range(machine.num_ipus):
                    part = dense[category, machine.tiles_of(ipu)]
                    if part.any():
                        name = model.CATEGORIES[category]
                        tables.append(model.CategoryMemory(name, title, overlapped, ipu, part.copy()))
    return tables


def _liveness(by_class: Int64Array, live: LiveClasses, order: StaticOrder, machine: Machine) -> model.Liveness:
    ipus = by_class.reshape(len(live), machine.num_ipus, machine.tiles_per_ipu).sum(axis=2)
    sums = sums_by_position(ipus, live, len(order))
    columns: list[IntegerArray] = [sums[:, ipu].copy() for ipu in range(machine.num_ipus)]
    return model.Liveness(np.array(order.program, np.int64), sums.sum(axis=1), columns)


def _vars_info(a: Allocations, names: int) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    n = len(model.CATEGORIES)
    key, inverse = np.unique((a.tile * n + a.category) * names + a.name, return_inverse=True)
    total = _sum(inverse, a.bytes, len(key))
    return key // names // n, key // names % n, key % names, total


def _sum(key: Int64Array, value: Int64Array, n: int) -> Int64Array:
    return np.bincount(key, weights=value, minlength=n).astype(np.int64)


def bytes_of_classes(class_: Int64Array, tile: Int64Array, size: Int64Array, n_classes: int, tiles: int) -> Int64Array:
    """Bytes of each class on each tile, (classes, tiles)."""
    place = class_ * tiles
    place += tile
    total = np.zeros(n_classes * tiles, np.int64)
    np.add.at(total, place, size)
    return total.reshape(n_classes, tiles)


def sums_by_position(bytes_: Int64Array, classes: LiveClasses, positions: int) -> Int64Array:
    """Bytes live at each position; `bytes_` has a row per class and a few columns: (positions, columns)."""
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    change = np.zeros((positions + 1, bytes_.shape[1]), np.int64)
    np.add.at(change, classes.starts, bytes_[owner])
    np.subtract.at(change, classes.ends, bytes_[owner])
    return np.asarray(np.cumsum(change[:-1], axis=0), dtype=np.int64)


def peak_by_tile(bytes_: Int64Array, classes: LiveClasses) -> Int64Array:
    """Each tile's largest sum of live bytes over all positions; `bytes_` is (classes, tiles).

    A sweep along the positions keeps one sum per tile; it can be largest only where a range begins."""
    tiles = bytes_.shape[1]
    now, peak = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    by_start, by_end = (np.argsort(at, kind="stable") for at in (classes.starts, classes.ends))
    ended = 0
    ends, dying = classes.ends[by_end].tolist(), owner[by_end].tolist()
    starts, born = classes.starts[by_start].tolist(), owner[by_start].tolist()
    for i, (start, row) in enumerate(zip(starts, born, strict=True)):
        while ended < len(ends) and ends[ended] <= start:
            now -= bytes_[dying[ended]]
            ended += 1
        now += bytes_[row]
        if i + 1 == len(starts) or starts[i + 1] > start:
            np.maximum(peak, now, out=peak)
    return peak
