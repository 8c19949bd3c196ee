"""Small SVG pictures without scripts, style sheets or requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from popvision.export.diff_rows import value_text

#: Outline of a part of a bar: light colours need one on a white page.
_EDGE = 'stroke="#7d8694" stroke-width="0.7"'

WIDTH, HEIGHT = 660, 150
_LEFT, _TOP, _BOTTOM = 90, 28, 24

#: Colours of phases: those of the viewer in its light theme (webapp/assets/shared/tokens.css; a test keeps them alike).
COLOURS = {
    "compute": "#ff6f79",
    "exchange": "#a9dfe8",
    "global exchange": "#a1b39d",
    "host": "#f7b28f",
    "sync": "#fbe39a",
}

#: Colour of a curve, and of the line of its limit: the first series of the viewer, and its second.
CURVE, LIMIT = "#2563c9", "#d1495b"


def line_picture(
    values: npt.ArrayLike, title: str, unit: str, axis: tuple[str, str], limit: float | None = None
) -> str:
    """A filled curve with a title. Each column of pixels shows the maximum of its values. `unit` labels the maximum
    ("bytes": in KiB or MiB), `axis` begin and end of the x axis. A dashed line marks `limit` if it is at most twice the
    maximum."""
    curve = np.asarray(values, np.float64)
    width = WIDTH - _LEFT - 10
    if len(curve) > width:
        curve = np.maximum.reduceat(curve, np.linspace(0, len(curve), width, endpoint=False).astype(np.int64))
    most = float(curve.max(initial=0)) or 1.0
    if limit is not None and limit <= 2 * most:
        most = max(most, float(limit))
    floor = HEIGHT - _BOTTOM
    x = _LEFT + np.arange(len(curve) + 1) * (width / max(len(curve), 1))
    y = floor - curve / most * (floor - _TOP)
    path = " ".join(f"L{x[i]:.1f} {y[i]:.1f} L{x[i + 1]:.1f} {y[i]:.1f}" for i in range(len(curve)))
    parts = [
        f'<path d="M{_LEFT} {floor} {path} L{x[-1]:.1f} {floor} Z" fill="{CURVE}" fill-opacity="0.55"'
        f' stroke="{CURVE}"/>',
        _text(_LEFT - 6, _TOP + 8, value_text(most, "bytes") if unit == "bytes" else f"{most:,.0f}", "end"),
        _text(_LEFT - 6, _TOP + 22, "" if unit == "bytes" else unit, "end"),
        _text(_LEFT - 6, floor, "0", "end"),
        _text(_LEFT, 16, title, "start"),
        _text(_LEFT, HEIGHT - 6, axis[0], "start"),
        _text(WIDTH - 10, HEIGHT - 6, axis[1], "end"),
        f'<line x1="{_LEFT}" y1="{floor}" x2="{WIDTH - 10}" y2="{floor}" stroke="currentColor"/>',
    ]
    if limit is not None and limit <= most:
        at = floor - limit / most * (floor - _TOP)
        line = f'x1="{_LEFT}" y1="{at:.1f}" x2="{WIDTH - 10}" y2="{at:.1f}"'
        parts.append(f'<line {line} stroke="{LIMIT}" stroke-dasharray="4 3"/>')
    return _svg(HEIGHT, title, parts)


def share_picture(shares: Mapping[str, float], title: str) -> str:
    """One bar divided into shares (0 to 1), with a legend below."""
    parts, left, at = [_text(_LEFT, 16, title, "start")], float(_LEFT), _LEFT
    width = WIDTH - _LEFT - 10
    for name, share in shares.items():
        size = max(share, 0) * width
        colour = COLOURS.get(name, "#777777")
        parts.append(f'<rect x="{left:.1f}" y="24" width="{size:.1f}" height="18" fill="{colour}" {_EDGE}/>')
        left += size
        if share > 0:
            parts.append(f'<rect x="{at}" y="50" width="9" height="9" fill="{colour}" {_EDGE}/>')
            parts.append(_text(at + 13, 59, f"{name} {percent(share)}", "start"))
            at += 24 + 7 * len(f"{name} {percent(share)}")
    return _svg(66, title, parts)


def percent(share: float) -> str:
    """A share of 1 as the viewer writes it: "48.0 %"."""
    return f"{100 * share:.1f} %"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="11" fill="currentColor" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return f'{head} role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
