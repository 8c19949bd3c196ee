"""Curves as SVG. Colours are CSS classes, so that one file works in both themes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape

import numpy as np

from popvision.analysis.report.decimate import min_max_positions
from webapp.base.arrays import AnyArray
from webapp.base.formats import bytes_text, integer_text
from webapp.documents.document import Curves, Picture

Place = Callable[[float], float]

WIDTH, HEIGHT = 1100, 300
#: Room for the axis at the left of a picture.
PICTURE_LEFT = 92

_LEFT, _RIGHT, _TOP, _BOTTOM = PICTURE_LEFT, 12, 10, 40

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
    for at in round_positions(curves.first, count):
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
        line, number = _path(drawn.positions, values, x, y, count), curves.series[index]
        if curves.filled and line:
            area = f"{line}V{y(0):.1f}H{x(0):.1f}Z"
            parts.append(f'<path class="area" d="{area}"/><path class="area series-{number}" d="{area}"/>')
        parts.append(f'<path class="line series-{number}" d="{line}"/>')
    parts += _readings(curves, count, text, x)
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
    """At most six values from 0 to at least `top`: multiples of a power of two, or of 1, 2 or 5 times one of ten."""
    if binary:
        step = next(2.0**power for power in range(64) if top <= 5 * 2**power)
    else:
        step = next(float(size * 10**power) for power in range(19) for size in (1, 2, 5) if top <= 5 * size * 10**power)
    return [step * index for index in range(int(np.ceil(top / step)) + 1)]


def picture_svg(picture: Picture) -> str:
    """The picture in a frame, with ticks at round numbers along the axes it has."""
    left, high = (_LEFT if picture.down else 0), 360
    wide, below = WIDTH - left, 38 if picture.across else 0
    data = base64.b64encode(picture.png).decode("ascii")
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {high + below}" role="img" aria-label="{escape(picture.alt, True)}">'
        f'<image class="picture" x="{left}" width="{wide}" height="{high}" preserveAspectRatio="none"'
        f' href="data:image/png;base64,{data}"/>'
        f'<rect class="picture-frame" x="{left + 0.5}" y="0.5" width="{wide - 1}" height="{high - 1}"/>'
    ]
    if picture.down:
        count = max(1, picture.down.count)
        for at in round_positions(picture.down.first, picture.down.count):
            y = min(max(high * at / count + 4, 11), high)
            parts.append(f'<text class="tick end" x="{left - 6}" y="{y:.1f}">{picture.down.first + at:,}</text>')
        place = f'x="12" y="{high / 2}" transform="rotate(-90 12 {high / 2})"'
        parts.append(f'<text class="axis mid" {place}>{escape(picture.down.title)}</text>')
    if picture.across:
        count = max(1, picture.across.count)
        for at in round_positions(picture.across.first, picture.across.count):
            x = min(max(left + wide * at / count, left + 20), WIDTH - 20)
            parts.append(f'<text class="tick mid" x="{x:.1f}" y="{high + 15}">{picture.across.first + at:,}</text>')
        title = escape(picture.across.title)
        parts.append(f'<text class="axis mid" x="{left + wide / 2}" y="{high + 33}">{title}</text>')
    for each in picture.readings:
        x, y = left + wide * each.left, high * each.top
        size = f'width="{wide * (each.right - each.left):.1f}" height="{high * (each.bottom - each.top):.1f}"'
        text = f"<title>{escape(each.text)}</title>"
        parts.append(f'<rect class="reading" x="{x:.1f}" y="{y:.1f}" {size}>{text}</rect>')
    return "".join([*parts, "</svg>"])


def round_positions(first: int, count: int) -> list[int]:
    """At most ten positions whose numbers (`first` + position) are multiples of 1, 2 or 5 times a power of ten."""
    step = next(size * 10**power for power in range(19) for size in (1, 2, 5) if count <= 10 * size * 10**power)
    return list(range(-first % step, count, step))


#: Strips of a drawing that say their values on hover.
_MOST_READINGS = 300


def _readings(curves: Curves, count: int, text: Callable[[float], str], x: Place) -> list[str]:
    """Invisible strips with the values at each position, of the largest of several where there are more."""
    width = -(-count // _MOST_READINGS) if count else 1
    strips = []
    for at in range(0, count, width):
        end = min(at + width, count)
        which = f"{curves.first + at:,}" + (f" to {curves.first + end - 1:,}, at most" if end - at > 1 else "")
        values = ", ".join(
            f"{name} {text(float(np.max(each[at:end], initial=0)))}"
            for name, each in zip(curves.names, curves.values, strict=True)
        )
        box = f'x="{x(at):.1f}" y="{_TOP}" width="{x(end) - x(at):.1f}" height="{HEIGHT - _TOP - _BOTTOM}"'
        strips.append(
            f'<rect class="reading" {box}><title>{escape(f"{curves.x_title} {which}: {values}")}</title></rect>'
        )
    return strips
