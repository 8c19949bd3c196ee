"""Components as static HTML, for parts of the frame that no callback changes.

React checks each of its components at every change of the page; a dialog that only scripts open does not need that.
"""

from __future__ import annotations

from html import escape

from dash.development.base_component import Component

_EMPTY = frozenset({"input", "br", "hr", "img"})
_NAMES = {"className": "class", "htmlFor": "for", "tabIndex": "tabindex"}


def static_html(part: object) -> str:
    """HTML of a component of dash.html with its children, a text, or a list of these. Raises TypeError for anything
    else, and for a property that is not a text, number or switch."""
    if part is None:
        return ""
    if isinstance(part, (str, int, float)):
        return escape(str(part))
    if isinstance(part, (list, tuple)):
        return "".join(map(static_html, part))
    if not isinstance(part, Component) or part._namespace != "dash_html_components":
        raise TypeError(f"{part!r} cannot be written as HTML")
    tag = part._type.lower()
    props = part.to_plotly_json()["props"]
    children = static_html(props.pop("children", None))
    attributes = "".join(_attribute(name, value) for name, value in props.items())
    return f"<{tag}{attributes}>" if tag in _EMPTY else f"<{tag}{attributes}>{children}</{tag}>"


def _attribute(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f" {name}" if value else ""
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"attribute {name} is {type(value).__name__}")
    return f' {_NAMES.get(name, name)}="{escape(str(value))}"'
