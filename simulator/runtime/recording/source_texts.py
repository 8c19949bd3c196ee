"""Texts of the user's source files that debug contexts name, for the report, within fixed limits.

`POPVISION_SOURCES=off` leaves them out: sources may be confidential, and reports are passed on.
"""

from __future__ import annotations

import os
import tokenize
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from popvision.formats.debug_info import MOST_SOURCE_BYTES, MOST_SOURCES_BYTES, DebugInfo, SourceText
from simulator.base.errors import invalid_option
from simulator.base.user_files import is_users

VARIABLE = "POPVISION_SOURCES"


def source_texts(contexts: Iterable[DebugInfo]) -> list[SourceText] | None:
    """Texts of the user's files in the order of first mention; None when the environment says to leave them out.

    A file that is too large, or that cannot be read, is named with the reason and without its text. Raises
    invalid_option for a value other than on and off."""
    wanted = os.environ.get(VARIABLE, "on").lower()
    if wanted not in ("on", "off"):
        raise invalid_option(f"{VARIABLE} cannot be '{wanted}'; use 'on' or 'off'.")
    if wanted == "off":
        return None
    texts, left = [], MOST_SOURCES_BYTES
    for file in dict.fromkeys(context.file for context in contexts):
        if not file or file.startswith("<") or not is_users(file):
            continue
        text, why = _read(Path(file), left)
        left -= len(text.encode())
        texts.append(SourceText(file, text, why))
    return texts


def _read(path: Path, left: int) -> tuple[str, str]:
    """(text, why there is none)."""
    try:
        if not path.is_file():
            return "", "it was not there when the report was written"
        with path.open("rb") as opened:
            data = opened.read(MOST_SOURCE_BYTES + 1)
        if len(data) > MOST_SOURCE_BYTES:
            return "", "it is larger than 1 MiB"
        try:
            encoding = tokenize.detect_encoding(BytesIO(data).readline)[0]
        except SyntaxError:
            encoding = "utf-8"
        text = data.decode(encoding, "replace")
    except OSError as error:
        return "", f"it could not be read: {error.strerror or 'error'}"
    if len(text.encode()) > left:
        return "", "the sources of a report end at 8 MiB"
    return text, ""
