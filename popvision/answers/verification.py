"""Every file of a report or trace against its checksums: what `popvision verify` and `popvision info --verify` say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from popvision.analysis.trace.source import TraceSource
from popvision.formats.archive import read_archive
from popvision.formats.debug_info import read_debug_info
from popvision.formats.errors import FormatError
from popvision.formats.executable import check_executable, is_executable
from popvision.formats.integrity import Loss, LostPart, Verified, summed, verified
from popvision.formats.profile import ProfileReader
from popvision.formats.serialized_graph import read_serialized_graph


class Verification(TypedDict):
    """One file. `integrity` is "sound", "damaged" or "without checksums", with the reason."""

    path: str
    integrity: str
    verified: Verified
    lost: list[Loss]


def files_to_verify(path: str | Path) -> list[Path]:
    """The files below a folder that have checksums, or the file itself. Raises FormatError when there is none."""
    path = Path(path)
    if not path.exists():
        raise FormatError(f"{path} does not exist; give a report folder, a profile.pop or a .pvti.")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and _check_of(file) is not None)
    if not found:
        raise FormatError(f"{path} holds no profile.pop, no .pvti, no executable and no other file of a report.")
    return found


def verify_file(path: Path) -> Verification:
    """Read all of a file, and compare it with its checksums. A file of an unknown name is read as an executable where
    it begins like one, else as a profile.pop."""
    try:
        lost, reason = (_check_of(path) or (_executable if is_executable(path) else _profile))(path)
    except FormatError as problem:  # nothing of it is shown
        lost = [LostPart("file", str(problem))]
        return {"path": str(path), "integrity": "damaged", "verified": "no", "lost": summed(lost)}
    integrity = "damaged" if lost else f"without checksums: {reason}" if reason else "sound"
    return {"path": str(path), "integrity": integrity, "verified": verified(lost, not reason), "lost": summed(lost)}


_Check = Callable[[Path], tuple[list[LostPart], str]]


def _check_of(path: Path) -> _Check | None:
    """What reads a file: it gives its lost parts, and why it has no checksums ("" = it has)."""
    return _OF_SUFFIXES.get(path.suffix) or _CHECKS.get(path.name)


def _profile(path: Path) -> tuple[list[LostPart], str]:
    reader = ProfileReader(path, salvage=True)
    return reader.survey(), "written by another tool" if reader.foreign else ""


def _trace(path: Path) -> tuple[list[LostPart], str]:
    source = TraceSource(path)
    return source.survey(), "" if source.has_checksums else "written before 1.1"


def _executable(path: Path) -> tuple[list[LostPart], str]:
    return [], check_executable(path)


def _read_by(read: Callable[[Path], object]) -> _Check:
    def check(path: Path) -> tuple[list[LostPart], str]:
        read(path)
        return [], ""

    return check


_OF_SUFFIXES: dict[str, _Check] = {
    ".pvti": _trace,
    ".poplar_exec": _executable,
    ".popef": _executable,
    ".ipu_bin": _executable,
}

_CHECKS: dict[str, _Check] = {
    "profile.pop": _profile,
    "debug.json": _read_by(read_debug_info),
    "debug.cbor": _read_by(read_debug_info),
    "serialized_graph.capnp": _read_by(read_serialized_graph),
    "archive.a": _read_by(read_archive),
}
