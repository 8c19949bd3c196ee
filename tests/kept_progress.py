"""Progress of long runs of tests, kept in the user's cache while the sources that they try stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from popvision.formats.replacing import replacing

ROOT = Path(__file__).resolve().parents[1]


def progress_path(run: str, *patterns: str) -> Path:
    """The file of a run, for the sources that patterns below the repository name as they are now."""
    sources = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            sources.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "popvision" / run / f"{sources.hexdigest()[:16]}.json"


def read_progress(path: Path) -> dict[str, Any]:
    """What a run wrote last, {} for one that has not begun."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write_progress(path: Path, progress: dict[str, Any]) -> None:
    """Takes the place of what was written before; a run that is killed meanwhile leaves the one or the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(progress))
