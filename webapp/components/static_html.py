"""Components as static HTML, for parts of the frame that no callback changes.

React checks each of its components at every change of the page; a dialog that only scripts open does not need that.
"""

from __future__ import annotations

import re
from html import escape

from dash.development.base_component import Component

_EMPTY = frozenset({"input", "br", "hr", "img"})
_NAMES = {"className": "class", "htmlFor": "for", "tabIndex": "tabindex"}
#: Properties of a style whose numbers have no unit.
_PLAIN = frozenset({"flex", "flexGrow", "flexShrink", "fontWeight", "lineHeight", "opacity", "order", "zIndex"})
_CAPITAL = re.compile("[A-Z]")


def static_html(part: object) -> str:
    """HTML of a component of dash.html with its children, a text, or a list of these. Raises TypeError for anything
    else, and for a property that is not a text, number or switch."""
    if part is None:
        return ""
    if isinstance(part, bool):
        return ""
    if isinstance(part, (str, int, float)):
        return escape(str(part))
    if isinstance(part, (list, tuple)):
        return "".join(map(static_html, part))
    if not isinstance(part, Component) or part._namespace != "dash_html_components":
        raise TypeError(f"{part!r} cannot be written as HTML")
    return element_html(part, static_html(getattr(part, "children", None)))


def element_html(part: Component, children: str) -> str:
    """HTML of one component of dash.html around the HTML of its children. Raises TypeError for a property that is not a
    text, number, switch or style."""
    tag = part._type.lower()
    props = part.to_plotly_json()["props"]
    attributes = "".join(_attribute(name, value) for name, value in props.items() if name != "children")
    return f"<{tag}{attributes}>" if tag in _EMPTY else f"<{tag}{attributes}>{children}</{tag}>"


def _attribute(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f" {name}" if value else ""
    if name == "style" and isinstance(value, dict):
        value = "; ".join(f"{_style_name(key)}: {_style_value(key, each)}" for key, each in value.items())
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"attribute {name} is {type(value).__name__}")
    return f' {_NAMES.get(name, name)}="{escape(str(value))}"'


def _style_name(name: str) -> str:
    return name if name.startswith("--") else _CAPITAL.sub(lambda found: "-" + found[0].lower(), name)


def _style_value(name: str, value: object) -> str:
    """As React writes it: a number is a length, but for the properties that have no unit."""
    is_length = isinstance(value, (int, float)) and value and not name.startswith("--") and name not in _PLAIN
    return f"{value}px" if is_length else str(value)
