"""The state of the memory page, read from the selection: every control is one key of the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import TileColumns, tile_columns
from popvision.analysis.report.tiles import ipus_of_replica, target_of, tiles_of_replica
from webapp.base.comparison import KEY
from webapp.base.query import whole_number, whole_numbers, whole_range
from webapp.base.selection import Selection
from webapp.base.view import ViewContext

#: Keys of the selection that the plot shows, and those that the tabs show.
PLOT_KEYS = (
    "tiles",
    "ipu",
    "mem_graph",
    "mem_by",
    "mem_nogaps",
    "mem_max",
    "mem_order",
    "mem_ipus",
    "mem_view",
    "mem_vars",
    "mem_replica",
    "mem_part",
    "mem_mark",
    "mem_scale",
    "mem_diff",
    "mem_binary",
    "vs",
)
TAB_KEYS = (
    "tiles",
    "ipu",
    "mem_ipus",
    "mem_graph",
    "mem_replica",
    "mem_tile",
    "mem_map",
    "mem_side",
    "mem_whole",
    "vs",
)

GRAPHS = {"total": "Total memory", "variables": "Variables", "map": "Tile map"}
BREAKDOWNS = {"none": "None", "region": "By region", "category": "By category", "liveness": "By liveness"}
TABS = {
    "details": "Details",
    "peak": "Peak",
    "compute_sets": "Compute sets",
    "vertices": "Vertices",
    "exchanges": "Exchanges",
    "variables": "Variables",
    "tiles": "Tiles",
}

#: Colour scales of the tile map.
SCALES = {
    "zero": "0 to highest",
    "range": "Lowest to highest",
    "capacity": "0 to tile capacity",
    "log": "Logarithmic",
}

#: Selected tiles or IPUs that fit side by side as columns.
MOST_COLUMNS = 8


@dataclass(frozen=True)
class MemoryState:
    """One state of the page. `problems` are sentences about values in the URL that this report does not have."""

    graph: str = "total"
    by: str = "none"
    gaps: bool = False
    show_max: bool = False
    order: str = "software"
    by_ipu: bool = False
    window: tuple[int, int] | None = None
    replica: int | None = 0
    part: str = "excluding"
    tab: str = "details"
    shows: str = ""  #: the Variables tab for selected tiles: "" by address, "sizes" by variable, "map"
    side: str = ""  #: "target": the address map shows the report compared with
    scale: str = "zero"
    binary: bool = False  #: draw the sizes of archive.a too
    whole: str = ""  #: end of the waterfall: "1" the capacity of a tile, "0" its live bytes, "" whichever fits
    difference: bool = False  #: draw target - source instead of both reports
    tiles: tuple[int, ...] = ()
    ipus: tuple[int, ...] = ()
    variables: tuple[int, ...] = ()
    focus: int | None = None  #: the tile whose allocations the tabs show
    mark: int | None = None  #: the marked tile, from which differences are measured
    problems: tuple[str, ...] = ()

    def columns(self, source: ReportSource) -> TileColumns:
        """The columns of the tables: the selected tiles or IPUs, else all tiles of the replica."""
        target = target_of(source)
        return tile_columns(target, self.tiles[:MOST_COLUMNS], self.ipus[:MOST_COLUMNS], self.replica)


@dataclass(frozen=True)
class MemoryPage:
    """A visit of the page: report, target (None without a comparison, `vs` names it) and state."""

    key: str
    source: ReportSource
    target: ReportSource | None
    state: MemoryState
    vs: str = ""

    @classmethod
    def read(cls, context: ViewContext) -> MemoryPage:
        """The visit that a page context describes."""
        state = memory_state(context.source, context.params)
        return cls(context.key, context.source, context.target, state, context.params.get(KEY, ""))

    @cached_property
    def query(self) -> dict[str, str]:
        """The query of the tables: tiles, IPUs, replica and target (tables.py reads it)."""
        state = self.state
        query = {
            "tiles": ",".join(map(str, state.tiles[:MOST_COLUMNS])),
            "ipu": ",".join(map(str, state.ipus[:MOST_COLUMNS])),
            "replica": "all" if state.replica is None else str(state.replica),
            KEY: self.vs if self.target is not None else "",
        }
        return {name: value for name, value in query.items() if value}

    @property
    def query_text(self) -> str:
        """The query for an address, with its "?"."""
        return "?" + urlencode(self.query)

    def link(self, view: str, **selection: object) -> str:
        """Address of another view of this report with a selection, compared with the same report."""
        chosen = {**selection, **({KEY: self.vs} if self.vs else {})}
        return f"/r/{self.key}/{view}?{urlencode(chosen, safe=',')}"


def memory_state(source: ReportSource, params: Mapping[str, Any] | None) -> MemoryState:
    """The state of a selection. Values that this report does not have are left out and named in `problems`."""
    selection = Selection.parse(params)
    extras = selection.extras
    target = target_of(source)
    problems = list(selection.problems)
    replica = _replica(extras.get("mem_replica", "0"), target.num_replicas)
    tiles = [tile for tile in selection.tiles if tile < target.num_tiles]
    if len(tiles) < len(selection.tiles):
        problems.append(f"This report has tiles 0 to {target.num_tiles - 1:,}; other numbers are ignored.")
    by_ipu = extras.get("mem_ipus") == "1" and extras.get("mem_graph") not in ("variables", "map")
    ipu = selection.ipu
    ipus = (ipu,) if by_ipu and ipu is not None and ipu in ipus_of_replica(target, replica) else ()
    focus = whole_number(extras.get("mem_tile", ""))
    return MemoryState(
        graph=_one_of(extras.get("mem_graph"), GRAPHS),
        by=_one_of(extras.get("mem_by"), BREAKDOWNS),
        gaps=_includes_gaps(source, extras.get("mem_nogaps", ""), replica),
        show_max=_shows_capacity(source, extras.get("mem_max", ""), replica),
        order="hardware" if extras.get("mem_order") == "hardware" and target.physical_tile is not None else "software",
        by_ipu=by_ipu,
        window=whole_range(extras.get("mem_view", "")),
        replica=replica,
        part=extras.get("mem_part", "excluding"),
        tab=_one_of(extras.get("mem_tab"), TABS),
        shows=_shows(extras.get("mem_map", ""), len(tiles)),
        side=extras.get("mem_side", ""),
        scale=_one_of(extras.get("mem_scale"), SCALES),
        binary=extras.get("mem_binary") == "1",
        whole=extras.get("mem_whole", ""),
        difference=extras.get("mem_diff") == "1",
        tiles=() if by_ipu else tuple(tiles),
        ipus=ipus,
        variables=whole_numbers(extras.get("mem_vars", "")),
        focus=focus if focus in tiles else (tiles[0] if tiles and not by_ipu else None),
        mark=whole_number(extras.get("mem_mark", "")),
        problems=tuple(problems),
    )


def shown_tiles(source: ReportSource, state: MemoryState) -> range:
    return tiles_of_replica(target_of(source), state.replica)


def _replica(text: str, count: int) -> int | None:
    """The replica that a text names; None for all, 0 for anything else."""
    return None if text == "all" else whole_number(text, 0, count - 1) or 0


def _includes_gaps(source: ReportSource, text: str, replica: int | None) -> bool:
    """The user's choice ("0" = with gaps, "1" = without); by default with them only where a tile is over capacity."""
    if text in ("0", "1"):
        return text == "0"
    try:
        return len(memory_by_tile(source, replica).over_capacity) > 0
    except NotRecordedError:
        return False


def _shows_capacity(source: ReportSource, text: str, replica: int | None) -> bool:
    """The user's choice; without one, whether a tile is at least half full: a small program should fill the plot."""
    if text in ("0", "1"):
        return text == "1"
    try:
        memory = memory_by_tile(source, replica)
    except NotRecordedError:
        return False
    return len(memory.over_capacity) > 0 or 2 * int(memory.excluding_gaps.max()) >= memory.capacity


def _shows(text: str, tiles: int) -> str:
    """The view of the Variables tab; by default several tiles are compared by variable."""
    known = {"sizes": "sizes", "map": "map", "address": ""}
    return known.get(text, "sizes" if tiles > 1 else "")


def _one_of(value: str | None, known: Mapping[str, str] | Sequence[str]) -> str:
    return value if value is not None and value in known else next(iter(known))
