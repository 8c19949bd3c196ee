"""SQL of an area that is selected in a plot: tiles x time of the execution trace, tiles x bytes of the memory page.

The statement answers with the aggregate of the area, and is a start for questions about its parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

#: Ranges of tiles that a statement lists.
MOST_RANGES = 50


def cycles_of_area(begin: int, end: int, ipu: int | None = None, tiles: Sequence[int] = ()) -> str:
    """Tile cycles by phase within the device cycles [begin, end), cut at both ends: of an IPU (None = all) and of some
    tiles (none = all). Raises ValueError for more than MOST_RANGES ranges of tiles."""
    conditions = [
        f"c.step between (select min(step) from execution_steps where end_cycle > {begin})",
        f"  and (select max(step) from execution_steps where begin_cycle < {end})",
        f"  and c.cycles > 0 and c.begin_cycle < {end} and c.begin_cycle + c.cycles > {begin}",
        *([] if ipu is None else [f"  and c.ipu = {ipu}"]),
        *([f"  and {_in_tiles('c.tile', tiles)}"] if tiles else []),
    ]
    inside = f"sum(min(c.begin_cycle + c.cycles, {end}) - max(c.begin_cycle, {begin}))"
    return "\n".join(
        [
            f"select s.phase, {inside} as tile_cycles,",
            "  count(distinct c.step) as steps, count(distinct c.tile) as tiles",
            "from cycles_by_tile c join execution_steps s on s.step = c.step and s.ipu = c.ipu",
            "where " + "\n".join(conditions),
            "group by s.phase",
            "order by tile_cycles desc",
        ]
    )


def bytes_of_tiles(tiles: Sequence[int]) -> str:
    """Bytes in use of some tiles by category; they add up to their excluding_gaps_bytes. Raises ValueError as
    `cycles_of_area` does, and for no tile."""
    if not tiles:
        raise ValueError("select at least one tile")
    return "\n".join(
        [
            "select category, sum(category_bytes) as category_bytes, count(distinct tile) as tiles",
            "from tile_categories",
            f"where {_in_tiles('tile', tiles)}",
            "group by category",
            "order by category_bytes desc",
        ]
    )


def _in_tiles(column: str, tiles: Sequence[int]) -> str:
    """The condition that a column is one of these tiles, as ranges."""
    ordered = sorted(set(tiles))
    breaks = [0, *(at + 1 for at, (a, b) in enumerate(pairwise(ordered)) if b > a + 1), len(ordered)]
    ranges = [(ordered[first], ordered[last - 1]) for first, last in pairwise(breaks)]
    if len(ranges) > MOST_RANGES:
        raise ValueError(f"{len(ranges)} ranges of tiles are more than the {MOST_RANGES} that a statement lists")
    parts = [f"{column} = {a}" if a == b else f"{column} between {a} and {b}" for a, b in ranges]
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"
