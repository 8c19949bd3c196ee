"""`popvision.open`: a report or a trace as pandas DataFrames and NumPy arrays.

Every method answers one question; nothing is read before it is asked, and what was read once is kept. The unit of a
column is the end of its name ("_bytes", "_cycles", "_us"); the same stands in `frame.attrs["units"]`, and
`frame.attrs["provenance"]` says who made the figures and for which target. docs/open.md lists all of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport
    from popvision.opened.trace import OpenedTrace

__all__ = ["open_path"]


def open_path(
    path: str | os.PathLike[str], *, debug: str | os.PathLike[str] | None = None, salvage: bool = False
) -> OpenedReport | OpenedTrace:
    """What `popvision.open` does.

    `path` is a report folder, a profile.pop (or another file of a report, such as debug.cbor) or a .pvti file; a folder
    without a profile.pop but with one .pvti opens that trace. `debug` names the debug information to use in place of
    what lies beside the profile. With `salvage` a damaged report opens too: what is damaged raises when it is asked
    for, `lost` says what is gone.

    Raises FormatError, one sentence, when there is nothing readable at `path`."""
    from popvision.formats.folder import PROFILE_NAME

    path = Path(path)
    if path.suffix == ".pvti" and not path.is_dir():
        return _trace(path, debug)
    if path.is_dir() and not (path / PROFILE_NAME).is_file():
        traces = sorted(path.glob("*.pvti"))
        if len(traces) == 1:
            return _trace(traces[0], debug)
        below = sorted(each.parent.name for each in path.glob(f"*/{PROFILE_NAME}"))
        if traces or below:
            raise FormatError(
                f"{path} holds no {PROFILE_NAME} of its own; open one of {', '.join([t.name for t in traces] + below)}."
            )
    from popvision.opened.report import OpenedReport

    return OpenedReport(path, debug=debug, salvage=salvage)


def _trace(path: Path, debug: str | os.PathLike[str] | None) -> OpenedTrace:
    if debug is not None:
        raise FormatError(f"{path} is a host trace and takes no debug information; leave `debug` out.")
    from popvision.opened.trace import OpenedTrace

    return OpenedTrace(path)
