"""Claims of the report: the address of each allocation, its live ranges, and the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from popvision.formats.profile.model import Compilation, LoweredTile
from simulator.arrays import Int64Array
from simulator.base.errors import poplar_error

NOWHERE = -1


@dataclass
class Claims:
    """Addresses count over the device: tile x bytes per tile + byte offset. `begin` and `size` have a row per variable
    of the report with values and a column per tile; NOWHERE = no memory on that tile."""

    begin: Int64Array
    size: Int64Array
    order: Int64Array  #: program at each liveness index
    starts: dict[int, list[slice]] = field(default_factory=dict)  #: memory that becomes live at a liveness index
    #: memory that dies after a liveness index, each with the index at which it became live
    ends: dict[int, list[tuple[int, slice]]] = field(default_factory=dict)
    #: (begin, end, memory) of live ranges
    lives: list[tuple[int, int, list[slice]]] = field(default_factory=list)
    always: list[slice] = field(default_factory=list)  #: memory of always-live variables
    overhead: list[tuple[str, slice]] = field(default_factory=list)  #: overhead memory: always live, without a variable
    sent: dict[int, Int64Array] = field(default_factory=dict)  #: bytes of each exchange from tile (row) to tile


def claims_of(report: Compilation, holders: int, part_of: Sequence[int], capacity: int, tiles: int) -> Claims:
    """The claims of a report. Its first `holders` variables have values; its last are parts of those in `part_of`.
    Raises poplar_error for a report without lowered variables, for memory beyond `capacity` bytes of a tile, and for
    parts of a variable that are not adjacent on a tile."""
    if report.liveness is None or report.eq_classes is None or report.variables is None or not report.lowered:
        raise poplar_error("The report has no lowered variables or no liveness, so it has no addresses.")
    claims = Claims(
        np.full((holders, tiles), NOWHERE),
        np.zeros((holders, tiles), np.int64),
        np.asarray(report.liveness.program, np.int64),
    )
    ranges: dict[int, list[slice]] = {}
    holder = np.arange(len(report.variables.name))
    holder[len(holder) - len(part_of) :] = part_of
    for tile in report.lowered:
        _add_tile(tile, claims, ranges, holder, report.lowered_names, capacity)
    live = report.eq_classes
    for number, places in ranges.items():
        for row in range(int(live.offsets[number]), int(live.offsets[number + 1])):
            claims.starts.setdefault(int(live.starts[row]), []).extend(places)
            since = int(live.starts[row])
            claims.lives.append((since, int(live.ends[row]), places))
            claims.ends.setdefault(int(live.ends[row]) - 1, []).extend((since, place) for place in places)
    for message in report.messages:
        table = claims.sent.setdefault(message.program, np.zeros((tiles, tiles), np.int64))
        np.add.at(table, (message.src, message.dst), message.bytes)
    return claims


def _add_tile(
    tile: LoweredTile,
    claims: Claims,
    ranges: dict[int, list[slice]],
    holder: Int64Array,
    names: list[str],
    capacity: int,
) -> None:
    if len(tile.bytes) and int((tile.address + tile.bytes).max()) > capacity:
        raise poplar_error(
            f"Tile {tile.tile} needs more than its {capacity} bytes, so some values have no address; "
            "use fewer values or more tiles."
        )
    holders = len(claims.begin)
    owners = holder[tile.variable]  # in the simulator's reports every allocation has a variable
    rows = zip(*(c.tolist() for c in (tile.address, tile.bytes, owners, tile.eq_class, tile.name)), strict=True)
    for address, size, variable, live_class, name in rows:
        place = slice(tile.tile * capacity + address, tile.tile * capacity + address + size)
        if live_class >= 0:
            ranges.setdefault(live_class, []).append(place)
        elif variable < holders:
            claims.always.append(place)
        else:
            claims.overhead.append((f"{names[name]} of tile {tile.tile}", place))
        if 0 <= variable < holders:
            begin = int(claims.begin[variable, tile.tile])
            if begin == NOWHERE:
                claims.begin[variable, tile.tile] = begin = place.start
            if begin + claims.size[variable, tile.tile] != place.start:
                raise poplar_error(f"The report gives '{names[name]}' two places on tile {tile.tile}.")
            claims.size[variable, tile.tile] += size


def dead_at(claims: Claims, position: int, since: int) -> Int64Array:
    """Addresses that are live at some index from `since` on but not at `position`."""
    overlapping = [places for begin, end, places in claims.lives if begin <= position and end > since]
    living = [places for begin, end, places in claims.lives if begin <= position < end]
    return np.setdiff1d(_addresses(overlapping), _addresses([*living, claims.always]))


def living_at(claims: Claims, position: int) -> Int64Array:
    """Addresses of ranges that are live both at an index and before it."""
    return _addresses([places for begin, end, places in claims.lives if begin < position < end])


def _addresses(places: Sequence[Sequence[slice]]) -> Int64Array:
    runs = [np.arange(place.start, place.stop) for group in places for place in group]
    return np.concatenate([np.empty(0, np.int64), *runs])
