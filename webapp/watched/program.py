"""What the page needs of a watched program; `popvision.watch.session.WatchedProgram` provides it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class WatchedProgram(Protocol):
    """Thread-safe. `folder` is where the reports of its runs come and go."""

    path: str
    folder: Path

    def state(self, known: int = -1, path: str = "") -> dict[str, Any]:
        """JSON of one of its files, {"turn"} alone when nothing changed since turn `known`."""

    def pin(self, is_pinned: bool) -> None:
        """Compare with the version shown now from here on, or with none."""

    def run_again(self) -> None:
        """Run the program although nothing changed."""
