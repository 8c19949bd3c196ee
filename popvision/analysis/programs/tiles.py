"""One program tile by tile as a table, and two reports' as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.programs.details import tile_figures
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Columns of figures: name -> field of `TileFigures`.
FIGURES = {
    "Estimate": "estimated",
    "Recorded": "recorded",
    "Received": "received",
    "Sent": "sent",
    "Exchange code": "exchange_code",
    "Control code": "control_code",
}


def program_tiles(source: ReportSource, program: int) -> pd.DataFrame:
    """A row per tile of all IPUs: Tile, IPU, then those of FIGURES that the report holds of this program: cycles of one
    execution (estimated, and of the last recorded step) and bytes. ValueError for a program that is not there."""
    import pandas as pd

    machine = target_of(source)
    tile = np.arange(machine.num_tiles)
    columns = {"Tile": tile, "IPU": tile // machine.tiles_per_ipu}
    found = tile_figures(source, program)
    held = {name: getattr(found, field) for name, field in FIGURES.items()}
    return pd.DataFrame(columns | {name: values for name, values in held.items() if values is not None})


def program_tiles_pair(source: ReportSource, target: ReportSource, program: int) -> pd.DataFrame:
    """The same of a program and of its partner in the target: `<figure>_source` and `<figure>_target` of what either
    holds, tiles matched by number; missing (NaN) where one side has no such tile, program or figure."""
    import pandas as pd

    partner = int(match_programs(source, target).target_rows()[program])
    mine = program_tiles(source, program).set_index("Tile")
    machine = target_of(target)
    other = program_tiles(target, partner).set_index("Tile") if partner >= 0 else pd.DataFrame()
    tiles = np.arange(max(len(mine), len(other)))
    owner = target_of(source) if len(mine) >= len(other) else machine
    columns: dict[str, object] = {"Tile": tiles, "IPU": tiles // owner.tiles_per_ipu}
    for name in FIGURES:
        if name in mine or name in other:
            for side, frame in (("source", mine), ("target", other)):
                known = frame[name] if name in frame else pd.Series(dtype=np.float64)
                columns[f"{name}_{side}"] = known.reindex(tiles).to_numpy()
    return pd.DataFrame(columns)
