"""The reports and traces that an agent may read: those below the folders it was given, by name, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from popvision.formats.errors import FormatError
from popvision.formats.folder import PROFILE_NAME
from popvision.kept import BoundedCache
from popvision.opened.report import OpenedReport
from popvision.opened.trace import OpenedTrace

#: Reports that stay open; each keeps what was read of it.
_OPEN = 3

#: Files that are offered.
MOST_FILES = 1_000


class Shelf:
    """`reports` and `traces`: name -> (the folder that was given, the file). A name is the path from the given folder's
    own name on, such as "runs/training"; agents never see or give another path. Raises FormatError for a folder
    that is not there or holds nothing."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.reports: dict[str, tuple[Path, Path]] = {}
        self.traces: dict[str, tuple[Path, Path]] = {}
        self._open: BoundedCache[tuple[str, str], OpenedReport | OpenedTrace] = BoundedCache(_OPEN, lambda _: 1)
        for folder in folders:
            self._add(folder)

    def report(self, name: str) -> OpenedReport:
        """The report of that name; the only one for "". Raises FormatError for another name."""
        name = _chosen(name, self.reports, "report")
        root, path = self.reports[name]
        found = self._open.get(("report", name), lambda: OpenedReport(_inside(root, path), salvage=True, within=root))
        assert isinstance(found, OpenedReport)
        return found

    def trace(self, name: str) -> OpenedTrace:
        """The same for traces."""
        name = _chosen(name, self.traces, "trace")
        root, path = self.traces[name]
        found = self._open.get(("trace", name), lambda: OpenedTrace(_inside(root, path)))
        assert isinstance(found, OpenedTrace)
        return found

    def _add(self, folder: Path) -> None:
        root = folder.resolve()
        if not root.is_dir():
            raise FormatError(f"{folder} is no folder; give folders of reports.")
        before = len(self.reports) + len(self.traces)
        for path in sorted([*root.rglob(PROFILE_NAME), *root.rglob("*.pvti")]):
            if not path.resolve().is_relative_to(root) or len(self.reports) + len(self.traces) >= MOST_FILES:
                continue
            if path.name == PROFILE_NAME:
                self.reports[self._name(root, path.parent, self.reports)] = (root, path)
            else:
                self.traces[self._name(root, path, self.traces)] = (root, path)
        if len(self.reports) + len(self.traces) == before:
            raise FormatError(f"{folder} holds no {PROFILE_NAME} and no .pvti, and neither do its sub-folders.")

    def _name(self, root: Path, path: Path, taken: dict[str, tuple[Path, Path]]) -> str:
        name = "/".join([root.name, *path.relative_to(root).parts])
        number = 2
        while (numbered := name if number == 2 else f"{name} ({number - 1})") in taken:
            number += 1
        return numbered


def _inside(root: Path, path: Path) -> Path:
    """The path, if it still lies below the folder that was given: a link may have been put there since."""
    if not path.resolve().is_relative_to(root):
        raise FormatError(f"{path.name} is now a link that leads out of the folder that was given.")
    return path


def _chosen(name: str, known: dict[str, tuple[Path, Path]], what: str) -> str:
    if not name and len(known) == 1:
        return next(iter(known))
    if name not in known:
        listed = ", ".join(list(known)[:20]) or "none"
        said = f"there is no {what} {name[:100]!r}" if name else f"name a {what}"
        raise FormatError(f"{said}; known are {listed}.")
    return name
