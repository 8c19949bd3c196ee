"""One execution step in full, and the steps of a window as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.flame import name_path
from popvision.analysis.execution.last_tiles import ends_last, last_tiles, tied_text
from popvision.analysis.execution.timeline import Timeline, program_labels, timeline
from popvision.analysis.report.figure import Table, Unit, table_of
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures of `steps_in_window`.
STEP_FIGURES: dict[str, Unit] = {
    "step": "id",
    "name": "text",
    "type": "text",
    "program": "id",
    "run": "id",
    "begin": "cycles",
    "end": "cycles",
    "cycles": "cycles",
    "active_tiles": "count",
    "mean_cycles": "mean_cycles",
    "active_mean_cycles": "mean_cycles",
    "max_cycles": "cycles",
    "last_tile": "text",
    "tile_balance": "share",
    "data_in": "bytes",
    "data_out": "bytes",
}


#: Steps whose arrays are read together.
_STEPS_READ = 256


@dataclass(frozen=True)
class StepFacts:
    """One step on one IPU as its row says. Cycles are absolute; [begin, end) is the flat bar, [busy_begin, busy_end)
    spans the tiles that take part."""

    step: int
    ipu: int
    name: str
    type: str
    phase: str  #: "" for types that take no time
    program: int
    compute_set: int  #: -1 where none
    run: int
    begin: int
    end: int
    busy_begin: int
    busy_end: int
    active_tiles: int
    tiles: int
    tile_balance: float  #: mean / max of cycles over all tiles
    active_tile_balance: float  #: the same over tiles that take part
    data_in: int
    data_out: int


@dataclass(frozen=True)
class StepTiles:
    """What each tile of the IPU did in one step. `begin` is absolute; cycles 0 = the tile takes no part."""

    begin: Int64Array
    cycles: Int64Array

    @property
    def active(self) -> Int64Array:
        """Cycles of the tiles that take part."""
        return self.cycles[self.cycles > 0]

    @property
    def end(self) -> Int64Array:
        """Device cycle at which each tile ends its part."""
        return self.begin + self.cycles

    @property
    def waiting(self) -> int:
        """Tile cycles in which tiles that take part wait for the last of them; idle tiles are left out."""
        ends = self.end[self.cycles > 0]
        return int((ends.max() - ends).sum()) if len(ends) else 0

    @property
    def longest(self) -> Int64Array:
        """The tiles, counted within the IPU, that take the most cycles; several where they tie, none where none is
        active."""
        return np.flatnonzero((self.cycles > 0) & (self.cycles == self.cycles.max(initial=0)))

    @property
    def last(self) -> Int64Array:
        """The tiles that end last, likewise."""
        return ends_last(self.begin, self.cycles)


def step_facts(source: ReportSource, ipu: int, step: int) -> StepFacts:
    """Raises ValueError for a step or IPU that was not recorded; FormatError when a column cannot be read."""
    steps = timeline(source, ipu)
    check_step(steps, step)
    figures = steps.figures
    name = PROGRAM_TYPES[steps.type[step]]
    return StepFacts(
        step=step,
        ipu=ipu,
        name=program_labels(source)[int(steps.program[step])],
        type=name,
        phase=PHASE_OF_TYPE.get(name, ""),
        program=int(steps.program[step]),
        compute_set=int(source.reader.programs().compute_set[int(steps.program[step])]),
        run=int(steps.run[step]),
        begin=int(steps.begin[step]),
        end=int(steps.end[step]),
        busy_begin=int(steps.spans.busy_begin[step]),
        busy_end=int(steps.spans.busy_end[step]),
        active_tiles=int(figures.active_tiles[step]),
        tiles=steps.tiles,
        tile_balance=float(figures.tile_balance[step]),
        active_tile_balance=float(figures.active_tile_balance[step]),
        data_in=int(figures.data_in[step]),
        data_out=int(figures.data_out[step]),
    )


def step_tiles(source: ReportSource, ipu: int, step: int) -> StepTiles:
    """Begin and cycles of every tile in one step; raises what `step_facts` raises."""
    steps = timeline(source, ipu)
    check_step(steps, step)
    ids = [int(steps.spans.start_array[step]), int(steps.spans.cycles_array[step])]
    if min(ids) < 0:
        zeros = np.zeros(steps.tiles, np.int64)
        return StepTiles(zeros + steps.spans.base[step], zeros)
    start, cycles = source.reader.arrays(ids)
    return StepTiles(start.astype(np.int64) + steps.spans.base[step], cycles.astype(np.int64))


def step_estimate(source: ReportSource, ipu: int, step: int) -> Int64Array | None:
    """Cycles per tile that the compiler expected of the step's program, None where the report stores none."""
    steps = timeline(source, ipu)
    check_step(steps, step)
    stored = source.reader.program_on_ipu(int(steps.program[step]), ipu)
    return None if stored is None or stored.cycles is None else np.asarray(stored.cycles).astype(np.int64)


