"""The address x liveness map of a tile: the elements that assets/memory/address_map.js draws in and speaks through."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components import help_text, icon, popover
from webapp.components.attributes import attributes


def address_map_box(key: str, tile: int) -> Component:
    """The map of a tile of report `key`. Raises nothing: what the report lacks is said before."""
    label = f"Addresses of tile {tile} by liveness index. Arrow keys move the cursor; what lies there is read below."
    return html.Div(
        [
            html.Div(
                id=f"address-map-{tile}",
                className="address-map",
                tabIndex="0",
                role="group",
                **attributes(data_key=key, data_tile=tile, aria_label=label),
            ),
            html.Div(className="address-reading", role="status", **attributes(aria_live="polite")),
            html.Div(
                [html.Div(className="address-legend"), html.Div(className="address-drawn")], className="address-below"
            ),
        ],
        className="address-box",
    )


def address_map_help() -> Component:
    """What the picture means, and the law behind it."""
    return help_text(
        "the address map",
        "Each band is one allocation while it is live: as high as its addresses, as wide as its live range. Variables "
        "that take turns at an address lie side by side; the bars on the right count them. Above: bytes live at each "
        "index out of the bytes reserved.",
        "A live range ends with the last use that the compiler knows. What stays reserved after a last use, or before "
        "the first, is idle: no allocation of the tile holds data there at that index.",
        "Drag to zoom into a box, Shift-drag to move, wheel to zoom (Shift: indices, Alt: addresses), click to select "
        "the variable and the index.",
        formula="live(index) + idle(index) + gaps = memory including gaps",
    )


def save_map() -> Component:
    """The camera of the map."""
    buttons = [
        html.Button(f"Save as {kind.upper()}", type="button", className="button", **attributes(data_save_map=kind))
        for kind in ("png", "svg")
    ]
    return popover(icon("camera"), buttons, label="Save the map as an image", class_name="save-plot")
