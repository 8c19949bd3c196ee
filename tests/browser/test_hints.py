"""The hint at the first visit of the trace: shown once, gone with its button, Escape or the wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer
from tests.reports import write_tiny

pytestmark = pytest.mark.browser


@pytest.fixture
def page(shared: SharedViewer, tmp_path: Path) -> Page:
    write_tiny(tmp_path / "tiny")
    keys = shared.show(tmp_path)
    page = shared.visit()
    open_page(page, shared.base, f"/r/{keys['tiny']}/execution")
    expect(page.locator(".hint")).to_contain_text("The wheel zooms, a drag moves")
    return page


@pytest.mark.parametrize("how", ["button", "Escape", "wheel"])
def test_a_hint_is_read_once(how: str, page: Page) -> None:
    if how == "button":
        page.get_by_role("button", name="Got it").click()
    elif how == "Escape":
        page.locator(".trace").focus()
        page.keyboard.press("Escape")
    else:
        page.locator(".trace").hover()
        page.mouse.wheel(0, 40)
    expect(page.locator(".hint")).to_be_hidden()
    page.reload()
    page.wait_for_selector(".trace canvas")
    expect(page.locator(".hint")).to_be_hidden()


def test_nothing_moves_when_a_hint_goes(page: Page) -> None:
    trace = page.locator(".trace canvas")
    before = trace.bounding_box()
    trace.hover()
    page.mouse.wheel(0, 40)
    expect(page.locator(".hint")).to_be_hidden()
    assert trace.bounding_box() == before
