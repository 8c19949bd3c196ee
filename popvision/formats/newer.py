"""Refuses files of a newer major format version."""

from __future__ import annotations

from pathlib import Path

from popvision.formats.errors import FormatError


def refuse_newer(path: str | Path, version: str, newest_major: int) -> None:
    """Raise FormatError when the major part of `version` ("1.2.0") is above `newest_major`, ValueError when it is no
    number."""
    if int(version.partition(".")[0]) > newest_major:
        raise FormatError(
            f"{path} has format version {version}; this popvision reads up to {newest_major}.x: "
            "install a newer popvision."
        )
