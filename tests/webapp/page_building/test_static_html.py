"""Components as HTML: escaped, attributes as in the browser, nothing guessed."""

from __future__ import annotations

import pytest
from dash import dcc, html

from webapp.components.attributes import attributes
from webapp.components.static_html import static_html


def test_names_of_attributes_and_children() -> None:
    part = html.Div(
        [html.B("a"), " & ", 3, None, html.Button("x", type="button", tabIndex="-1", **attributes(aria_label='"y"'))],
        id="i",
        className="c d",
        hidden=True,
    )
    assert static_html(part) == (
        '<div id="i" class="c d" hidden><b>a</b> &amp; 3'
        '<button tabindex="-1" type="button" aria-label="&quot;y&quot;">x</button></div>'
    )


def test_text_is_never_markup() -> None:
    assert static_html(html.P("<script>alert(1)</script>")) == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_a_switch_that_is_off_is_left_out() -> None:
    assert static_html(html.Div(hidden=False)) == "<div></div>"


@pytest.mark.parametrize("part", [dcc.Store(id="s"), html.Div(title=["a"]), object()])
def test_what_cannot_be_written_is_refused(part: object) -> None:
    with pytest.raises(TypeError):
        static_html(part)
