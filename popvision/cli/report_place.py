"""The argument of commands that read many reports: a folder, or an address of a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class ReportPlace(click.ParamType[Path | str]):
    """An existing folder as a Path; an address with :// as its text."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        if isinstance(value, str) and "://" in value:
            return value
        folder = _FOLDER.convert(value, param, ctx)
        assert isinstance(folder, Path)
        return folder
