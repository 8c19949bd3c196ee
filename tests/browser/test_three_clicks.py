"""From the landing page to the answer in at most three clicks, on a report with planted faults (tests/planted.py):
the worst tile and what fills it, the slowest program and why, what changed between two reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer
from tests.planted import LOOKUP, SLOW_NAME, SLOW_PROGRAM, SLOW_TILE, WORST_TILE, planted

pytestmark = pytest.mark.browser

MOST = 3


class Visitor:
    """Somebody who starts at the landing page and may click three times."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self._base = base
        self._clicks = 0

    def start(self) -> None:
        self._clicks = 0
        open_page(self.page, self._base, "/")

    def click(self, what: Locator) -> None:
        self._clicks += 1
        assert self._clicks <= MOST
        what.first.click()

    def sees(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator("#page")).to_contain_text(text)


@pytest.fixture(scope="module")
def visitor(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    folder: Path = tmp_path_factory.mktemp("clicks")
    planted("today").write(folder / "today")
    yesterday = planted("yesterday")
    yesterday.with_program(SLOW_PROGRAM - 1, cycles=400).write(folder / "yesterday")
    shared.show(folder)
    return Visitor(shared.visit(), shared.base)


def test_the_worst_tile_and_what_fills_it(visitor: Visitor) -> None:
    visitor.start()
    page = visitor.page
    visitor.click(page.get_by_role("link", name="today", exact=True))
    visitor.click(page.get_by_role("link", name=f"tile {WORST_TILE}", exact=True))
    visitor.click(page.get_by_role("tab", name="Peak", exact=True))
    visitor.sees(f"Tile {WORST_TILE} peaks at", LOOKUP, "117.2 KiB")  # 120,000 B


def test_the_slowest_program_and_why(visitor: Visitor) -> None:
    visitor.start()
    page = visitor.page
    visitor.click(page.get_by_role("link", name="today", exact=True))
    visitor.click(page.get_by_role("link", name=SLOW_NAME, exact=True))
    visitor.sees(SLOW_NAME, f"Id {SLOW_PROGRAM}")
    visitor.click(page.get_by_role("tab", name="Tiles", exact=True))
    figures = page.locator(".statistics tr", has_text="Cycles, execution step").locator("td")
    expect(figures.nth(-2)).to_have_text("4,000")
    expect(figures.nth(-1)).to_have_text(str(SLOW_TILE))
    expect(figures.nth(-3)).to_have_text("850.0")  # the mean: one tile holds the others up


def test_what_changed_between_two_reports(visitor: Visitor) -> None:
    visitor.start()
    page = visitor.page
    visitor.click(page.get_by_role("checkbox", name="Choose yesterday to compare"))
    visitor.click(page.get_by_role("checkbox", name="Choose today to compare"))
    visitor.click(page.get_by_role("button", name="Compare", exact=True))
    visitor.sees("+3,600", SLOW_NAME)
