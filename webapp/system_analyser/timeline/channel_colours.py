"""One colour per trace channel, distinct far beyond eight channels."""

from __future__ import annotations

import math

#: Hues go round by the golden angle, so that neighbours in the list differ most; lightness has three steps.
_GOLDEN_ANGLE = 137.50776
_FIRST_HUE = 275.0
_LIGHTNESS = {"light": (0.80, 0.72, 0.87), "dark": (0.74, 0.66, 0.81)}
_CHROMA = 0.125


def channel_colour(index: int, theme: str) -> str:
    """#rrggbb of channel `index`; black text is readable on it in both themes."""
    hue = math.radians(_FIRST_HUE + index * _GOLDEN_ANGLE)
    lightness = _LIGHTNESS[theme][(index // 5) % 3]
    return _oklch(lightness, _CHROMA, hue)


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """OKLCH to sRGB (Björn Ottosson's published matrices), less chroma where the screen has no such colour."""
    while True:
        red, green, blue = _linear(lightness, chroma * math.cos(hue), chroma * math.sin(hue))
        if chroma < 0.01 or all(-0.001 <= part <= 1.001 for part in (red, green, blue)):
            return "#" + "".join(f"{_encoded(part):02x}" for part in (red, green, blue))
        chroma *= 0.95


def _linear(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )


def _encoded(part: float) -> int:
    part = min(1.0, max(0.0, part))
    part = 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
    return round(255 * part)
