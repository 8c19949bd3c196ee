"""One program tile by tile as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.details import tile_figures
from popvision.analysis.report.figure import Figure, Table, Unit
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figure -> (unit, field of `TileFigures`).
TILE_FIGURES: dict[str, tuple[Unit, str]] = {
    "estimated_cycles": ("cycles", "estimated"),
    "recorded_cycles": ("cycles", "recorded"),
    "received_bytes": ("bytes", "received"),
    "sent_bytes": ("bytes", "sent"),
    "exchange_code_bytes": ("bytes", "exchange_code"),
    "control_code_bytes": ("bytes", "control_code"),
}


def program_tiles(source: ReportSource, program: int) -> Table:
    """A row per tile of all IPUs: tile, ipu, then what the report holds of estimated_cycles (of one execution),
    recorded_cycles (of the last recorded step), received_bytes, sent_bytes, exchange_code_bytes and control_code_bytes.
    ValueError for a program that is not there."""
    found = tile_figures(source, program)
    known = [
        Figure(id, unit, values)
        for id, (unit, field) in TILE_FIGURES.items()
        if (values := getattr(found, field)) is not None
    ]
    return Table("program_tiles", [*tile_numbers(source), *known])


def tile_numbers(source: ReportSource) -> list[Figure]:
    """tile and ipu of each row."""
    machine = target_of(source)
    tile = np.arange(machine.num_tiles)
    return [Figure("tile", "id", tile), Figure("ipu", "id", tile // machine.tiles_per_ipu)]
