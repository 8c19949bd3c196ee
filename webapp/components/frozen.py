"""Parts of a page that no callback changes, sent as HTML instead of components.

React and Dash's renderer make about two objects and a subscription of every component, and look at each of them again
at every change of the page: half a millisecond of the browser's processor a component, which was most of the time
of opening a page of some hundred. So the topmost element of a part without any component that Dash must know carries
the HTML of its children in `data-html`, and assets/shell/viewer.js makes them elements. One walk over the components
finds these parts; the components themselves stay unchanged.

Other content makes other elements, while React keeps those that stay. So in what a callback fills again, only rows of
text are HTML: what can have the focus, be folded or scrolled stays a component.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import Dash
from dash.development.base_component import Component

from webapp.components.static_html import element_html, static_html

#: Elements that end an open <p> when HTML is read.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "details", "dialog", "div", "dl", "fieldset", "figure", "footer"}
    | {"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section"}
    | {"summary", "table", "ul"}
)
#: Elements that cannot hold one of their own when HTML is read.
_NOT_NESTED = ("a", "button", "form")
#: Elements with a state of the user's that stays while their content changes.
_CONTROLS = frozenset({"a", "button", "details", "dialog", "input", "label", "select", "summary"})
#: Elements of the largest part that is HTML in what is filled again: a row, not what scrolls.
_ROW = 16
#: Properties that mean something to Dash or the browser's form, not to a written element.
_LIVE = frozenset({"n_clicks", "n_clicks_timestamp", "key", "data-html"})


class _Seen(NamedTuple):
    """A walked part: what takes its place, its HTML (None when Dash must know a component of it), the names of its
    elements and how many they are."""

    part: Any
    html: str | None
    tags: frozenset[str]
    size: int


@dataclass(frozen=True)
class Managed:
    """What callbacks know of a page: the `ids` that they read or write, and those whose children they write."""

    ids: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()


def managed_by(app: Dash) -> Managed:
    """What all callbacks of an app know; ask when all are registered."""
    extensions = app.server.extensions
    if "managed ids" not in extensions:
        extensions["managed ids"] = of_callbacks(app._callback_list, lasting_in(app))
    found: Managed = extensions["managed ids"]
    return found


def lasting_in(app: Dash) -> set[str]:
    """The ids that callbacks of an app fill with what then stays; those who register such a callback add to it."""
    found: set[str] = app.server.extensions.setdefault("lasting ids", set())
    return found


def of_callbacks(callbacks: Iterable[Mapping[str, Any]], lasting: Collection[str] = ()) -> Managed:
    """What callbacks know, given as Dash lists them for the browser; what fills a `lasting` id stays."""
    ids: set[str] = set()
    filled: set[str] = set()
    for each in callbacks:
        ids |= {str(one["id"]) for one in (*each["inputs"], *each["state"])}
        for output in str(each["output"]).removeprefix("..").removesuffix("..").split("..."):
            name, _, prop = output.rpartition(".")
            ids.add(name)
            if prop.startswith("children") and name not in lasting:
                filled.add(name)
    return Managed(frozenset(ids), frozenset(filled))


def frozen(part: Any, managed: Managed, *, again: bool = False) -> Any:
    """The same component, text, list or None, whose parts without a managed id are HTML; `again`: a callback fills it.

    Elements with an id that is a dict stay components, as do those of other libraries than dash.html."""
    return _walk(part, managed, again).part


def _walk(part: Any, managed: Managed, again: bool) -> _Seen:
    if part is None or isinstance(part, (str, int, float)):
        return _Seen(part, static_html(part) if _is_kept(part) else None, frozenset(), 0)
    if isinstance(part, (list, tuple)):
        seen = [_walk(each, managed, again) for each in part]
        texts = [each.html for each in seen]
        joined = None if None in texts else "".join(text or "" for text in texts)
        tags = frozenset[str]().union(*(each.tags for each in seen))
        return _Seen([each.part for each in seen], joined, tags, sum(each.size for each in seen))
    if not isinstance(part, Component) or part._namespace != "dash_html_components":
        return _Seen(part, None, frozenset(), 0)
    return _walk_element(part, managed, again)


def _walk_element(part: Component, managed: Managed, again: bool) -> _Seen:
    tag = part._type.lower()
    known = getattr(part, "id", None)
    inner = _walk(getattr(part, "children", None), managed, again or isinstance(known, dict) or known in managed.filled)
    mine = not isinstance(known, dict) and known not in managed.ids and _is_written(part, tag, inner.tags)
    tags, size = inner.tags | {tag}, inner.size + 1
    if again and (size > _ROW or tags & _CONTROLS or "tabIndex" in part.to_plotly_json()["props"]):
        mine = False
    if inner.html is None or not mine:
        return _Seen(_with(part, children=inner.part), None, tags, size)
    return _Seen(_as_html(part, inner), element_html(part, inner.html), tags, size)


def _is_written(part: Component, tag: str, inside: frozenset[str]) -> bool:
    """Whether reading the HTML of an element gives the element again."""
    props = part.to_plotly_json()["props"]
    if _LIVE.intersection(props) or not all(map(_is_kept, props.values())):
        return False
    if tag in _NOT_NESTED and tag in inside:
        return False
    if tag == "table" and "tr" in inside and not inside & {"tbody", "thead"}:
        return False
    return tag not in ("textarea", "pre", "iframe", "form") and not (tag == "p" and inside & _BLOCKS)


def _is_kept(value: object) -> bool:
    """Whether reading HTML keeps a text: it replaces NUL and CR, which a hostile name may have."""
    return not isinstance(value, str) or not ("\0" in value or "\r" in value)


def _as_html(part: Component, inner: _Seen) -> Component:
    """An element with the HTML of its children; one that holds text alone stays as it is."""
    if not inner.tags:
        return part
    digest = hashlib.blake2b(str(inner.html).encode(), digest_size=8).hexdigest()
    # Another key makes another element, so that React never finds elements in it that it did not make.
    return _with(part, children=None, key=digest, **{"data-html": inner.html})


def _with(part: Component, **changed: Any) -> Component:
    found = copy(part)
    for name, value in changed.items():
        setattr(found, name, value)
    return found
