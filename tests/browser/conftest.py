"""Headless Chromium on a viewer served from this process, for the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visit_pages import CHROMIUM


@pytest.fixture(scope="session", autouse=True)
def chromium_is_there() -> None:
    """Missing Chromium fails every page test with the fix; it never skips them."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: the page tests need it; run apt-get install chromium.", pytrace=False)


@pytest.fixture(scope="module")
def chromium(chromium_is_there: None) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
