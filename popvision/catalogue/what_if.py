"""What if: the reports of one program of a sweep as a table over two of its axes, the others held at a value each.

`what_if` chooses; a cell holds the row of its report in the catalogue. verdicts.py says in sentences where the program
stops fitting and how fast it is. Cost: one pass over the rows for each axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.report.target import ARCHITECTURE_NAMES
from popvision.arrays import BoolArray, Int64Array
from popvision.catalogue.report_row import AXIS, point_of
from popvision.catalogue.scatter import fits
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    import pandas as pd

#: Axes by what a user asks for first: across, then as lines.
_ACROSS = ("axis.tiles", "axis.constants.memoryBytesPerTile", "axis.constants.exchangeBytesPerCycle")
_LINES = ("axis.target", *_ACROSS)

_TITLES = {
    "axis.target": "Chip",
    "axis.tiles": "Tiles",
    "axis.constants.memoryBytesPerTile": "Memory per tile",
    "axis.constants.exchangeBytesPerCycle": "Exchange, bytes per cycle",
}

_PHRASES = {
    "axis.target": "{}",
    "axis.tiles": "{} tiles",
    "axis.constants.memoryBytesPerTile": "{} per tile",
    "axis.constants.exchangeBytesPerCycle": "{} bytes per cycle",
}

#: Values that are held where a sweep has them: those of a Mk2.
_USUAL = {"axis.constants.memoryBytesPerTile": 638_976, "axis.constants.exchangeBytesPerCycle": 4}

#: Metrics of speed that can be asked for, best first; less is faster. And those of memory.
SPEED = (
    "device_time",
    "cycles",
    "cycles_per_run",
    "compute_cycles",
    "exchange_cycles",
    "global_exchange_cycles",
    "host_cycles",
    "sync_cycles",
)
MEMORY = ("peak", "peak_used", "memory", "memory_used", "gaps", "tiles_over", "live_peak", "always_live", "code")


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep: the column of the catalogue, its values in order (None = left as the program has it), and
    each value as a text that addresses use."""

    name: str
    values: tuple[Any, ...]

    @property
    def title(self) -> str:
        """In words."""
        return _TITLES.get(self.name, self.name.removeprefix(AXIS).partition(".")[2] or self.name.removeprefix(AXIS))

    @property
    def texts(self) -> list[str]:
        """Each value as a text: "ipu2", "64", "" for none."""
        return [_text(value) for value in self.values]

    def shown(self, at: int) -> str:
        """A value in words: "Mk2", "256", "128 KiB"."""
        value, text = self.values[at], _text(self.values[at])
        if value is None:
            return "as in the program"
        if self.name == "axis.target":
            return ARCHITECTURE_NAMES.get(text, text)
        if self.name == "axis.constants.memoryBytesPerTile":
            return f"{int(value) >> 10:,} KiB" if int(value) % 1024 == 0 else f"{int(value):,} B"
        return f"{value:,.15g}" if isinstance(value, (int, float)) else text

    def phrase(self, at: int) -> str:
        """A value within a sentence: "256 tiles", "n = 3"."""
        if self.values[at] is None:
            return f"{self.title} {self.shown(at)}"
        return _PHRASES.get(self.name, f"{self.title} = {{}}").format(self.shown(at))


@dataclass(frozen=True)
class WhatIf:
    """`row[l, a]` is the row of the report at line l and place a across, -1 where there is none. `axes` are those with
    several values; `held` are the positions of the values of those that are neither across nor lines. `places` are the
    positions of the values of every row of the catalogue along each axis, -1 for reports of other programs. `older`
    reports of the same points were left out: of each point the newest counts."""

    program: str
    programs: tuple[str, ...]
    axes: tuple[Axis, ...]
    across: Axis
    lines: Axis | None
    held: dict[str, int]
    row: Int64Array
    places: dict[str, Int64Array]
    older: int

    def line_name(self, at: int) -> str:
        """What a line stands for, within a sentence."""
        return self.lines.phrase(at) if self.lines is not None else ""