def step_at(source: ReportSource, ipu: int, tile: int, cycle: int, until: int | None = None) -> int:
    """The step that a tile (counted within its IPU) spends most of [cycle, until) in, of a cycle by default; the first
    of equals, -1 where the tile is in none.

    Steps are read in order of the longest time that they can have there, until no further one can have more."""
    spans, until = timeline(source, ipu).spans, cycle + 1 if until is None else until
    most = np.minimum(spans.busy_end, until) - np.maximum(spans.busy_begin, cycle)
    candidates = np.flatnonzero((most > 0) & (spans.cycles_array >= 0))
    candidates = candidates[np.argsort(-most[candidates], kind="stable")]
    best, best_step = 0, -1
    for first in range(0, len(candidates), _STEPS_READ):
        steps = candidates[first : first + _STEPS_READ]
        if most[steps[0]] < best:
            break
        ids, row = np.unique([spans.start_array[steps], spans.cycles_array[steps]], return_inverse=True)
        on_tile = np.array([array[tile] for array in source.reader.arrays(ids.tolist())], np.int64)
        start, cycles = on_tile[row.reshape(2, -1)]
        begin = spans.base[steps] + start
        part = np.minimum(begin + cycles, until) - np.maximum(begin, cycle)
        longest = int(part.max())
        if longest > 0 and longest >= best:
            equal = int(steps[part == longest].min())
            best_step = equal if longest > best else min(best_step, equal)
            best = longest
    return best_step


def find_steps(source: ReportSource, ipu: int, text: str) -> Int64Array:
    """Steps whose program label, or the path of names that the flame view makes of it, contains `text`, letter case
    ignored; all of them, in time order. "type:Sync" finds steps of a type, "program:12" those of one program."""
    steps = timeline(source, ipu)
    kind, _, value = text.partition(":")
    if kind == "type":
        rows = [row for row, name in enumerate(PROGRAM_TYPES) if name.casefold() == value.strip().casefold()]
        return np.flatnonzero(np.isin(steps.type, rows)).astype(np.int64)
    if kind == "program" and value.strip().isdecimal() and len(value) < 12:
        return np.flatnonzero(steps.program == int(value)).astype(np.int64)
    wanted = text.casefold()
    labels, types = program_labels(source), source.reader.programs().type
    ran = np.unique(steps.program).tolist()
    programs = [
        row
        for row in ran
        if wanted in labels[row].casefold() or wanted in "/".join(name_path(labels[row], types[row])).casefold()
    ]
    return np.flatnonzero(np.isin(steps.program, programs)).astype(np.int64)


def steps_in_window(source: ReportSource, ipu: int, begin: int, end: int) -> Table:
    """Every step with a tile busy in [begin, end), or whose flat bar overlaps it, one row each, in time order.

    Cycles are full lengths, not cut to the window. `last_tile` is "" where no tile takes part or single tiles are not
    known; means are missing where they divide by no tile."""
    steps = timeline(source, ipu)
    spans, figures = steps.spans, steps.figures
    busy = (spans.busy_begin < end) & (spans.busy_end > begin) & (figures.active_tiles > 0)
    rows = np.flatnonzero(busy | ((steps.begin < end) & (steps.end > begin)))
    labels = program_labels(source)
    active = np.asarray(figures.active_tiles[rows], np.float64)
    total = np.asarray(figures.tile_cycles[rows], np.float64)
    return table_of(
        "window_steps",
        STEP_FIGURES,
        {
            "step": rows,
            "name": [labels[program] for program in steps.program[rows].tolist()],
            "type": [PROGRAM_TYPES[kind] for kind in steps.type[rows].tolist()],
            "program": steps.program[rows],
            "run": steps.run[rows],
            "begin": steps.begin[rows],
            "end": steps.end[rows],
            "cycles": figures.cycles[rows],
            "active_tiles": figures.active_tiles[rows],
            "mean_cycles": total / steps.tiles,
            "active_mean_cycles": np.divide(total, active, out=np.full(len(rows), np.nan), where=active > 0),
            "max_cycles": figures.max_cycles[rows],
            "last_tile": _last_tile(source, steps, ipu, rows),
            "tile_balance": figures.tile_balance[rows],
            "data_in": figures.data_in[rows],
            "data_out": figures.data_out[rows],
        },
    )


def _last_tile(source: ReportSource, steps: Timeline, ipu: int, rows: Int64Array) -> list[str]:
    """The tiles that end last in each step, as text; "" where that is not known."""
    if tiles_unknown(source):
        return [""] * len(rows)
    first, count = last_tiles(steps, source.reader, rows)
    return [
        tied_text(ipu * steps.tiles + tile, tied) for tile, tied in zip(first.tolist(), count.tolist(), strict=True)
    ]


def check_step(steps: Timeline, step: int) -> None:
    """Raises ValueError when `step` is not one of the recorded steps."""
    if not 0 <= step < len(steps):
        raise ValueError(f"step {step} is not one of the {len(steps)} recorded steps")
