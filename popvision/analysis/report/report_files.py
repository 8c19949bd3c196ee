"""Files of a report folder and their state, and the JSON that the framework and the application wrote there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popvision.formats.errors import FormatError, LostError, NotRecordedError
from popvision.formats.foreign_json import read_foreign_json

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: JSON files that programs and frameworks put beside a report.
JSON_FILES = {"framework.json": "Framework", "app.json": "Application"}


@dataclass(frozen=True)
class FileRow:
    """One file or part of one. `state` is "found", "missing", "damaged" or "stale": of another run than profile.pop.
    `option` is the engine option that writes it."""

    label: str
    name: str
    option: str
    state: str
    bytes: int | None


@dataclass(frozen=True)
class JsonFile:
    """framework.json or app.json: its `content`, and the same as (name, value) rows, nested names joined by " / ";
    `problem`: why there are none."""

    label: str
    name: str
    rows: list[tuple[str, str]]
    problem: str = ""
    content: Any = None


def file_rows(source: ReportSource) -> list[FileRow]:
    """The two parts of profile.pop, then every other known file."""
    files = dict(source.files)
    profile = files.pop("profile.pop", None)
    size = None if profile is None else profile.size_bytes
    memory = _state(lambda: source.reader.tile_memory() is not None)
    runs = _state(lambda: bool(source.reader.runs().name))
    rows = [
        FileRow("Graph profile", "profile.pop", "autoReport.outputGraphProfile", memory, size),
        FileRow("Execution profile", "profile.pop", "autoReport.outputExecutionProfile", runs, None),
    ]
    for file in files.values():
        known = None if file.state == "missing" else file.size_bytes
        rows.append(FileRow(file.what[:1].upper() + file.what[1:], file.name, file.option, file.state, known))
    return rows


def _state(is_there: Callable[[], bool]) -> str:
    try:
        return "found" if is_there() else "missing"
    except LostError:
        return "damaged"
    except NotRecordedError:
        return "missing"


def json_files(source: ReportSource) -> list[JsonFile]:
    """framework.json and app.json where they are, in the folder or the one above it."""
    documents = []
    for name, label in JSON_FILES.items():
        for folder in (source.folder, source.folder.absolute().parent):
            path = folder / name
            if path.is_file():
                documents.append(_read(path, label))
                break
    return documents


def _read(path: Path, label: str) -> JsonFile:
    try:
        content = read_foreign_json(path)
    except FormatError as problem:
        return JsonFile(label, path.name, [], str(problem))
    rows: list[tuple[str, str]] = []
    _flatten(content, (), rows)
    return JsonFile(label, path.name, rows, content=content)


def _flatten(value: Any, names: tuple[str, ...], rows: list[tuple[str, str]]) -> None:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            _flatten(part, (*names, str(name)), rows)
    else:
        rows.append((" / ".join(names), value if isinstance(value, str) else json.dumps(value)))
