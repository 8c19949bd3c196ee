"""Parts that no callback changes become HTML; what Dash must know stays, and the given page is never changed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from dash import dcc, html
from dash.development.base_component import Component

from webapp.base.library import Library
from webapp.base.view import open_context
from webapp.base.views import views_of
from webapp.components.frozen import Managed, frozen, managed_by, of_callbacks
from webapp.components.static_html import element_html, static_html
from webapp.shell.app import create_app

SAMPLE = Path(__file__).parents[3] / "sample_reports" / "matmul_chain"


def _html(part: Any) -> str | None:
    return part.to_plotly_json()["props"].get("data-html")


def test_a_part_without_known_components_is_html() -> None:
    page = html.Div([html.P(["a", html.B("b")]), html.Span("c & d")], className="x")
    found = frozen(page, Managed())
    assert _html(found) == "<p>a<b>b</b></p><span>c &amp; d</span>"
    assert (found.className, found.children) == ("x", None)
    assert len(page.children) == 2
    assert _html(page) is None


def test_what_a_callback_knows_stays_with_all_around_it() -> None:
    page = html.Div([html.P(html.B("a")), html.Div(html.I("old"), id="filled"), dcc.Store(id="s")])
    still, filled, store = frozen(page, Managed(frozenset({"filled"}))).children
    assert _html(still) == "<b>a</b>"
    assert filled.id == "filled"
    assert _html(filled) is None
    assert filled.children.children == "old"
    assert isinstance(store, dcc.Store)


@pytest.mark.parametrize(
    "part",
    [
        html.Div(html.B("a"), id={"pattern": 1}),
        html.Button(html.B("a"), n_clicks=0),
        html.P(html.Div("a block ends a paragraph when it is read")),
        html.A(html.Span(html.A("inner"))),
        html.Table(html.Tr(html.Td("a body is added when it is read"))),
        html.Div(html.B("zero\0")),
        html.Div(html.B("a", title="return\r")),
    ],
)
def test_elements_that_html_would_change_stay(part: Component) -> None:
    assert _html(frozen(part, Managed())) is None


def test_other_content_makes_another_element() -> None:
    """React then takes nothing over from an element whose content it does not know."""
    first, same, other = (frozen(html.Div(html.B(text)), Managed()) for text in ("a", "a", "b"))
    assert first.key == same.key != other.key


def test_ids_of_all_outputs_inputs_and_states() -> None:
    callbacks = [
        {"output": "..a.children...b-c.hidden..", "inputs": [{"id": "d", "property": "data"}], "state": []},
        {"output": "e.data", "inputs": [], "state": [{"id": '{"index":1}', "property": "value"}]},
    ]
    managed = of_callbacks(callbacks)
    assert managed.ids == {"a", "b-c", "d", "e", '{"index":1}'}
    assert managed.filled == {"a"}


def test_what_is_filled_again_keeps_what_the_user_has_opened_or_focused() -> None:
    managed = Managed(frozenset({"filled"}), frozenset({"filled"}))
    rows = [html.Details([html.Summary(html.Span(html.B("a"))), html.Div([html.A("b"), html.Span("c")])])]
    page = html.Div([html.Div(rows, id="filled"), html.Details(html.Summary(html.B("never again")))])
    filled, other = frozen(page, managed).children
    assert _html(other) == "<summary><b>never again</b></summary>"
    (details,) = filled.children
    summary, below = details.children
    assert _html(summary) is None
    assert _html(summary.children) == "<b>a</b>"
    assert [each.children for each in below.children] == ["b", "c"]


def test_what_is_filled_once_is_html() -> None:
    callbacks = [{"inputs": [], "state": [], "output": f"{name}.children"} for name in ("again", "once")]
    managed = of_callbacks(callbacks, {"once"})
    page = html.Div([html.Div(html.P(html.A("link")), id=name) for name in ("again", "once")])
    again, once = frozen(page, managed).children
    assert _html(again.children) is None
    assert _html(once.children) == "<a>link</a>"


def test_frozen_pages_hold_the_same_elements() -> None:
    """Every page of a sample, thawed again, is the page."""
    library = Library([SAMPLE])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    managed = managed_by(create_app(library))
    parts = 0
    for view in views_of("report"):
        context = open_context(library, "report", key, {}, "light")
        if view.missing(context):
            continue
        page = view.layout(context)
        found = frozen(page, managed)
        assert _read(_written(found)) == _read(_written(page)), view.id
        parts += json.dumps(found, default=lambda each: each.to_plotly_json()).count('"data-html"')
    assert parts > 20


def _read(text: str) -> list[object]:
    """The elements and texts of HTML, whatever the order of attributes."""
    seen: list[object] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: seen.append((tag, sorted(attrs, key=str)))  # type: ignore[method-assign]
    reader.handle_endtag = lambda tag: seen.append(tag)  # type: ignore[method-assign]
    reader.handle_data = lambda data: seen.append(["text", data])  # type: ignore[method-assign]
    reader.feed(text)
    return seen


def _written(part: Any) -> str:
    """HTML of a page, with a mark in place of what is not an element."""
    if isinstance(part, (list, tuple)):
        return "".join(map(_written, part))
    if not isinstance(part, Component):
        return static_html(part)
    if part._namespace != "dash_html_components":
        return f"[{part._type} {getattr(part, 'id', '')}]"
    props = part.to_plotly_json()["props"]
    inner = props.get("data-html") or _written(props.get("children"))
    own = {name: value for name, value in props.items() if name not in ("children", "data-html", "key")}
    return element_html(type(part)(**own), inner)
