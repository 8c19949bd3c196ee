"""A colour for each memory category: a hue per family (data, vertices, control, exchange, messages, others) and shades
within it, mixed from the theme's series colours."""

from __future__ import annotations

from functools import cache

from webapp.base.theme import tokens

#: (series colour, its share; the rest is the surface) of each category.
_SHADES = {
    "variable": (2, 1.0), "constant": (2, 0.7), "rearrangement": (2, 0.5), "outputEdge": (2, 0.36),
    "vertexCode": (5, 1.0), "vertexInstanceState": (5, 0.8), "vertexFieldData": (5, 0.65),
    "copyDescriptor": (5, 0.5), "vectorListDescriptor": (5, 0.36),
    "controlCode": (1, 1.0), "controlTable": (1, 0.7), "controlId": (1, 0.5),
    "internalExchangeCode": (3, 1.0), "hostExchangeCode": (3, 0.8), "globalExchangeCode": (3, 0.65),
    "hostExchangePacketHeader": (3, 0.5), "globalExchangePacketHeader": (3, 0.36),
    "message": (4, 1.0), "hostMessage": (4, 0.7), "globalMessage": (4, 0.5),
    "stack": (6, 1.0), "instrumentationResults": (6, 0.8), "sharedCodeStorage": (6, 0.65),
    "sharedDataStorage": (6, 0.5), "multiple": (6, 0.36),
}  # fmt: skip

_REGIONS = {"nonInterleaved": (1, 1.0), "interleaved": (3, 1.0), "overflowed": (2, 1.0)}
_LIVENESS = {"alwaysLive": (1, 1.0), "notAlwaysLive": (2, 1.0), "rest": (6, 0.45)}


@cache
def part_colour(key: str, theme: str) -> str:
    """Colour "#rrggbb" of a category, region or liveness part; other keys look like "multiple"."""
    series, share = (_SHADES | _REGIONS | _LIVENESS).get(key, _SHADES["multiple"])
    values = tokens(theme)
    # Towards white in both themes: a shade of a dark surface would be invisible on it.
    return mix(values[f"series-{series}"], values["surface" if theme == "light" else "ink"], share)


def mix(colour: str, other: str, share: float) -> str:
    """`share` of one colour and the rest of another, both "#rrggbb"."""
    pairs = [(int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def translucent(colour: str, alpha: float) -> str:
    """ "#rrggbb" as "rgba(...)"."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
