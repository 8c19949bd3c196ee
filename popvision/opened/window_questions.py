"""A window of device time, and one tile at its peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.execution.aggregation import aggregate
from popvision.analysis.execution.phases import PHASES
from popvision.analysis.execution.window import window_figures
from popvision.analysis.liveness.device_time import NOT_RUN
from popvision.analysis.memory.tile_contents import vertex_table
from popvision.analysis.memory.tile_peak import tile_peak
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import target_of
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd

_GROUPED = {
    "mean": "mean_cycles",
    "min": "min_cycles",
    "max": "max_cycles",
    "share": "time_share",
    "cumulative": "cumulative_share",
}


class WindowQuestions(Asked):
    """Windows are half-open: cycles from `begin` to before `end`, since the first recorded run began; by default
    all."""

    @question
    def window(self, begin: int = 0, end: int | None = None, ipu: int = 0) -> pd.DataFrame:
        """What the tiles of an IPU did in a window, cut steps with their part inside: phase, tile_cycles, time_share
        (of all tile cycles). `attrs`: steps, utilisation (useful tile cycles / all), balance and active_balance (mean /
        maximum of compute cycles over all tiles, over those that take part); None where nothing ran."""
        found = window_figures(self.source, ipu, begin, self._end(end))
        cycles = found.tile_cycles
        return self._frame(
            {
                "phase": list(PHASES),
                "tile_cycles": [cycles[each] for each in PHASES],
                "time_share": [found.share(each) for each in PHASES],
            },
            steps=found.steps,
            utilisation=found.utilisation,
            balance=found.balance,
            active_balance=found.active_balance,
        )

    @question
    def grouped_steps(
        self, by: str = "name", begin: int = 0, end: int | None = None, ipu: int | None = None
    ) -> pd.DataFrame:
        """The steps of a window added up, most total cycles first, on one IPU or all: name, count, self_cycles,
        total_cycles (parts of the flat bars, IPUs added), self_tile_cycles, total_tile_cycles, mean_cycles, min_cycles,
        max_cycles, time_share, cumulative_share. `by` is "name", "part" (of names), "level1" ... "level8", "type" or
        "program"."""
        ipus = range(target_of(self.source).num_ipus) if ipu is None else [ipu]
        table = aggregate(self.source, list(ipus), begin, self._end(end), by)
        return self._labelled(table.rename(columns=_GROUPED), by=by)

    @question
    def tile_peak(self, tile: int) -> pd.DataFrame:
        """What adds up to the memory of one tile, as a waterfall: kind ("part" or "total": the sum so far), group
        ("always", "peak", "other", "gaps", "rest" = free, or "total"), label, size_bytes, category, variable (-1 where
        it is not one variable's), variables (how many). `attrs`: liveness_index and program of the tile's peak, note
        (what is missing)."""
        found = tile_peak(self.source, tile)
        rows = found.rows
        return self._frame(
            {
                "kind": [each.kind for each in rows],
                "group": [each.group for each in rows],
                "label": [each.label for each in rows],
                "size_bytes": [each.bytes for each in rows],
                "category": [each.category for each in rows],
                "variable": [each.variable for each in rows],
                "variables": [each.count for each in rows],
            },
            tile=tile,
            liveness_index=found.index,
            program=found.program,
            note=found.note,
        )

    @question
    def tile_vertices(self, tile: int) -> pd.DataFrame:
        """Vertex types on one tile, most state first: name, vertex_type (its number), kind, instance_bytes (state of
        one), instances, state_bytes, code_bytes (missing where not known)."""
        columns = tile_columns(target_of(self.source), tiles=[tile])
        label = columns.labels[0]
        names = {"Vertex type": "name", "Id": "vertex_type", "Kind": "kind", "State each": "instance_bytes"}
        names |= {f"Instances, {label}": "instances", f"State, {label}": "state_bytes", f"Code, {label}": "code_bytes"}
        return self._labelled(vertex_table(self.source, columns).rename(columns=names), tile=tile)

    def _end(self, end: int | None) -> int:
        if not len(self.source.reader.steps().program):
            raise NotRecordedError(NOT_RUN)
        return self.source.reader.total_cycles() if end is None else end
