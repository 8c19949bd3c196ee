"""One tile's memory over address and time: rectangles of addresses x liveness indices (bands), one per allocation and
live range.

Allocations that are live together never share an address, so bands never cover each other: at a place (address, index)
there is one live allocation, or an address that is *idle* (reserved for allocations of other indices), or a *gap* (no
allocation at all). Three laws are tested:

    bytes live at an index + idle bytes there = excluding gaps
    excluding gaps + gaps                     = including gaps
    area of all bands                         = sum over indices of the bytes live there

A live range ends with the last use that the compiler knows, so memory reserved after a variable's last use is idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.lowered import address_use, class_rows, lowered_tile
from popvision.analysis.report.columns import stored_eq_classes, stored_liveness
from popvision.arrays import BoolArray, Int64Array
from popvision.formats.profile.model import EquivalenceClasses, LoweredTile

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Bands:
    """Band i covers addresses [begin, end) and liveness indices [live_from, live_to), sorted by begin; `row` is its
    allocation's row in the tile's table, `category` an index into CATEGORIES."""

    begin: Int64Array
    end: Int64Array
    live_from: Int64Array
    live_to: Int64Array
    category: Int64Array
    row: Int64Array

    def take(self, rows: BoolArray | npt.NDArray[np.intp]) -> Bands:
        return Bands(*(getattr(self, name)[rows] for name in Bands.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True)
class AddressMap:
    """`live[i]` bytes at liveness index i (always-live ones included); `sharing[j]` allocations use every address from
    `sharing_from[j]` to the next one."""

    allocations: LoweredTile
    bands: Bands
    indices: int  #: liveness indices of the report, 1 where it has no liveness
    live: Int64Array
    gap_begin: Int64Array
    gap_end: Int64Array
    sharing_from: Int64Array
    sharing: Int64Array
    including_gaps: int
    excluding_gaps: int

    @property
    def idle(self) -> Int64Array:
        """Bytes per index that are reserved for allocations of other indices."""
        return self.excluding_gaps - self.live


def address_map(source: ReportSource, tile: int) -> AddressMap:
    """The map of a tile. Raises NotRecordedError without lowered variables, ValueError for a tile that is not there."""
    return source.kept.recent(("address map", tile), lambda: _read(source, tile))


def _read(source: ReportSource, tile: int) -> AddressMap:
    low = lowered_tile(source, tile)
    stored = stored_liveness(source)
    classes = stored_eq_classes(source)
    indices = max(1, len(stored.program) if stored is not None else 1)
    use = address_use(low)
    bands = _bands(low, classes, indices)
    size = bands.end - bands.begin
    change = np.zeros(indices + 1, dtype=np.int64)
    np.add.at(change, bands.live_from, size)
    np.add.at(change, bands.live_to, -size)
    sharing_from, sharing = _sharing(low)
    return AddressMap(
        low,
        bands,
        indices,
        np.cumsum(change)[:indices],
        use.gap_starts,
        use.gap_ends,
        sharing_from,
        sharing,
        use.including_gaps,
        use.excluding_gaps,
    )


def _bands(low: LoweredTile, classes: EquivalenceClasses | None, indices: int) -> Bands:
    begin = np.asarray(low.address, dtype=np.int64)
    end = begin + np.asarray(low.bytes, dtype=np.int64)
    owner = np.asarray(low.eq_class, dtype=np.int64)
    known = classes is not None
    always = np.flatnonzero((owner < 0) | (not known))
    row, live_from, live_to = always, np.zeros(len(always), dtype=np.int64), np.full(len(always), indices)
    if classes is not None:
        temporary = np.flatnonzero(owner >= 0)
        ranges, of = class_rows(classes, owner[temporary])
        row = np.concatenate([row, temporary[of]])
        live_from = np.concatenate([live_from, np.asarray(classes.starts, dtype=np.int64)[ranges]])
        live_to = np.concatenate([live_to, np.asarray(classes.ends, dtype=np.int64)[ranges]])
    live_from, live_to = np.clip(live_from, 0, indices), np.clip(live_to, 0, indices)
    bands = Bands(begin[row], end[row], live_from, live_to, np.asarray(low.category, dtype=np.int64)[row], row)
    bands = bands.take((bands.end > bands.begin) & (bands.live_to > bands.live_from))
    return bands.take(np.lexsort((bands.live_from, bands.begin)))


def _sharing(low: LoweredTile) -> tuple[Int64Array, Int64Array]:
    """(addresses, allocations that use each address from there on); the last entry is 0."""
    begin = np.asarray(low.address, dtype=np.int64)
    end = begin + np.asarray(low.bytes, dtype=np.int64)
    places, which = np.unique(np.concatenate([begin, end]), return_inverse=True)
    change = np.zeros(len(places), dtype=np.int64)
    np.add.at(change, which, np.repeat([1, -1], len(begin)))
    return places, np.cumsum(change)


@dataclass(frozen=True)
class Place:
    """What is at an address while an index runs. `state` is "live", "idle", "gap" or "beyond" (above the highest used
    address). `row` is the live allocation, or the one that used an idle address last, else uses it next; -1 in a gap.
    [begin, end) are its addresses, or those of the gap; [live_from, live_to) the range of indices meant."""

    state: str
    row: int
    begin: int
    end: int
    live_from: int
    live_to: int
    sharing: int  #: allocations that use this address at any time


def place_at(of: AddressMap, address: int, index: int) -> Place:
    """Raises ValueError for a negative address or an index that does not exist."""
    if address < 0 or not 0 <= index < of.indices:
        raise ValueError(f"no place at address {address}, index {index}: indices are 0 to {of.indices - 1}")
    bands = of.bands
    stop = int(np.searchsorted(bands.begin, address, side="right"))
    at_address = np.flatnonzero(bands.end[:stop] > address)
    live = at_address[(bands.live_from[at_address] <= index) & (index < bands.live_to[at_address])]
    at = int(np.searchsorted(of.sharing_from, address, side="right")) - 1
    sharing = int(of.sharing[at]) if at >= 0 else 0
    if len(live):
        return _place("live", bands, int(live[0]), sharing)
    if len(at_address):
        before = at_address[bands.live_to[at_address] <= index]
        nearest = (
            before[bands.live_to[before].argmax()] if len(before) else at_address[bands.live_from[at_address].argmin()]
        )
        return _place("idle", bands, int(nearest), sharing)
    if sharing or address >= of.including_gaps:  # an allocation that is never live, or nothing above
        return Place("idle" if sharing else "beyond", -1, address, address + 1, 0, of.indices, sharing)
    gap = int(np.searchsorted(of.gap_begin, address, side="right")) - 1
    return Place("gap", -1, int(of.gap_begin[gap]), int(of.gap_end[gap]), 0, of.indices, 0)


def _place(state: str, bands: Bands, band: int, sharing: int) -> Place:
    row, begin, end, live_from, live_to = (
        int(column[band]) for column in (bands.row, bands.begin, bands.end, bands.live_from, bands.live_to)
    )
    return Place(state, row, begin, end, live_from, live_to, sharing)