def what_if(
    frame: pd.DataFrame,
    *,
    program: str = "",
    across: str = "",
    lines: str = "",
    held: Mapping[str, str] | None = None,
    near: str = "",
) -> WhatIf:
    """The table of the catalogue's rows `frame` for axes by their column, such as "axis.tiles"; "" = the first of the
    axes that one asks for, "none" as `lines` for one line. `held` are texts of values. Other axes are held where the
    report `near` lies, without one at the value that most reports have, of several at that of a Mk2, else the last.
    Raises FormatError for what there is not."""
    of_sweeps = frame["program"].fillna("").to_numpy(object)
    programs = tuple(sorted({str(name) for name in of_sweeps if name}))
    if not programs:
        raise FormatError(
            "no report here is a point of a sweep: popvision sweep runs a program at the points of a grid."
        )
    own = np.flatnonzero((frame["report"] == near).to_numpy(bool))[:1]
    near_program = str(of_sweeps[own[0]]) if len(own) and of_sweeps[own[0]] else ""
    name = _one_of("program of a sweep", program or near_program or _largest(of_sweeps, programs), programs)
    rows = np.flatnonzero(of_sweeps == name)
    axes, places = _axes(frame, rows)
    if not axes:
        raise FormatError(f"the reports of {name} differ in no axis: give one several values in [grid] of the sweep.")
    by_name = {axis.name: axis for axis in axes}
    first = by_name[_one_of("axis with several values", across or _preferred(axes, _ACROSS), by_name)]
    others = [axis for axis in axes if axis is not first]
    second = None
    if others and lines != "none":
        second = by_name[
            _one_of("axis with several values", lines or _preferred(others, _LINES), [axis.name for axis in others])
        ]
    free = [axis for axis in others if axis is not second]
    for each in held or {}:
        _one_of("axis to hold", each, [axis.name for axis in free])
    fixed: dict[str, int] = {}
    for axis in free:
        there = _at(places, fixed)[rows]
        text = (held or {}).get(axis.name)
        around = places[axis.name][own if text is None and name == near_program else rows[there]]
        fixed[axis.name] = _held_place(axis, around, text)
    chosen = rows[_at(places, fixed)[rows]]
    newest_last = chosen[np.argsort(frame["modified_s"].to_numpy(np.float64)[chosen], kind="stable")]
    cells = np.full((1 if second is None else len(second.values), len(first.values)), -1, np.int64)
    line = places[second.name][newest_last] if second is not None else 0
    cells[line, places[first.name][newest_last]] = newest_last
    older = len(chosen) - int((cells >= 0).sum())
    return WhatIf(name, programs, tuple(axes), first, second, fixed, cells, places, older)


def fit_counts(frame: pd.DataFrame, found: WhatIf) -> dict[str, list[tuple[int, int]]]:
    """For each value of each held axis, the others held as they are: (reports that fit, reports), older ones too."""
    fitting, counts = fits(frame), {}
    for name, axis in ((axis.name, axis) for axis in found.axes if axis.name in found.held):
        rest = {other: at for other, at in found.held.items() if other != name}
        there = _at(found.places, rest) & (found.places[name] >= 0)
        place, size = found.places[name][there], len(axis.values)
        good, every = (np.bincount(each, minlength=size).tolist() for each in (place[fitting[there]], place))
        counts[name] = list(zip(good, every, strict=True))
    return counts


def is_point(folder: Path) -> bool:
    """Whether the report in a folder is of a point of a sweep."""
    return bool(point_of(folder)[0])


def _at(places: Mapping[str, Int64Array], fixed: Mapping[str, int]) -> BoolArray:
    """Whether each row lies at the held values."""
    stays = np.ones(len(next(iter(places.values()))), bool)
    for name, at in fixed.items():
        stays &= places[name] == at
    return stays


def _one_of(what: str, name: str, choices: Any) -> str:
    if name not in choices:
        raise FormatError(f"there is no {what} {name!r}; there are {', '.join(choices) or 'none'}.")
    return name


def _largest(of_sweeps: Any, programs: tuple[str, ...]) -> str:
    """The program with most reports."""
    return max(programs, key=lambda name: int((of_sweeps == name).sum()))


def _preferred(axes: list[Axis], order: tuple[str, ...]) -> str:
    names = [axis.name for axis in axes]
    return next((name for name in order if name in names), names[0])


