"""Pages whose script comes last, to a browser that has kept nothing: Dash's renderer, which calls the functions of that
script, must wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser.frame import PATIENCE, until_quiet
from tests.browser.noted_problems import noted_problems
from tests.browser.shared_viewer import SharedViewer
from tests.browser.shell_pages import write_reports
from tests.pvti import traced
from webapp.base.library import Library
from webapp.base.views import all_views

pytestmark = pytest.mark.browser

#: The first page, and of each view what it shows by its script or by a callback of it.
PARTS = {
    "": ".picker tbody tr",
    "overview": "#overview-pins",
    "summary": "#page .view",
    "memory": "#page .js-plotly-plot",
    "liveness": "#page .js-plotly-plot",
    "program_tree": "#program-tree [data-row]",
    "source": "#source-code",
    "operations": ".ops-main .ag-row",
    "execution": "[data-trace] canvas",
    "exchange": "[data-exchange] canvas",
    "sql": "#sql",
    "ranks": "#page .view",
    "timeline": "[data-timeline] canvas",
}

#: What the renderer is once the page has nothing to do; "undefined" before its script has run.
_RENDERER = """() => new Promise((done) => {
  requestIdleCallback(() => requestIdleCallback(() => done(typeof DashRenderer)));
})"""


@pytest.fixture(scope="module")
def served(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Library]:
    folder = tmp_path_factory.mktemp("slow")
    write_reports(folder)
    traced.run(traced.TWELVE_STEPS, folder / "trace")
    shared.show(folder)
    return shared.base, shared.library


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of a browser that has kept nothing."""
    with chromium.new_context() as context:
        yield context.new_page()


def address(library: Library, view: str) -> str:
    """The path of a view of the folder's report or trace; of "" the first page."""
    kinds = {each.id: each.kind for each in all_views()}
    if not view:
        return "/"
    letter, name = ("r", "tiny") if kinds[view] == "report" else ("t", "trace")
    key = next(entry.key for entry in library.entries() if name in entry.path.parts and not entry.is_sample)
    return f"/{letter}/{key}/{view}"


def test_every_view_is_here() -> None:
    assert set(PARTS) == {"", *(view.id for view in all_views())}


@pytest.mark.parametrize("view", PARTS)
def test_a_page_waits_for_its_script(served: tuple[str, Library], page: Page, view: str) -> None:
    base, library = served
    problems = noted_problems(page, base)
    held: list[Route] = []
    page.set_default_timeout(PATIENCE)
    page.route("**/assets/joined/*/script.js", lambda route: held.append(route))
    with page.expect_event("requestfinished", lambda request: "dash_renderer" in request.url):
        page.goto(base + address(library, view), wait_until="commit")
    assert page.evaluate(_RENDERER) == "undefined"
    (script,) = held
    script.continue_()
    page.locator(PARTS[view]).first.wait_for(state="attached")
    until_quiet(page)
    assert problems == []
