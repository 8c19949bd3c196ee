"""Headless Chromium on a viewer served from this process, for the tests of pages.

Chromium is started once a process, the viewer once a module: a module with reports of its own has a fixture `folder`,
or a `viewer` of its own kind, with `problems`.
`pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]` watches over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.frame import PATIENCE
from tests.browser.shell_pages import Viewer, write_reports
from tests.browser.visit_pages import CHROMIUM


@pytest.fixture(scope="session", autouse=True)
def chromium_is_there() -> None:
    """Missing Chromium fails every page test with the fix; it never skips them."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: the page tests need it; run apt-get install chromium.", pytrace=False)


@pytest.fixture(scope="session")
def started_chromium(chromium_is_there: None) -> Iterator[Browser]:
    """One process for all modules. Playwright's event loop runs in this thread until the session ends."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def chromium(started_chromium: Browser) -> Iterator[Browser]:
    """The browser, without the pages of other modules: what a module leaves open is closed."""
    yield started_chromium
    for context in started_chromium.contexts:
        context.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of `write_reports`."""
    made = tmp_path_factory.mktemp("reports")
    write_reports(made)
    return made


@pytest.fixture(scope="module")
def viewer(chromium: Browser, folder: Path) -> Iterator[Viewer]:
    opened = Viewer(chromium, folder)
    yield opened
    opened.page.close()


@pytest.fixture
def no_problem(viewer: Any) -> Iterator[None]:
    """Nothing went wrong on the module's page during the test, nor since the last one."""
    yield
    found = list(viewer.problems)
    viewer.problems.clear()
    assert found == []
