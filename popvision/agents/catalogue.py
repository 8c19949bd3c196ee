"""The catalogue of reports and traces that an agent may read: those below the given folders, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from popvision.formats.errors import FormatError
from popvision.formats.folder import PROFILE_NAME
from popvision.kept import BoundedCache
from popvision.opened.report import OpenedReport
from popvision.opened.trace import OpenedTrace

#: Reports that stay open, each with everything read from it.
_MOST_OPEN = 3

#: Maximum files in a catalogue.
MOST_FILES = 1_000


class Catalogue:
    """`reports` and `traces`: name -> (given folder, file). A name is a path that starts with the given folder's own
    name, such as "runs/training"; agents see and give no other paths. Raises FormatError for a folder that is missing
    or empty."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.reports: dict[str, tuple[Path, Path]] = {}
        self.traces: dict[str, tuple[Path, Path]] = {}
        self._open: BoundedCache[tuple[str, str], OpenedReport | OpenedTrace] = BoundedCache(_MOST_OPEN, lambda _: 1)
        for folder in folders:
            self._add(folder)

    def report(self, name: str) -> OpenedReport:
        """The report of that name; "" names the only one. Raises FormatError for an unknown name."""
        name = _resolve_name(name, self.reports, "report")
        root, path = self.reports[name]
        report = self._open.get(("report", name), lambda: OpenedReport(_inside(root, path), salvage=True, within=root))
        assert isinstance(report, OpenedReport)
        return report

    def trace(self, name: str) -> OpenedTrace:
        """The trace of that name; see `report`."""
        name = _resolve_name(name, self.traces, "trace")
        root, path = self.traces[name]
        trace = self._open.get(("trace", name), lambda: OpenedTrace(_inside(root, path)))
        assert isinstance(trace, OpenedTrace)
        return trace

    def _add(self, folder: Path) -> None:
        root = folder.resolve()
        if not root.is_dir():
            raise FormatError(f"{folder} is not a folder; give folders of reports.")
        before = len(self.reports) + len(self.traces)
        for path in sorted([*root.rglob(PROFILE_NAME), *root.rglob("*.pvti")]):
            if not path.resolve().is_relative_to(root) or len(self.reports) + len(self.traces) >= MOST_FILES:
                continue
            if path.name == PROFILE_NAME:
                self.reports[self._name(root, path.parent, self.reports)] = (root, path)
            else:
                self.traces[self._name(root, path, self.traces)] = (root, path)
        if len(self.reports) + len(self.traces) == before:
            raise FormatError(f"{folder} holds no {PROFILE_NAME} and no .pvti, and its sub-folders hold none either.")

    def _name(self, root: Path, path: Path, taken: dict[str, tuple[Path, Path]]) -> str:
        name = "/".join([root.name, *path.relative_to(root).parts])
        number = 2
        while (numbered := name if number == 2 else f"{name} ({number - 1})") in taken:
            number += 1
        return numbered


def _inside(root: Path, path: Path) -> Path:
    """The path, checked to lie below the given folder still: it may have become a link since."""
    if not path.resolve().is_relative_to(root):
        raise FormatError(f"{path.name} is now a link that leads out of the given folder.")
    return path


def _resolve_name(name: str, known: dict[str, tuple[Path, Path]], kind: str) -> str:
    if not name and len(known) == 1:
        return next(iter(known))
    if name not in known:
        listed = ", ".join(list(known)[:20]) or "none"
        problem = f"there is no {kind} {name[:100]!r}" if name else f"give the name of a {kind}"
        raise FormatError(f"{problem}; the names are {listed}.")
    return name
