"""The exceptions of this package, and the sentences that say which option records a missing part.

    RuntimeError                 which scripts written for libpva expect
    +- FormatError               a file is missing, damaged, locked, of a newer version or of another run
       +- AbsentError            the part that answers a question was not recorded (also a LookupError)

Bad arguments raise what Python's own lists and objects raise: IndexError, AttributeError, TypeError, ValueError.
"""

from popvision.formats.errors import AbsentError, FormatError, NotRecordedError

__all__ = ["AbsentError", "FormatError", "NotRecordedError"]

GRAPH_PROFILE = "this report holds no graph profile: compile with autoReport.outputGraphProfile=true"
LOWERED_VARIABLES = "this report holds no lowered variables: compile with autoReport.outputLoweredVars=true"
EXECUTION_PROFILE = (
    "this report holds no execution profile: run with autoReport.outputExecutionProfile=true, and "
    "autoReport.executionProfileProgramRunCount for the number of runs"
)
TOUCHED_VARIABLES = (
    "this report does not record which variables programs read or write: its format is older than 1.2; compile again"
)
ZERO_OR_UNKNOWN = (
    "this report does not tell zero from not known: its format is older than 1.3, or its writer left it open; compile "
    "again"
)
DEBUG_INFORMATION = (
    "this report has no debug information: run with autoReport.outputDebugInfo=true and give openReport the debug.cbor "
    "that was written with it"
)


def absent(sentence: str) -> AbsentError:
    """An AbsentError with this sentence, capitalised and with a full stop."""
    return AbsentError(f"{sentence[0].upper()}{sentence[1:]}.")
