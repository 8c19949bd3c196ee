"""A page on a report that its program still writes: the notice, the reload, and a report that goes away."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from popvision.formats.profile.writer import ProfileWriter
from tests.browser.shared_viewer import SharedViewer
from tests.browser.shell_pages import Viewer, sql
from tests.reports import tiny_compilation, tiny_run

pytestmark = pytest.mark.browser


class Growing:
    """A report whose writer is open while it is looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.writer = ProfileWriter(folder / "profile.pop")
        self.writer.write_compilation(tiny_compilation())
        self.writer.append_run(tiny_run())

    def cycles(self) -> int:
        return int(sql(self.folder, "select sum(cycles) from runs")[0])


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path / "growing")
    yield made
    made.writer.close()


@pytest.fixture
def page(shared: SharedViewer, growing: Growing) -> Iterator[Page]:
    viewer = Viewer(shared, growing.folder.parent)
    yield viewer.open("growing", "summary", "tiles=1&program=1")
    assert viewer.problems == []


def look(page: Page) -> None:
    """What the page does by itself every few seconds."""
    with page.expect_response("**/state?*"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_run_that_is_added_is_offered_and_read(page: Page, growing: Growing) -> None:
    before = growing.cycles()
    card = page.locator(".figure-card").first
    expect(card).to_contain_text(f"{before:,}")
    look(page)
    expect(page.locator("#growth")).to_be_empty()
    growing.writer.append_run(tiny_run())
    look(page)
    expect(page.locator("#growth")).to_contain_text("The report has grown (generation 2).")
    expect(card).to_contain_text(f"{before:,}")
    page.get_by_role("button", name="Reload", exact=True).last.click()
    expect(card).to_contain_text(f"{2 * before:,}")
    expect(page.locator("#growth")).to_be_empty()
    expect(page).to_have_url(re.compile(r"/summary\?tiles=1&program=1$"))
    look(page)
    expect(page.locator("#growth")).to_be_empty()


def test_always_reload_waits_for_a_dialog_only(page: Page, growing: Growing) -> None:
    before = growing.cycles()
    card = page.locator(".figure-card").first
    page.evaluate("popvision.setPreference('reload', 'always')")
    look(page)
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    growing.writer.append_run(tiny_run())
    look(page)
    expect(page.locator("#growth")).to_contain_text("generation 2")
    expect(card).to_contain_text(f"{before:,}")
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()
    look(page)
    expect(card).to_contain_text(f"{2 * before:,}")


def test_a_report_that_is_written_anew_or_gone_is_said(page: Page, growing: Growing) -> None:
    look(page)
    aside = growing.folder.with_name("aside")
    shutil.move(growing.folder, aside)
    look(page)
    expect(page.locator("#growth")).to_contain_text("The files of this report are missing.")
    shutil.move(aside, growing.folder)
    look(page)
    expect(page.locator("#growth")).to_be_empty()
    (growing.folder / "profile.pop").write_bytes(b"not a report")
    look(page)
    expect(page.locator("#growth")).to_contain_text("growing/profile.pop is not a PopVision report")
