"""A figure of the memory page with the values for the lines around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from popvision.analysis.report.range_statistics import Statistics
from webapp.base.arrays import Int64Array
from webapp.graph_analyser.plots.stepped_plot import SteppedPlot


@dataclass(frozen=True)
class Drawing:
    """`ids` are the tiles or IPUs by position; `statistics` describe the quantity called `quantity` over the visible
    positions `shown`."""

    figure: dict[str, Any]
    ids: Int64Array
    statistics: Statistics | None
    quantity: str
    shown: tuple[int, int]
    decimated: bool = False
    plot: SteppedPlot | None = None  #: None for bars and the tile map, which have no window
    whole: int = 0  #: number of positions
    also: Sequence[tuple[str, Statistics | None]] = ()  #: statistics of each curve by name
