"""An open profiler for tile processors: analysis library and command line.

This module imports nothing, so that tracing (`popvision.pvti`) does not import NumPy. `popvision.open` imports what it
needs.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from popvision.opened.report import OpenedReport
    from popvision.opened.trace import OpenedTrace


def open(
    path: "str | os.PathLike[str]", *, debug: "str | os.PathLike[str] | None" = None, salvage: bool = False
) -> "OpenedReport | OpenedTrace":
    """Open a report folder, a profile.pop or a host trace (.pvti) as DataFrames and arrays, read lazily: docs/open.md.

        with popvision.open("report") as report:
            report.tiles().plot(x="tile", y="including_gaps_bytes")

    `debug` names debug information to use instead of the file beside the profile; with `salvage` a damaged report opens
    too. Raises `popvision.formats.errors.FormatError`, one sentence, when `path` holds nothing readable."""
    from popvision.opened import open_path

    return open_path(path, debug=debug, salvage=salvage)
