"""The exception of a question whose columns the report does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from popvision.formats.errors import AbsentError, LostError, NotRecordedError

__all__ = ["GRAPH_PROFILE", "LIVENESS", "LOWERED_VARIABLES", "AbsentError", "LostError", "NotRecordedError", "held"]

T = TypeVar("T")


def held(question: Callable[[], T]) -> T | None:
    """The answer, or None where the report does not hold it: for a page that shows a dash in its place."""
    try:
        return question()
    except NotRecordedError:
        return None


GRAPH_PROFILE = "This report holds no graph profile: compile with autoReport.outputGraphProfile=true to record memory."
LOWERED_VARIABLES = (
    "This report holds no lowered variables: compile with autoReport.outputLoweredVars=true to see what lies on a tile."
)
LIVENESS = "This report holds no liveness: compile with autoReport.outputGraphProfile=true to record it."
