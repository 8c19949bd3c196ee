"""What a plot of the memory page hands to the page: the figure, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from popvision.analysis.report.range_statistics import Statistics
from webapp.arrays import Int64Array
from webapp.graph_analyser.plots.stepped_plot import SteppedPlot


@dataclass(frozen=True)
class Drawing:
    """A figure and what the page says about it. `ids` are the tiles (or IPUs) by position, `statistics` those of the
    visible range of the quantity called `quantity`."""

    figure: dict[str, Any]
    ids: Int64Array
    statistics: Statistics | None
    quantity: str
    shown: tuple[int, int]
    decimated: bool = False
    plot: SteppedPlot | None = None  #: None for bars and the tile map, which have no window
    whole: int = 0  #: positions in all
    also: Sequence[tuple[str, Statistics | None]] = ()  #: the same statistics of each curve by its name