def _axes(frame: pd.DataFrame, rows: Int64Array) -> tuple[list[Axis], dict[str, Int64Array]]:
    """(the axes along which `rows` differ, the place of every row of the frame along each, -1 for other rows)"""
    axes: list[Axis] = []
    places: dict[str, Int64Array] = {}
    part = frame.iloc[rows]
    for name in (str(column) for column in frame.columns if str(column).startswith(AXIS)):
        codes, uniques = part[name].factorize(use_na_sentinel=False)
        values = [_value(each) for each in uniques]
        order = sorted(range(len(values)), key=_order(part, name, values).__getitem__)
        if len(order) < 2:
            continue
        axes.append(Axis(name, tuple(values[at] for at in order)))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        places[name] = np.full(len(frame), -1, np.int64)
        places[name][rows] = place[codes]
    return axes, places


def _order(part: pd.DataFrame, name: str, values: list[Any]) -> list[tuple[Any, ...]]:
    """What the values of an axis are sorted by: none first, then numbers and texts; commits by their time."""
    if name == f"{AXIS}commit":
        time = part.groupby(name)["commit_time_s"].min().to_dict()
        return [(value is not None, time.get(value, 0), str(value)) for value in values]
    return [(value is not None, isinstance(value, str), 0 if value is None else value) for value in values]


def _value(cell: Any) -> Any:
    """A cell of an axis; None for none, a number that is whole as such."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, str):
        return cell
    return int(cell) if float(cell).is_integer() else float(cell)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _held_place(axis: Axis, places: Int64Array, text: str | None) -> int:
    if text is not None:
        if text not in axis.texts:
            raise FormatError(f"{axis.title} has no value {text!r}; it has {', '.join(axis.texts)}.")
        return axis.texts.index(text)
    counts = np.bincount(places, minlength=len(axis.values))
    most = [int(at) for at in np.flatnonzero(counts == counts.max())]
    return next((at for at in most if axis.values[at] == _USUAL.get(axis.name)), most[-1])


def notes(frame: pd.DataFrame) -> list[str]:
    """Why the time of each report is no answer: "does not fit"; "failed" for a point that did, whose report may lack
    runs; else its state where that is not complete; "" where it is one."""
    states, problems = frame["state"].to_numpy(object), frame["problem"].fillna("").to_numpy(object)
    found = []
    for is_fitting, state, problem in zip(fits(frame), states, problems, strict=True):
        ended = "" if state == "complete" else str(state)
        found.append("does not fit" if not is_fitting else ended or ("failed" if problem else ""))
    return found


def cells(frame: pd.DataFrame, found: WhatIf, speed: str, memory: str) -> pd.DataFrame:
    """A row for each point that has a report: its place across and on which line, its figures (NaN = not recorded), the
    memory of a tile, whether the program fits, and a note in place of a time that is no answer (`notes`).
    Raises FormatError for a metric that is neither."""
    import pandas as pd

    for name, choices in ((speed, SPEED), (memory, MEMORY)):
        if name not in choices:
            raise FormatError(f"there is no such figure {name!r}; there are {', '.join(choices)}.")
    line, across = np.nonzero(found.row >= 0)
    rows = found.row[line, across]
    part = frame.iloc[rows].reset_index(drop=True)
    columns = {"line": line, "across": across, "report": part["report"], "state": part["state"]}
    columns |= {"problem": part["problem"].fillna(""), "fits": fits(part), "note": notes(part)}
    columns |= {name: part[name] for name in dict.fromkeys((speed, memory, "peak", "tile_memory", "tiles_over"))}
    return pd.DataFrame(columns)


def named_cells(frame: pd.DataFrame, found: WhatIf, speed: str, memory: str) -> pd.DataFrame:
    """`cells` with the values of all axes in place of positions, for exports."""
    table = cells(frame, found, speed, memory)
    named = {found.across.name: [found.across.values[at] for at in table["across"]]}
    if found.lines is not None:
        named[found.lines.name] = [found.lines.values[at] for at in table["line"]]
    by_name = {axis.name: axis for axis in found.axes}
    named |= {name: [by_name[name].values[at]] * len(table) for name, at in found.held.items()}
    rest = table.drop(columns=["line", "across"])
    for at, (name, values) in enumerate(named.items()):
        rest.insert(at, name, values)
    return rest
