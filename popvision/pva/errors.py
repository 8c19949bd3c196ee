"""What this package raises: FormatError, a RuntimeError as scripts written for libpva expect, of one sentence.

AbsentError is the FormatError of a question whose part was not recorded; its sentence names the option that records it.
Beside them only what Python's own lists and objects raise: IndexError, AttributeError, TypeError for bad arguments.
"""

from popvision.formats.errors import AbsentError, FormatError, NotRecordedError

__all__ = ["AbsentError", "FormatError", "NotRecordedError"]

GRAPH_PROFILE = "this report holds no graph profile: compile with autoReport.outputGraphProfile=true"
LOWERED_VARIABLES = "this report holds no lowered variables: compile with autoReport.outputLoweredVars=true"
EXECUTION_PROFILE = (
    "this report holds no execution profile: run with autoReport.outputExecutionProfile=true, and "
    "autoReport.executionProfileProgramRunCount for the number of runs"
)
DEBUG_INFORMATION = (
    "this report has no debug information: run with autoReport.outputDebugInfo=true and give openReport the debug.cbor "
    "that was written with it"
)


def absent(sentence: str) -> AbsentError:
    """The error of a part that was not recorded."""
    return AbsentError(f"{sentence[0].upper()}{sentence[1:]}.")
