"""Headless Chromium on a viewer served from this process, for the tests of pages.

Chromium, the viewer and its page are started once a process (shared_viewer.py); a module with reports of its own has a
fixture `folder`, or a `viewer` of its own kind, with `problems`.
`pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]` watches over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.frame import PATIENCE
from tests.browser.shared_viewer import SharedViewer
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


@pytest.fixture(scope="session")
def viewer_of_the_worker(started_chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedViewer]:
    viewer = SharedViewer(started_chromium, tmp_path_factory.mktemp("nothing"))
    yield viewer
    viewer.close()


@pytest.fixture(scope="module")
def shared(viewer_of_the_worker: SharedViewer) -> Iterator[SharedViewer]:
    """The viewer of all modules, with nothing left of other modules."""
    yield viewer_of_the_worker
    viewer_of_the_worker.end()


@pytest.fixture
def chromium(started_chromium: Browser) -> Iterator[Browser]:
    """The browser, for a test with a context of its own."""
    before = started_chromium.contexts
    yield started_chromium
    for context in started_chromium.contexts:
        if context not in before:
            context.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of `write_reports`."""
    made = tmp_path_factory.mktemp("reports")
    write_reports(made)
    return made


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, folder: Path) -> Viewer:
    return Viewer(shared, folder)


@pytest.fixture
def no_problem(viewer: Any) -> Iterator[None]:
    """Nothing went wrong on the module's page during the test, nor since the last one."""
    yield
    found = list(viewer.problems)
    viewer.problems.clear()
    assert found == []
