"""Layout: an address for every allocation.

A tile's memory has two regions: non-interleaved at the bottom, the only one that can hold code, and interleaved above.
Always-live allocations are stacked from the bottom, code first; what must be interleaved is stacked from the border;
what does not fit below the border follows there. What is not always live is placed above, class by class in order of
its first use, each at the lowest address of its tile where nothing lies that is live at the same time; all of a
class's allocations on a tile lie together. Addresses are multiples of 8 bytes. Memory may be exceeded: that is seen
afterwards. (Pairs of operands that want different memory elements are not modelled.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import CATEGORIES
from simulator.compiler.inventory import CATEGORY_NUMBER, Allocations
from simulator.compiler.liveness import LiveClasses

I8 = npt.NDArray[np.int64]

ALIGNMENT = 8

#: The address of a cell that holds no live block.
_NOWHERE = 1 << 60

_CODE = (
    "controlCode", "vertexCode", "internalExchangeCode", "hostExchangeCode", "globalExchangeCode", "sharedCodeStorage",
)  # fmt: skip
_ORDER = [*_CODE, "stack", *(c for c in CATEGORIES if c not in (*_CODE, "stack", "constant", "variable"))]
_RANK = np.zeros(len(CATEGORIES), np.int64)
for _position, _name in enumerate([*_ORDER, "constant", "variable"]):
    _RANK[CATEGORY_NUMBER[_name]] = _position


def lay_out(a: Allocations, live: LiveClasses, tiles: int, border: int) -> I8:
    """The address of every allocation. `border` = byte offset at which interleaved memory begins."""
    address = np.zeros(len(a), np.int64)
    stacks = _always_live(a, address, tiles, border)
    _by_liveness(a, live, address, stacks, tiles, border)
    return address


@dataclass
class _Stacks:
    """First free byte per tile, below and above the border."""

    low: I8
    high: I8


def _always_live(a: Allocations, address: I8, tiles: int, border: int) -> _Stacks:
    rows = np.flatnonzero(a.live_class < 0)
    rows = rows[np.lexsort((rows, _RANK[a.category[rows]], a.tile[rows]))]
    forced = a.interleaved[rows]
    low_rows = rows[~forced]
    place, low = _stacked(a, low_rows, np.zeros(tiles, np.int64))
    over = place + a.bytes[low_rows] > border
    address[low_rows] = place
    fits = low_rows[~over]
    low = np.zeros(tiles, np.int64)
    np.maximum.at(low, a.tile[fits], address[fits] + _aligned(a.bytes[fits]))
    high_rows = np.concatenate([rows[forced], low_rows[over]])
    high_rows = high_rows[np.argsort(a.tile[high_rows], kind="stable")]
    address[high_rows], high = _stacked(a, high_rows, np.full(tiles, border, np.int64))
    return _Stacks(low, high)


def _stacked(a: Allocations, rows: I8, base: I8) -> tuple[I8, I8]:
    """Addresses of rows sorted by tile, one on top of the other from `base`; and the first free byte per tile."""
    size, tile = _aligned(a.bytes[rows]), a.tile[rows]
    end = np.cumsum(size)
    total = np.bincount(tile, weights=size, minlength=len(base)).astype(np.int64)
    before = np.cumsum(total) - total
    return base[tile] + end - size - before[tile], base + total


def _by_liveness(a: Allocations, live: LiveClasses, address: I8, stacks: _Stacks, tiles: int, border: int) -> None:
    rows = np.flatnonzero(a.live_class >= 0)
    if len(rows) == 0:
        return
    begin, end = live.hulls()
    block = a.live_class[rows] * 2 + a.interleaved[rows]
    order = np.lexsort((rows, a.tile[rows], block))
    rows, block = rows[order], block[order]
    found, first = np.unique(block, return_index=True)
    last = np.append(first[1:], len(rows))
    inside = {}
    sizes = {}
    for b, i, j in zip(found.tolist(), first.tolist(), last.tolist(), strict=True):
        inside[b], sizes[b] = _stacked(a, rows[i:j], np.zeros(tiles, np.int64))
    total = {b: int(size.sum()) for b, size in sizes.items()}
    shelf = _Shelf(stacks, tiles, border)
    spans = {b: slice(i, j) for b, i, j in zip(found.tolist(), first.tolist(), last.tolist(), strict=True)}
    for b in sorted(found.tolist(), key=lambda b: (int(begin[b // 2]), -total[b], b)):
        base = shelf.place(sizes[b], int(begin[b // 2]), int(end[b // 2]), interleaved=bool(b % 2))
        mine = rows[spans[b]]
        address[mine] = base[a.tile[mine]] + inside[b]


class _Shelf:
    """Blocks placed so far that may still be live: per tile, sorted by address. Cells of dead blocks sort last."""

    def __init__(self, stacks: _Stacks, tiles: int, border: int) -> None:
        self._stacks = stacks
        self._border = border
        self._address, self._end, self._until = (np.empty((0, tiles), np.int64) for _ in range(3))

    def place(self, size: I8, begin: int, end: int, *, interleaved: bool) -> I8:
        """Place a block that is live in [begin, end); returns its address per tile. Call in order of `begin`."""
        self._forget(begin)
        if interleaved:
            address = self._lowest(size, self._stacks.high)
        else:
            address = self._lowest(size, self._stacks.low)
            over = address + size > self._border
            if over.any():
                address = np.where(over, self._lowest(size, self._stacks.high), address)
        self._address = np.concatenate([self._address, address[None]])
        self._end = np.concatenate([self._end, (address + size)[None]])
        self._until = np.concatenate([self._until, np.where(size > 0, end, begin)[None]])
        return address

    def _forget(self, now: int) -> None:
        dead = self._until <= now
        self._address[dead] = _NOWHERE
        self._end[dead] = 0
        order = np.argsort(self._address, axis=0, kind="stable")
        alive = len(dead) - int(dead.sum(axis=0).min()) if len(dead) else 0
        self._address, self._end, self._until = (
            np.take_along_axis(cells, order, 0)[:alive] for cells in (self._address, self._end, self._until)
        )

    def _lowest(self, size: I8, base: I8) -> I8:
        """The lowest address from `base` on with room for `size` bytes on each tile."""
        free = base.copy()
        found = np.zeros(len(size), np.bool_)
        for address, end in zip(self._address, self._end, strict=True):
            found |= address - free >= size
            np.maximum(free, end, out=free, where=~found)
        return free


def _aligned(size: I8) -> I8:
    return np.asarray(-(-size // ALIGNMENT) * ALIGNMENT, dtype=np.int64)
