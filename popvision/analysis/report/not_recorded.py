"""Exceptions of questions that a report cannot answer, and the sentences that say how to record the answer.

RuntimeError
  FormatError                 a file cannot be read or written
LookupError
  NotRecordedError            the report lacks what a question needs
    AbsentError               a table or column is not in the file; it is a FormatError too
      LostError               a table or an array is damaged
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from popvision.formats.errors import AbsentError, FormatError, LostError, NotRecordedError

__all__ = [
    "CODE_SIZES",
    "GRAPH_PROFILE",
    "LIVENESS",
    "LOWERED_VARIABLES",
    "AbsentError",
    "FormatError",
    "LostError",
    "NotRecordedError",
    "if_recorded",
]

T = TypeVar("T")


def if_recorded(question: Callable[[], T]) -> T | None:
    """The answer, or None where the report does not hold it: for a page that shows a dash in its place."""
    try:
        return question()
    except NotRecordedError:
        return None


GRAPH_PROFILE = "This report holds no graph profile: compile with autoReport.outputGraphProfile=true to record memory."
LOWERED_VARIABLES = (
    "This report holds no lowered variables: compile with autoReport.outputLoweredVars=true to see what lies on a tile."
)
CODE_SIZES = (
    "This report holds no code sizes: compile for an IPU, or with IPUModel's compileIPUCode on, and with "
    "autoReport.outputGraphProfile=true to record them."
)
LIVENESS = "This report holds no liveness: compile with autoReport.outputGraphProfile=true to record it."
