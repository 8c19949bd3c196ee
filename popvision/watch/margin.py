"""The margin of a file: each line's figures, and their change since an earlier version.

Nothing is lost between two versions: for each figure

    changes of lines + of lines that are no longer there + of other files + of what no line has = change of the total
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from popvision.watch.saved_source import same_lines
from popvision.watch.version import NO_FIGURES, Figures, FileLines, Version

_NO_FILE = FileLines("", "", {})


def margin(version: Version, path: str, shown: str, bases: Mapping[str, Version | None]) -> dict[str, Any]:
    """JSON for a page: `lines` (number in the text `shown` -> figures, place in the report), `rest` (what stands beside
    no line), `changes` of each base version in the same form, None without that base.

    Figures are [cycles, live bytes, received bytes]; null = not recorded."""
    file = version.files.get(path, _NO_FILE)
    places = same_lines(file.text.split("\n"), shown.split("\n"))
    lines = {
        str(places[number]): [*line.figures, line.recorded, line.program, line.variable]
        for number, line in file.lines.items()
        if number in places
    }
    gone = _sum([line.figures for number, line in file.lines.items() if number not in places], version.total)
    changes = {name: None if base is None else _changes(version, base, path, places) for name, base in bases.items()}
    rest = {"gone": gone, **_rest(version, path), "total": version.total}
    return {"name": file.name, "lines": lines, "rest": rest, "changes": changes}


def _rest(version: Version, path: str) -> dict[str, Figures]:
    """Figures of the program's other files, and of what no line of its files accounts for."""
    others = [line.figures for other, file in version.files.items() if other != path for line in file.lines.values()]
    own = [line.figures for line in version.files.get(path, _NO_FILE).lines.values()]
    elsewhere, here = _sum(others, version.total), _sum(own, version.total)
    return {"others": elsewhere, "unattributed": _minus(_minus(version.total, elsewhere), here)}


def _changes(version: Version, base: Version, path: str, places: Mapping[int, int]) -> dict[str, Any]:
    file, old = version.files.get(path, _NO_FILE), base.files.get(path, _NO_FILE)
    known = _minus(version.total, base.total)  # None where either lacks the figure
    moved = same_lines(old.text.split("\n"), file.text.split("\n"))
    before = {moved[number]: line.figures for number, line in old.lines.items() if number in moved}
    lines: dict[str, Figures] = {}
    gone = [_minus(_zero(known), line.figures) for number, line in old.lines.items() if number not in moved]
    for number in sorted({*before, *file.lines}):
        now = file.lines[number].figures if number in file.lines else _zero(known)
        change = _minus(now, before.get(number, _zero(known)))
        if number in places:
            lines[str(places[number])] = change
        else:
            gone.append(change)
    rest_now, rest_then = _rest(version, path), _rest(base, path)
    rest = {name: _minus(rest_now[name], rest_then[name]) for name in rest_now}
    return {"lines": lines, "rest": {"gone": _sum(gone, known), **rest, "total": known}}


def _zero(like: Figures) -> Figures:
    return tuple(None if each is None else 0 for each in like)  # type: ignore[return-value]


def _minus(one: Figures, other: Figures) -> Figures:
    pairs = zip(one, other, strict=True)
    return tuple(None if a is None or b is None else a - b for a, b in pairs)  # type: ignore[return-value]


def _sum(rows: list[Figures], like: Figures) -> Figures:
    """The sum of each figure that is known in `like`."""
    if like == NO_FIGURES:
        return NO_FIGURES
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    sums = [sum(value or 0 for value in column) for column in columns]
    return tuple(None if each is None else value for each, value in zip(like, sums, strict=True))  # type: ignore[return-value]
