"""Addresses: the selection in the URL opens the state that it names, in every view; hostile values break nothing."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.shell_pages import Viewer
from tests.browser.test_accessibility import settle
from webapp.base.selection import SHARED_KEYS
from webapp.base.views import views_of

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

VIEWS = [view.id for view in views_of("report")]
STATE = {
    "tiles": "0,2",
    "ipu": "0",
    "program": "1",
    "step": "1",
    "liveness": "1",
    "variable": "0",
    "from": "5",
    "to": "30",
}

#: Values that no key has, by what they try.
HOSTILE_VALUES = {
    "markup": "</script><script>window.bad=1</script><img src=x onerror='window.bad=1'>",
    "long": "9" * 10_000,
    "control": "1\x00\x1b[31m\r\nSet-Cookie: a=b",
    "marks": "\u202e3\u2066\u200f",
    "paths": "../../etc/passwd",
    "numbers": "-1,1e9,NaN,0-99999999999",
}

#: Those that every commit tries; `make test-long` tries all.
OFTEN = ("markup", "long")
VARIED = ("memory", "program_tree", "exchange")


def shown(page: Page) -> list[str]:
    """What the page says once it says the same three times, rows of grids included, which arrive last; the order in
    which grids lay out their cells is not part of it."""
    said: list[list[str]] = []
    while (len(said) < 3 or said[-3:] != said[-1:] * 3) and len(said) < 25:
        settle(page)
        said.append(sorted(page.locator("#page").inner_text().split()))
    return said[-1]


def test_every_shared_key_is_tried(viewer: Viewer) -> None:
    assert {*STATE, "vs"} == set(SHARED_KEYS)
    assert sorted(viewer.go("/").evaluate("popvision.sharedKeys")) == sorted(SHARED_KEYS)


@pytest.mark.parametrize(
    "view", [each if each in VARIED else pytest.param(each, marks=pytest.mark.long) for each in VIEWS]
)
def test_an_address_opens_what_was_selected(viewer: Viewer, view: str) -> None:
    state = STATE | {"vs": viewer.keys["hostile"]}
    page = viewer.open("tiny", view, f"vs={state['vs']}")
    settle(page)
    page.evaluate("(patch) => popvision.select(patch)", state)
    by_hand = shown(page)
    assert page.evaluate("popvision.selection()").items() >= state.items()
    page = viewer.go(page.url.removeprefix(viewer.base))
    assert shown(page) == by_hand
    assert page.evaluate("popvision.selection()").items() >= state.items()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "kind", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.long) for each in HOSTILE_VALUES]
)
def test_hostile_values_are_text_or_nothing(viewer: Viewer, view: str, kind: str) -> None:
    keys = [*SHARED_KEYS, *OWN_KEYS.get(view, [])]
    value = HOSTILE_VALUES[kind]
    values = dict.fromkeys(keys, value if kind != "long" else value[: 60_000 // len(keys)])
    page = viewer.open("tiny", view, urlencode(values))
    expect(page.locator("#page > *").first).to_be_attached()
    assert len(page.locator("#page").inner_text()) > 40
    assert page.locator("h1").count() == 1
    assert page.evaluate("window.bad") is None
    expect(page.locator("#notice")).not_to_contain_text("The viewer failed")
    # A binary route may refuse such a value with a sentence; nothing else may go wrong.
    viewer.problems[:] = [each for each in viewer.problems if not REFUSED.search(each)]


REFUSED = re.compile(r"^400: .*/data/|status of 400")

#: Keys of single views: a sample of those that reach the server.
OWN_KEYS = {
    "memory": ["mem_graph", "mem_by", "mem_view", "mem_vars", "mem_tab", "mem_addr", "mem_replica", "mem_order"],
    "liveness": ["live_also", "live_source", "live_filter", "live_view", "live_tab", "live_replica", "live_mark"],
    "program_tree": ["pt_root", "pt_search", "pt_tab"],
    "execution": ["mode", "bsp", "units", "find", "sel", "detail", "on"],
    "exchange": ["xch_view", "xch_at", "xch_mark", "xch_to", "xch_order", "xch_unit", "xch_show", "xch_tab"],
}


def test_hostile_paths_are_not_found(viewer: Viewer) -> None:
    for name in ("%00", quote("<script>window.bad=1</script>"), "x" * 5000, "..%2f..%2fetc"):
        page = viewer.go(f"/r/{name}/summary")
        expect(page.locator("#page h2")).to_have_text("Not found")
    assert page.evaluate("window.bad") is None
