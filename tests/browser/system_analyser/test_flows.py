"""Flows in the timeline: arrows of the selected event, its Summary, and the keys that follow them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe_pages import violations
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace in which "load" on one thread leads to "step" on another, and that to "write" on a third."""
    folder: Path = tmp_path_factory.mktemp("flows")
    events = [
        {"ph": "X", "tid": tid, "ts": begin, "dur": duration, "name": name, "cat": "work"}
        for tid, begin, duration, name in ((1, 0, 300, "load"), (2, 400, 200, "step"), (3, 700, 300, "write"))
    ]
    points = [("s", 1, 200), ("t", 2, 500), ("f", 3, 800)]
    events += [
        {"ph": phase, "bp": "e", "tid": tid, "ts": time, "id": 4, "cat": "work", "name": "batch"}
        for phase, tid, time in points
    ]
    (folder / "flows.json").write_text(json.dumps({"traceEvents": [{"pid": 1, **event} for event in events]}))
    return f"/t/{shared.show(folder)['flows.json']}/timeline"


@pytest.fixture
def page(shared: SharedViewer, address: str) -> Iterator[Page]:
    page = shared.visit(1280, 800)
    open_page(page, shared.base, address)
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    yield page
    assert shared.problems == []


def choose(page: Page, event: str) -> None:
    page.evaluate(f'popvision.select({{ tl_event: "{event}" }})')
    expect(page.locator(".tl-facts")).to_contain_text("Flow")
    linked(page, event)


def linked(page: Page, event: str) -> None:
    """Until the arrows of an event are drawn."""
    page.wait_for_selector(f'[data-timeline][data-state="complete"][data-flows="{event}"]')


def accent_pixels(page: Page) -> int:
    """Pixels of the drawing that have the colour of arrows, between the lanes of threads 1 and 2."""
    pixels = page.evaluate(
        """() => {
          const { canvas, draw, view, arrows, palette } = popvision.timeline.current;
          const [first, second] = [0, 1].map((thread) => arrows.lane({ thread, depth: 0 }) * view.scale);
          const { data, width } = draw.getImageData(0, first + 10, canvas.width, second - first - 20);
          return { data: Array.from(data), accent: palette.plain.accent };
        }"""
    )
    red, green, blue = (int(each) for each in re.findall(r"\d+", colour(page, pixels["accent"]))[:3])
    data = np.array(pixels["data"], np.int64).reshape(-1, 4)
    return int((np.abs(data[:, :3] - [red, green, blue]).max(axis=1) < 12).sum())


def colour(page: Page, text: str) -> str:
    """A colour as rgb(...)."""
    found: str = page.evaluate(
        """(text) => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = text;
          const found = getComputedStyle(probe).color;
          probe.remove();
          return found;
        }""",
        text,
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_arrows_join_the_selected_event_to_those_it_comes_from_and_leads_to(page: Page, theme: str) -> None:
    if page.locator("html").get_attribute("data-theme") != theme:
        page.keyboard.press("t")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.wait_for_selector('[data-timeline][data-state="complete"]')
    assert accent_pixels(page) == 0
    choose(page, "1.0.0")
    assert accent_pixels(page) >= 4
    facts = page.locator(".tl-facts")
    expect(facts).to_contain_text("load on 1, 100 µs between, batch")
    expect(facts).to_contain_text("write on 3, 100 µs between, batch")
    assert violations(page) == []


def test_keys_and_buttons_follow_a_flow(page: Page) -> None:
    choose(page, "0.0.0")
    page.locator(".tl").focus()
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("tl_event=1.0.0"))
    linked(page, "1.0.0")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("tl_event=2.0.0"))
    linked(page, "2.0.0")
    page.keyboard.press("Shift+J")
    expect(page).to_have_url(re.compile("tl_event=1.0.0"))
    page.get_by_role("button", name="load", exact=True).click()
    expect(page).to_have_url(re.compile("tl_event=0.0.0"))
