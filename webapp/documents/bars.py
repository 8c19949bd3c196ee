"""Bars as SVG: shares of time, and the flame graph of a window of the execution trace.

Colours are those of the page in its light theme, as in the picture of tiles; labels stand where they fit, whole or cut
in the middle, and each bar says its name and cycles on hover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from popvision.analysis.execution.flame import GROUP, RUN, STREAM_COPY, Level, flame
from popvision.analysis.execution.timeline import TYPE_NAMES
from popvision.analysis.report.source import ReportSource
from webapp.base.arrays import Int64Array
from webapp.base.formats import percent_text
from webapp.base.theme import step_style, tokens
from webapp.documents.charts import PICTURE_LEFT, WIDTH, round_positions
from webapp.documents.confidential import Names
from webapp.documents.page import safe_text

#: Bars of a flame graph with a name; others are drawn as those narrower than a pixel.
MOST_BARS = 6_000

_ROW, _LETTER, _AXIS = 18, 6.4, 22

#: Style of each phase of the time.
_FAMILIES = {"compute": "compute", "exchange": "exchange", "global exchange": "global", "host": "host", "sync": "sync"}


def share_bar(shares: Mapping[str, float]) -> str:
    """One bar of the phases, in order; labels where they fit."""
    parts, left = [_open(30, "Shares of tile cycles by phase")], 0.0
    for phase, share in shares.items():
        width = max(share, 0) * WIDTH
        text = f"{phase.capitalize()} {percent_text(share)}"
        fill = tokens("light")[f"step-{_FAMILIES[phase]}-fill"]
        parts.append(_bar(left, 2, width, 26, fill, text, text if len(text) * _LETTER < width - 8 else ""))
        left += width
    return "".join([*parts, "</svg>"])


def difference_bars(title: str, parts: Sequence[tuple[str, int, str]]) -> str:
    """Signed bars from the middle, a row for each (label, difference, its text); the last one is the total."""
    largest = max((abs(size) for _, size, _ in parts), default=0) or 1
    middle, reach, height = 0.55 * WIDTH, 0.28 * WIDTH, _ROW * len(parts) + 6
    rule = height - _ROW - 4
    drawn = [_open(height, title), f'<line class="grid" x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height}"/>']
    drawn.append(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{rule}" y2="{rule}"/>')
    for row, (label, size, text) in enumerate(parts):
        top = row * _ROW + (4 if row == len(parts) - 1 else 0)
        length = reach * abs(size) / largest
        left = middle if size > 0 else middle - length
        name, sign = safe_text(label), "more" if size > 0 else "less"
        shown = _cut(name, middle - reach - 12)
        drawn.append(
            f"<g><title>{escape(f'{name}: {text}')}</title>"
            f'<text class="tick" x="0" y="{top + 13}">{escape(shown)}</text>'
            f'<rect class="diff-{sign}" x="{left:.1f}" y="{top + 3}" width="{length:.1f}" height="{_ROW - 6}"/>'
            f'<text class="tick end diff-{sign}" x="{WIDTH}" y="{top + 13}">{escape(text)}</text></g>'
        )
    return "".join([*drawn, "</svg>"])


def flame_svg(source: ReportSource, ipu: int, begin: int, end: int, names: Names) -> tuple[str, int]:
    """(levels of the flame graph over the cycles of a window, bars narrower than a pixel). A pixel of narrow bars has
    the colour of the one that takes most of it."""
    picture = flame(source, ipu)
    height = _ROW * len(picture.levels) + _AXIS
    parts = [_open(height, f"Flame graph of IPU {ipu} over device cycles {begin:,} to {end:,}")]
    parts.append(f'<g transform="translate({PICTURE_LEFT} 0)">')  # a cycle is where it is in the picture of tiles below
    room = WIDTH - PICTURE_LEFT
    scale = room / max(1, end - begin)
    narrow = drawn = 0
    for depth, level in enumerate(picture.levels):
        rows = np.flatnonzero((level.end > begin) & (level.begin < end))
        is_wide = (level.end - level.begin)[rows] * scale >= 1
        wide = rows[is_wide][: max(0, MOST_BARS - drawn)]
        drawn, narrow = drawn + len(wide), narrow + len(rows) - len(wide)
        parts += _narrow_bars(level, np.setdiff1d(rows, wide), depth, (begin, end, scale))
        for row in wide.tolist():
            text = safe_text(names.show("program", picture.names[int(level.name[row])]))
            parts.append(_level_bar(level, row, text, depth, (begin, end, scale)))
    for at in round_positions(begin, end - begin):
        x = min(max(at * scale, 20), room - 20)
        parts.append(f'<text class="tick mid" x="{x:.1f}" y="{height - 6}">{begin + at:,}</text>')
    return "".join([*parts, "</g></svg>"]), narrow


def _narrow_bars(level: Level, rows: Int64Array, depth: int, window: tuple[int, int, float]) -> list[str]:
    """One path per colour over the pixels that hold only narrow bars."""
    begin, _, scale = window
    column = ((np.maximum(level.begin[rows], begin) - begin) * scale).astype(np.int64)
    order = np.lexsort((-(level.end - level.begin)[rows], column))
    first = order[np.flatnonzero(np.diff(column[order], prepend=-1))]
    paths: dict[str, list[str]] = {}
    for row, at in zip(rows[first].tolist(), column[first].tolist(), strict=True):
        paths.setdefault(_fill(int(level.kind[row])), []).append(f"M{at} {depth * _ROW}h1v{_ROW - 1}h-1z")
    return [f'<path d="{"".join(steps)}" fill="{fill}"/>' for fill, steps in paths.items()]


def _level_bar(level: Level, row: int, text: str, depth: int, window: tuple[int, int, float]) -> str:
    begin, end, scale = window
    left, right = max(int(level.begin[row]), begin), min(int(level.end[row]), end)
    width, kind = (right - left) * scale, int(level.kind[row])
    fill = _fill(kind)
    cycles = int(level.end[row] - level.begin[row])
    title = f"{text}, {cycles:,} cycles from {int(level.begin[row]):,}"
    return _bar((left - begin) * scale, depth * _ROW, width, _ROW - 1, fill, title, _ending(text, width - 8))


def _ending(text: str, room: float) -> str:
    """The name, or as many of its last parts as fit in a room of pixels; "" where not even the last one does."""
    letters = int(room / _LETTER)
    if len(text) <= letters:
        return text
    parts = text.split("/")
    endings = (f"…/{'/'.join(parts[at:])}" for at in range(1, len(parts)))
    return next((each for each in endings if len(each) <= letters), "")


def _fill(kind: int) -> str:
    if kind in (GROUP, STREAM_COPY, RUN):
        return tokens("light")["step-run-fill" if kind == RUN else "step-group-fill"]
    return step_style(TYPE_NAMES[kind], "light").fill


def _cut(text: str, room: float) -> str:
    """The text in a room of pixels, cut in the middle; "" where less than three letters would be left."""
    letters = int(room / _LETTER)
    if len(text) <= letters:
        return text
    if letters < 4:
        return ""
    tail = letters // 2
    return f"{text[: letters - tail - 1]}…{text[-tail:]}"


def _open(height: int, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label, True)}">'


def _bar(x: float, y: float, width: float, height: float, fill: str, title: str, label: str) -> str:
    box = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{fill}"'
    place = f'x="{x + 4:.1f}" y="{y + height / 2 + 4:.1f}"'
    dark = " on-dark" if fill == tokens("light")["step-run-fill"] else ""
    words = f'<text class="bar-label{dark}" {place}>{escape(label)}</text>' if label else ""
    return f'<g><title>{escape(title)}</title><rect class="bar-edge" {box}/>{words}</g>'
