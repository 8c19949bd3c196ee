"""The selection in the URL, with the same keys for all views.

The browser keeps the selection as a flat mapping of strings (the query string, `dcc.Store(id="selection")`).
`Selection.parse` reads such a mapping or a query string, `Selection.format` writes it.

    tiles=0-3,7   ipu=1   program=12   step=40   liveness=5   variable=9   from=1000   to=2500

Ids count from 0; `from` and `to` bound a half-open window of device cycles; `vs` names the reports compared with
(webapp/base/comparison.py). Any other key is an extra of one view and kept unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from webapp.base.query import whole_number

_NUMBERS = {
    "ipu": "ipu",
    "program": "program",
    "step": "step",
    "liveness": "liveness",
    "variable": "variable",
    "from": "begin",
    "to": "end",
}

#: Keys that are kept when the user changes the view; other keys belong to one view.
SHARED_KEYS = ("tiles", *_NUMBERS, "vs")

_MOST_TILES = 200_000  # larger than any machine; a hostile "0-99999999999" cannot fill the memory
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Selection:
    """`begin` and `end` are the window of cycles; `problems` are sentences about unreadable values."""

    tiles: tuple[int, ...] = ()
    ipu: int | None = None
    program: int | None = None
    step: int | None = None
    liveness: int | None = None
    variable: int | None = None
    begin: int | None = None
    end: int | None = None
    extras: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @classmethod
    def parse(cls, source: str | Mapping[str, Any] | None) -> Selection:
        """Read a query string (with or without "?") or a flat mapping. Never raises: unreadable values are ignored and
        named in `problems`."""
        pairs = dict(parse_qsl(source.lstrip("?"))) if isinstance(source, str) else dict(source or {})
        fields: dict[str, Any] = {}
        extras: dict[str, str] = {}
        problems: list[str] = []
        for key, value in pairs.items():
            text = str(value)
            try:
                if key == "tiles":
                    fields["tiles"] = parse_tiles(text)
                elif key in _NUMBERS:
                    fields[_NUMBERS[key]] = _number(key, text)
                else:
                    extras[key] = text
            except ValueError as problem:
                problems.append(str(problem))
        return cls(**fields, extras=extras, problems=tuple(problems))

    def as_params(self) -> dict[str, str]:
        """The flat mapping of strings that `parse` reads, without absent parts."""
        params = {"tiles": format_tiles(self.tiles)} if self.tiles else {}
        for key, name in _NUMBERS.items():
            value = getattr(self, name)
            if value is not None:
                params[key] = str(value)
        return params | dict(self.extras)

    def format(self) -> str:
        """The query string without "?"; equal selections give equal strings."""
        return urlencode(self.as_params(), safe=",-")


def parse_tiles(text: str) -> tuple[int, ...]:
    """Tile ids of a text such as 0-3,7, sorted, each once. Raises ValueError naming the part that is not a tile or a
    range."""
    tiles: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        first, dash, last = (each.strip() for each in part.partition("-"))
        begin, end = whole_number(first), whole_number(last if dash else first)
        if begin is None or end is None:
            raise ValueError(f"tiles: {part!r} is not a tile or a range; write for example 0-3,7")
        if end < begin or end - begin >= _MOST_TILES or len(tiles) > _MOST_TILES:
            raise ValueError(f"tiles: the range {part!r} is empty or larger than {_MOST_TILES} tiles")
        tiles.update(range(begin, end + 1))
    return tuple(sorted(tiles))


def format_tiles(tiles: tuple[int, ...]) -> str:
    """(0, 1, 2, 3, 7) -> "0-3,7"."""
    runs: list[list[int]] = []
    for tile in sorted(set(tiles)):
        if runs and tile == runs[-1][1] + 1:
            runs[-1][1] = tile
        else:
            runs.append([tile, tile])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _number(key: str, text: str) -> int:
    number = whole_number(text, 0, _LARGEST)
    if number is None:
        raise ValueError(f"{key}: {text!r} is not a whole number from 0 to {_LARGEST}")
    return number
