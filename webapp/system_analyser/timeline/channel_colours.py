"""Colour and pattern of each trace channel: 8 colours times 6 patterns, 48 channels that differ.

The colours were chosen by farthest-point search in OKLab, so that any two differ by 0.18 for normal vision and by 0.09
for red- and green-blind vision (Machado, Oliveira and Fernandes 2009, severity 1). Black text is readable on each.
"""

from __future__ import annotations

_COLOURS = {
    "light": ("#9a77f4", "#b48226", "#57c75a", "#e5598e", "#5ce9ed", "#f0da1c", "#f9ada8", "#06aac7"),
    "dark": ("#907bf8", "#d79700", "#29d885", "#ea5974", "#b3e8fb", "#f6e12b", "#fd8ff4", "#3b9ca5"),
}

#: Number of patterns, the plain one included; assets/timeline/palette.js and timeline.css draw them by number.
PATTERNS = 6


def channel_colour(index: int, theme: str) -> str:
    """#rrggbb of channel `index`, for `theme` "light" or "dark"."""
    colours = _COLOURS[theme]
    return colours[index % len(colours)]


def channel_pattern(index: int) -> int:
    """Pattern over the colour of channel `index`: 0 plain, 1 rising stripes, 2 dots, 3 falling stripes, 4 horizontal
    lines, 5 squares. Channels that share a colour differ in their pattern, up to the 48th."""
    return index // len(_COLOURS["light"]) % PATTERNS
