"""What is live when: curves and variables of all tiles, one IPU or one tile. All sizes are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import Where, curve, peak
from popvision.analysis.liveness.peaks import peaks
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.programs.program_tree import programs_of
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd


def scope(ipu: int | None, tile: int | None, replica: int = 0) -> Where:
    """All tiles of a replica, one IPU or one tile. ValueError when both are given."""
    if ipu is not None and tile is not None:
        raise ValueError("give an IPU or a tile, not both")
    if tile is not None:
        return Where("tile", tile)
    return Where("all", replica) if ipu is None else Where("ipu", ipu)


class LivenessQuestions(Asked):
    """A liveness index is a position in the static order of the program: a loop's body once, a function's body at each
    of its calls. Curves over all tiles are those of one replica."""

    @question
    def liveness(self, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
        """The curve of a replica, an IPU or a tile, a row per liveness index: liveness_index, program, type, name,
        not_always_live_bytes, live_bytes (with the always-live ones). `attrs`: always_live_bytes, capacity_bytes,
        peak_index (the first highest), peaks (indices of the peaks a reader would name).

        Raises NotRecordedError when liveness was not recorded; for a tile also without lowered variables."""
        line, programs = curve(self.source, scope(ipu, tile)), programs_of(self.source)
        ids = line.program.tolist()
        return self._frame(
            {
                "liveness_index": np.arange(len(ids)),
                "program": line.program,
                "type": [programs.type[each] for each in ids],
                "name": [programs.name[each] for each in ids],
                "not_always_live_bytes": line.not_always_live,
                "live_bytes": line.not_always_live + line.always_live,
            },
            always_live_bytes=line.always_live,
            capacity_bytes=line.capacity,
            peak_index=peak(line).index,
            peaks=peaks(line.not_always_live).tolist(),
        )

    @question
    def live_variables(self, index: int, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
        """Not-always-live variables that are live at a liveness index, largest first: name, variable (row of
        `variables()`, -1 where none), live (its indices as text), size_bytes within the scope. They add up to the
        curve there."""
        where = scope(ipu, tile)
        count = len(curve(self.source, where).program)
        if not 0 <= index < count:
            raise ValueError(f"liveness index {index} does not exist: this report has indices 0 to {count - 1}")
        table = live_table(self.source, [index], where)
        names = {"Variable": "name", "Id": "variable", "Live": "live", f"Index {index}": "size_bytes"}
        return self._labelled(table.rename(columns=names), liveness_index=index)

    @question
    def peak_variables(self, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
        """`live_variables` at the first liveness index where the curve of the scope is highest; `attrs`:
        liveness_index."""
        return self.live_variables(peak(curve(self.source, scope(ipu, tile))).index, ipu, tile)

    @question
    def always_live_variables(self, ipu: int | None = None, tile: int | None = None) -> pd.DataFrame:
        """Always-live variables, largest first: name, variable (-1 where none), size_bytes within the scope."""
        table = always_live_table(self.source, scope(ipu, tile))
        return self._labelled(table.rename(columns={"Variable": "name", "Id": "variable", "Bytes": "size_bytes"}))
