"""Progress of long runs of tests, kept in the user's cache while the sources that they try stay as they are."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def progress_path(run: str, *patterns: str) -> Path:
    """The file of a run, for the sources that patterns below the repository name as they are now."""
    sources = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            sources.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "popvision" / run / f"{sources.hexdigest()[:16]}.json"
