"""Columns of the compilation that many questions need, read at the first question and cached with the source.

`stored_...` are None where the report does not hold them; the others raise NotRecordedError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.report.not_recorded import LIVENESS, LOWERED_VARIABLES, NotRecordedError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import (
        EquivalenceClasses,
        Liveness,
        Programs,
        Steps,
        TileMemory,
        Variables,
    )


def programs_of(source: ReportSource) -> Programs:
    """The lowered programs."""
    return source.kept.once("programs", source.reader.programs)


def steps_of(source: ReportSource) -> Steps:
    """The recorded execution steps at the first call; later runs need a new source."""
    return source.kept.once("steps", source.reader.steps)


def lowered_names(source: ReportSource) -> list[str]:
    """Names of lowered variables; `LoweredTile.name` points into it. Empty when the report has none."""
    return source.kept.once("lowered_names", source.reader.lowered_names)


def stored_tile_memory(source: ReportSource) -> TileMemory | None:
    """Bytes by tile."""
    return source.kept.once("tile_memory", source.reader.tile_memory)


def stored_variables(source: ReportSource) -> Variables | None:
    """Variables before lowering."""
    return source.kept.once("variables", source.reader.variables)


def variables(source: ReportSource) -> Variables:
    """Variables before lowering. Raises NotRecordedError when the report holds none."""
    stored = stored_variables(source)
    if stored is None:
        raise NotRecordedError(LOWERED_VARIABLES)
    return stored


def stored_eq_classes(source: ReportSource) -> EquivalenceClasses | None:
    """Live ranges by equivalence class."""
    return source.kept.once("eq_classes", source.reader.eq_classes)


def eq_classes(source: ReportSource) -> EquivalenceClasses:
    """Live ranges by equivalence class. Raises NotRecordedError when the report holds none."""
    stored = stored_eq_classes(source)
    if stored is None:
        raise NotRecordedError(LOWERED_VARIABLES)
    return stored


def stored_liveness(source: ReportSource) -> Liveness | None:
    """The liveness curves."""
    return source.kept.once("liveness", source.reader.liveness)


def liveness(source: ReportSource) -> Liveness:
    """The liveness curves. Raises NotRecordedError without them."""
    stored = stored_liveness(source)
    if stored is None or not len(stored.program):
        raise NotRecordedError(LIVENESS)
    return stored
