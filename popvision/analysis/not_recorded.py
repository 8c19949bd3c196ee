"""The exception of a question whose columns the report does not hold."""

from __future__ import annotations


class NotRecordedError(LookupError):
    """The report lacks what this question needs: one sentence saying what, and which option records it."""


GRAPH_PROFILE = "This report holds no graph profile: compile with autoReport.outputGraphProfile=true to record memory."
LOWERED_VARIABLES = (
    "This report holds no lowered variables: compile with autoReport.outputLoweredVars=true to see what lies on a tile."
)
LIVENESS = "This report holds no liveness: compile with autoReport.outputGraphProfile=true to record it."
