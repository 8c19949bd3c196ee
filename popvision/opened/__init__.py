"""`popvision.open`: a report or a trace as pandas DataFrames and NumPy arrays.

Each method answers one question, reads what it needs when it is called, and caches it. The suffix of a column's name is
its unit ("_bytes", "_cycles", "_us"), repeated in `frame.attrs["units"]`; `frame.attrs["provenance"]` names producer
and target. docs/open.md lists all methods.
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
    """Open a report or a trace, for `popvision.open`.

    `path` is a report folder, a profile.pop (or another file of a report, such as debug.cbor), a .pvti or the trace of
    another tool (docs/pvti.md); a folder with one .pvti and no profile.pop opens that trace. `debug` names debug
    information to use instead of the file beside the profile. With `salvage` a damaged report opens too: questions
    about damaged parts raise, `lost` lists them.

    Raises FormatError, one sentence, when `path` holds nothing readable."""
    from popvision.formats.folder import PROFILE_NAME
    from popvision.formats.foreign_traces.recognition import is_foreign_trace

    if not isinstance(path, str | os.PathLike):
        raise FormatError(f"popvision.open takes one path, not {str(path)[:100]}; call it once for each report.")
    path = Path(path)
    if not path.is_dir() and (path.suffix == ".pvti" or is_foreign_trace(path)):
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
        raise FormatError(f"{path} is a host trace and takes no debug information; omit `debug`.")
    from popvision.opened.trace import OpenedTrace

    return OpenedTrace(path)
