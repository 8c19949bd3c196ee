"""Reads JSON that programs and frameworks put beside a report (framework.json, app.json), as hostile input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError

#: Bytes. Larger files are refused: these hold settings, and a page shows all of them.
LARGEST_BYTES = 1 << 20


def read_foreign_json(path: Path) -> Any:
    """The value in the file. Raises FormatError when it is too large or no JSON."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise FormatError(f"{path.name} is larger than 1 MiB and is not shown.")
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise FormatError(f"{path.name} cannot be read: {problem}") from None
