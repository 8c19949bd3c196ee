"""What a what-if says in sentences: where the program stops fitting into the memory of its tiles, and how fast it is at
the points where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.metrics import BY_NAME
from popvision.arrays import BoolArray, Int64Array
from popvision.catalogue.scatter import fits
from popvision.catalogue.what_if import Axis, WhatIf, fit_counts, notes

if TYPE_CHECKING:
    import pandas as pd


def figure_text(kind: str, value: float) -> str:
    """A figure with its unit: "264,144 B", "98.1 µs", "12,345 cycles"."""
    if kind == "seconds":
        for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
            if value < limit:
                return f"{value * factor:.4g} {unit}"
        return f"{value:.4g} s"
    if kind == "bytes":
        return f"{value:,.0f} B"
    return f"{value:,.0f} cycles" if kind == "cycles" else f"{value:,.15g}"


def verdicts(frame: pd.DataFrame, found: WhatIf, speed: str = "device_time") -> list[str]:
    """Sentences: held values, for each line where it stops fitting, the least and the most of `speed`, what lacks."""
    said = _held(found)
    fitting = fits(frame)
    same: list[str] = []
    for line, rows in enumerate(found.row):
        there = np.flatnonzero(rows >= 0)
        if len(there) and fitting[rows[there]].all():
            same.append(found.line_name(line))
            continue
        said += _stops(frame, found, line, fitting)
    if same:
        names = _and(list(filter(None, same)))
        said.insert(len(_held(found)), _sentence(names, f"fits everywhere, {_span(found.across, found.row)}"))
    return said + _elsewhere(frame, found) + _speed(frame, found, speed) + _lacking(found)


def _sentence(line: str, text: str) -> str:
    return f"{line}: it {text}." if line else f"It {text}."


def _held(found: WhatIf) -> list[str]:
    names = {axis.name: axis for axis in found.axes}
    held = [names[name].phrase(at) for name, at in found.held.items()]
    return [f"Held: {_and(held)}."] if held else []


def _span(axis: Axis, row: Int64Array) -> str:
    there = np.flatnonzero((row >= 0).any(axis=0))
    if len(there) == 1:
        return f"that is with {axis.phrase(int(there[0]))}"
    if isinstance(axis.values[-1], str):
        return f"with {_and([axis.phrase(int(at)) for at in there])}"
    return f"from {axis.phrase(int(there[0]))} to {axis.phrase(int(there[-1]))}"


def _stops(frame: pd.DataFrame, found: WhatIf, line: int, fitting: BoolArray) -> list[str]:
    """The sentence of a line of which some report does not fit."""
    axis, name = found.across, found.line_name(line)
    there = np.flatnonzero(found.row[line] >= 0)
    if not len(there):
        return []
    rows = found.row[line, there]
    good = fitting[rows]
    if not good.any():
        nearest = int(np.argmin(_excess(frame, rows)))
        text = f"fits nowhere, {_span(axis, found.row[line : line + 1])}"
        return [f"{_sentence(name, text)[:-1]}; {_needs(frame, found, line, int(there[nearest]))}."]
    turns = np.flatnonzero(good[1:] != good[:-1])
    if len(turns) == 1 and not isinstance(axis.values[-1], str):
        low, high = int(there[turns[0]]), int(there[turns[0] + 1])
        inside, outside = (low, high) if good[0] else (high, low)
        side = "above" if good[0] else "below"
        text = f"stops fitting {side} {axis.phrase(inside)}"
        return [f"{_sentence(name, text)[:-1]}; {_needs(frame, found, line, outside)}."]
    bad = [int(at) for at in there[~good]]
    worst = max(bad, key=lambda at: float(_excess(frame, found.row[line, [at]])[0]))
    text = f"does not fit with {_and([axis.phrase(at) for at in bad])}"
    return [f"{_sentence(name, text)[:-1]}; {_needs(frame, found, line, worst)}."]


def _excess(frame: pd.DataFrame, rows: Int64Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Bytes that the fullest tile of each report needs beyond its memory; infinite where it is not known."""
    part = frame.iloc[rows]
    beyond = part["peak"].to_numpy(np.float64) - part["tile_memory"].to_numpy(np.float64)
    return np.where(np.isnan(beyond), np.inf, beyond)


def _needs(frame: pd.DataFrame, found: WhatIf, line: int, at: int) -> str:
    """ "with 32 tiles the fullest needs 300,000 B of 262,144 B, 12 tiles too much"."""
    report = frame.iloc[int(found.row[line, at])]
    peak, memory, over = (float(report[name]) for name in ("peak", "tile_memory", "tiles_over"))
    place = f"with {found.across.phrase(at)}"
    if not (peak == peak and memory == memory):
        return f"{place} how much it needs is not recorded"
    many = "1 tile needs more than it has" if over == 1 else f"{over:,.0f} tiles need more than they have"
    tiles = f", and {many}" if over > 0 else ""
    return f"{place} the fullest tile needs {peak:,.0f} B of {memory:,.0f} B{tiles}"


def _elsewhere(frame: pd.DataFrame, found: WhatIf) -> list[str]:
    """How many points fit at other values of a held axis, where that differs."""
    said = []
    axes = {axis.name: axis for axis in found.axes}
    for name, counts in fit_counts(frame, found).items():
        if len({good == every for good, every in counts if every}) > 1:
            parts = [f"{good:,} of {every:,} with {axes[name].phrase(at)}" for at, (good, every) in enumerate(counts)]
            said.append(f"Of these points fit {_and(parts)}.")
    return said


def _speed(frame: pd.DataFrame, found: WhatIf, speed: str) -> list[str]:
    """The least and the most of a metric of speed among the reports that fit."""
    metric = BY_NAME[speed]
    lines, places = np.nonzero(found.row >= 0)
    rows = found.row[lines, places]
    values = frame[speed].to_numpy(np.float64)[rows]
    said = notes(frame.iloc[rows])
    is_answer = np.array([not note for note in said], bool)
    failed = sum(note not in ("", "does not fit") for note in said)
    lacking = [
        f"{failed:,} {'point has' if failed == 1 else 'points have'} failed or not ended, without a time that counts."
    ]
    known = np.flatnonzero(is_answer & np.isfinite(values))
    if not len(known):
        return [f"No report that fits has a {metric.title.lower()}.", *(lacking if failed else [])]
    least, most = (int(known[pick(values[known])]) for pick in (np.argmin, np.argmax))

    def point(at: int) -> str:
        across = found.across.phrase(int(places[at]))
        where = f"{found.line_name(int(lines[at]))}, {across}" if found.lines is not None else across
        return f"{figure_text(metric.kind, float(values[at]))} ({where})"

    if values[least] == values[most]:
        told = f"{metric.title} of all that fits: {point(least).partition(' (')[0]}."
        return [told, *(lacking if failed else [])]
    times = f", {values[most] / values[least]:.2f} times as much" if values[least] > 0 else ""
    told = f"{metric.title} of what fits: least {point(least)}, most {point(most)}{times}."
    return [told, *(lacking if failed else [])]


def _lacking(found: WhatIf) -> list[str]:
    said = []
    missing = int((found.row < 0).sum())
    if missing:
        points = "point has" if missing == 1 else "points have"
        said.append(f"{missing:,} {points} no report: not run, or failed before there was one.")
    if found.older:
        said.append(f"{found.older:,} older reports of the same points are left out.")
    return said


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
