"""Memory of a generated report: slots on each tile, each holding one always-live variable or several in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.arrays import BoolArray, IntegerArray
from popvision.formats.profile.model import (
    CATEGORIES,
    CategoryMemory,
    EquivalenceClasses,
    Liveness,
    LoweredTile,
    TileMemory,
    Variables,
)

#: Variables that share a slot, one after the other; an always-live variable has a slot of its own.
_SHARING = 4
_CODE = ("vertexCode", "controlCode", "internalExchangeCode", "stack", "vertexInstanceState")
_MOST_ROWS = 1_000_000

VarsInfo = tuple[IntegerArray, IntegerArray, IntegerArray, IntegerArray]


@dataclass(frozen=True)
class Memory:
    tile_memory: TileMemory
    category_memory: list[CategoryMemory]
    variables: Variables
    eq_classes: EquivalenceClasses
    liveness: Liveness
    lowered: list[LoweredTile]
    names: list[str]
    vars_info: VarsInfo


@dataclass(frozen=True)
class _Shape:
    """Columns over variables: slot, category; classes in order of the variables that are not always live."""

    slot: IntegerArray
    category: IntegerArray
    eq_class: IntegerArray
    starts: IntegerArray
    ends: IntegerArray


def build(
    per_tile: int,
    indices: int,
    leaves: IntegerArray,
    ipus: int,
    tiles: int,
    capacity: int,
    split: int,
    rng: np.random.Generator,
) -> Memory:
    """`per_tile` allocations on each tile, `indices` liveness indices over `leaves` in static order."""
    shape = _shape(max(per_tile, len(_CODE) + _SHARING), indices, rng)
    total_tiles = ipus * tiles
    slots = int(shape.slot.max()) + 1
    size = _sizes(total_tiles, slots, capacity, rng)
    address = np.zeros_like(size)
    np.cumsum(_aligned(size)[:, :-1], axis=1, out=address[:, 1:])
    names = _names(shape)
    lowered = [_tile(tile, shape, size[tile], address[tile], split) for tile in range(total_tiles)]
    interleaved = address >= split
    return Memory(
        tile_memory=_totals(shape, size, address, indices),
        category_memory=_categories(shape, size, interleaved, ipus, tiles),
        variables=Variables(
            name=names,
            debug_id=np.full(len(names), -1),
            bytes=size.sum(axis=0)[shape.slot],
            always_live=shape.eq_class < 0,
            eq_class=shape.eq_class,
        ),
        eq_classes=EquivalenceClasses(np.arange(len(shape.starts) + 1), shape.starts, shape.ends),
        liveness=_liveness(shape, size, indices, leaves, ipus),
        lowered=lowered,
        names=names,
        vars_info=_vars_info(shape, size, names),
    )


def _shape(count: int, indices: int, rng: np.random.Generator) -> _Shape:
    """The first 40 % of the variables are always live, the code categories among them; the rest share slots."""
    always = max(len(_CODE), count * 2 // 5)
    changing = max(1, (count - always) // _SHARING) * _SHARING
    slot = np.concatenate([np.arange(always), always + np.arange(changing) // _SHARING])
    category = np.full(always + changing, CATEGORIES.index("variable"))
    category[: len(_CODE)] = [CATEGORIES.index(name) for name in _CODE]
    cuts = np.sort(rng.integers(0, indices + 1, (changing // _SHARING, _SHARING + 1)), axis=1)
    eq_class = np.concatenate([np.full(always, -1), np.arange(changing)])
    return _Shape(slot, category, eq_class, cuts[:, :-1].ravel(), cuts[:, 1:].ravel())


def _sizes(tiles: int, slots: int, capacity: int, rng: np.random.Generator) -> IntegerArray:
    """Bytes, multiples of 4, log-normal, such that the fullest tile uses at most nine tenths of its memory."""
    weights = rng.lognormal(0, 1.2, slots) * rng.lognormal(0, 0.1, (tiles, slots))
    scale = 0.85 * capacity / weights.sum(axis=1).max()
    return np.asarray(np.maximum((weights * scale).astype(np.int64) // 4, 1) * 4)


def _aligned(size: IntegerArray) -> IntegerArray:
    return np.asarray((size + 7) // 8 * 8)


def _names(shape: _Shape) -> list[str]:
    changing = shape.eq_class >= 0
    names = [f"model/layer{i // 40}/{'activations' if c else 'weights'}_{i}" for i, c in enumerate(changing)]
    names[: len(_CODE)] = _CODE
    return names


def _tile(tile: int, shape: _Shape, size: IntegerArray, address: IntegerArray, split: int) -> LoweredTile:
    where = address[shape.slot]
    count = len(shape.slot)
    rows = np.arange(count)
    region = (where >= split).astype(np.int64)
    return LoweredTile(tile, tile * count, size[shape.slot], where, shape.category, region, rows, shape.eq_class, rows)


def _live_by_class(shape: _Shape, weights: IntegerArray, indices: int) -> IntegerArray:
    """Bytes live at each index, given the bytes of each class: a running sum of what begins and ends."""
    change = np.bincount(shape.starts, weights, indices + 1) - np.bincount(shape.ends, weights, indices + 1)
    return np.cumsum(change[:indices]).astype(np.int64)


def _totals(shape: _Shape, size: IntegerArray, address: IntegerArray, indices: int) -> TileMemory:
    always = shape.slot[shape.eq_class < 0]
    changing = shape.slot[shape.eq_class >= 0]
    peaks = [int(_live_by_class(shape, row[changing], indices).max()) for row in size]
    return TileMemory(
        including_gaps=address[:, -1] + size[:, -1],
        excluding_gaps=size.sum(axis=1),
        always_live=size[:, always].sum(axis=1),
        not_always_live=np.array(peaks),
        overflowed=np.zeros(len(size), dtype=np.int64),
    )


def _categories(
    shape: _Shape, size: IntegerArray, interleaved: BoolArray, ipus: int, tiles: int
) -> list[CategoryMemory]:
    """A slot counts once, in the category of its first variable; shared slots are overlapped bytes."""
    first = np.unique(shape.slot, return_index=True)[1]
    category, shared = shape.category[first], shape.eq_class[first] >= 0
    result = []
    for code in np.unique(category).tolist():
        for overlapped in (False, True):
            chosen = (category == code) & (shared == overlapped)
            for region, where in (("nonInterleaved", ~interleaved), ("interleaved", interleaved)):
                total = np.where(where[:, chosen], size[:, chosen], 0).sum(axis=1)
                for ipu in range(ipus) if total.any() else ():
                    part = total[ipu * tiles : (ipu + 1) * tiles]
                    result.append(CategoryMemory(CATEGORIES[code], region, overlapped, ipu, part))
    return result


def _liveness(shape: _Shape, size: IntegerArray, indices: int, leaves: IntegerArray, ipus: int) -> Liveness:
    changing = shape.slot[shape.eq_class >= 0]
    per_ipu = size.reshape(ipus, -1, size.shape[1]).sum(axis=1)
    by_ipu = [_live_by_class(shape, row[changing], indices) for row in per_ipu]
    return Liveness(np.resize(leaves, indices), np.sum(by_ipu, axis=0), by_ipu)


def _vars_info(shape: _Shape, size: IntegerArray, names: list[str]) -> VarsInfo:
    """One row per tile and variable; above a million, one per tile and category, under its first variable's name."""
    tiles = len(size)
    bytes_of = size[:, shape.slot]
    category, name = shape.category, np.arange(len(names))
    if bytes_of.size > _MOST_ROWS:
        category, name = np.unique(shape.category, return_index=True)
        bytes_of = np.stack([bytes_of[:, shape.category == code].sum(axis=1) for code in category], axis=1)
    tile = np.repeat(np.arange(tiles), len(category))
    return tile, np.tile(category, tiles), np.tile(name, tiles), bytes_of.ravel()
