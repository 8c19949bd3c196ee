"""The files of a report folder: present, missing, or left over from another run.

Files of one execution carry the same run_id. debug.json and debug.cbor lie at the root of the report directory,
above the sub-folders of named engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from popvision.formats import archive, debug_info, serialized_graph
from popvision.formats.errors import FormatError

PROFILE_NAME = "profile.pop"

#: File name -> its contents and the engine option that writes it.
KNOWN = {
    PROFILE_NAME: ("graph and execution profile", "autoReport.outputGraphProfile"),
    "debug.json": ("debug information", "autoReport.outputDebugInfo"),
    "debug.cbor": ("debug information, binary", "autoReport.outputDebugInfo"),
    "serialized_graph.capnp": ("the graph", "autoReport.outputSerializedGraph"),
    "archive.a": ("sections and symbols per tile", "autoReport.outputArchive"),
}

_ABOVE = ("debug.json", "debug.cbor")
_RUN_IDS = {
    "debug.json": debug_info.run_id_of,
    "debug.cbor": debug_info.run_id_of,
    "serialized_graph.capnp": serialized_graph.run_id_of,
    "archive.a": archive.run_id_of,
}


@dataclass(frozen=True)
class ReportFile:
    """One known file. `state`: "found", "missing", or "stale" = it belongs to another run than profile.pop."""

    name: str
    what: str
    option: str  #: engine option that writes it
    state: str
    path: Path | None = None
    size_bytes: int = 0
    run_id: str = ""


def report_files(folder: str | Path, run_id: str) -> list[ReportFile]:
    """The known files of a report folder whose profile.pop has `run_id` ("" = not known: nothing is stale)."""
    return [_look(Path(folder), name, run_id) for name in KNOWN]


def locate(path: str | Path) -> tuple[Path, Path]:
    """(folder, profile.pop) of a report given as folder, as profile.pop or as another file beside it.

    Raises FormatError when there is no profile."""
    path = Path(path)
    if path.is_dir():
        profile = path / PROFILE_NAME
        if not profile.is_file():
            raise FormatError(
                f"{path} holds no {PROFILE_NAME}; run the program with autoReport.all, or give the folder of a report."
            )
        return path, profile
    if path.name in KNOWN and path.name != PROFILE_NAME and path.exists():
        path = path.with_name(PROFILE_NAME)
    if not path.exists():
        raise FormatError(f"{path} does not exist; give a report folder or a {PROFILE_NAME}.")
    return path.parent, path


def _look(folder: Path, name: str, run_id: str) -> ReportFile:
    what, option = KNOWN[name]
    places = [folder, folder.absolute().parent] if name in _ABOVE else [folder]
    best = ReportFile(name, what, option, "missing")
    for place in places:
        path = place / name
        try:
            size = path.stat().st_size
            file_run_id = run_id if name == PROFILE_NAME else _RUN_IDS[name](path)
        except (OSError, FormatError):
            continue
        state = "stale" if run_id and file_run_id and file_run_id != run_id else "found"
        if state == "found":
            return ReportFile(name, what, option, state, path, size, file_run_id)
        best = ReportFile(name, what, option, state, path, size, file_run_id)
    return best
