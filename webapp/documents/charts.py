"""Curves as SVG. Colours are CSS classes, so that one file works in both themes."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from popvision.analysis.report.decimate import min_max_positions
from webapp.arrays import AnyArray
from webapp.documents.document import Curves
from webapp.formats import bytes_text, integer_text

Place = Callable[[float], float]

WIDTH, HEIGHT = 1100, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 12, 10, 40

#: Positions drawn of one curve; beyond, minima and maxima.
MOST_POINTS = 2_000


def curves_svg(curves: Curves) -> tuple[str, bool]:
    """(the drawing, whether it is decimated to minima and maxima)."""
    text: Callable[[float], str] = bytes_text if curves.unit == "bytes" else lambda value: integer_text(round(value))
    count = max((len(each) for each in curves.values), default=0)
    top = max((float(np.max(each, initial=0)) for each in curves.values), default=0.0) or 1.0
    marks = _ticks(top, binary=curves.unit == "bytes")
    top = max(top, marks[-1])
    wide, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    x: Place = lambda at: _LEFT + wide * at / max(1, count)  # noqa: E731
    y: Place = lambda value: _TOP + high * (1 - value / top)  # noqa: E731
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(curves.title, True)}">']
    for mark in marks:
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text class="tick end" x="{_LEFT - 8}" y="{y(mark) + 4:.1f}">{escape(text(mark))}</text>')
    for at in _positions(count):
        label = f"{curves.first + at:,}"
        parts.append(f'<text class="tick mid" x="{x(at + 0.5):.1f}" y="{HEIGHT - _BOTTOM + 16}">{label}</text>')
    for at in curves.marked:
        if 0 <= at < count:
            width = max(2.0, wide / max(1, count))
            parts.append(f'<rect class="mark" x="{x(at):.1f}" y="{_TOP}" width="{width:.1f}" height="{high}"/>')
    decimated = False
    for index, values in enumerate(curves.values):
        drawn = min_max_positions(values, MOST_POINTS)
        decimated |= drawn.decimated
        parts.append(f'<path class="line series-{index + 1}" d="{_path(drawn.positions, values, x, y, count)}"/>')
    parts.append(f'<text class="axis mid" x="{_LEFT + wide / 2}" y="{HEIGHT - 6}">{escape(curves.x_title)}</text>')
    return "".join([*parts, "</svg>"]), decimated


def _path(positions: AnyArray, values: AnyArray, x: Place, y: Place, count: int) -> str:
    steps: list[str] = []
    ends = [*positions[1:].tolist(), count]
    for at, end in zip(positions.tolist(), ends, strict=True):
        height = y(float(values[at]))
        steps.append(f"{'L' if steps else 'M'}{x(at):.1f} {height:.1f}H{x(end):.1f}")
    return "".join(steps)


def _ticks(top: float, *, binary: bool) -> list[float]:
    """Up to six round values from 0 to at least `top`."""
    base = 1024.0 if binary else 10.0
    unit = base ** int(np.log(max(top, 1)) / np.log(base))
    sizes = [unit * each for each in (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256)]
    step = next((each / 4 for each in sizes if each >= top), top / 4)
    return [step * index for index in range(int(np.ceil(top / step)) + 1)]


def _positions(count: int) -> list[int]:
    return sorted({int(at) for at in np.linspace(0, max(0, count - 1), min(9, max(1, count)))})
