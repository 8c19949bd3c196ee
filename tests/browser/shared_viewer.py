"""The viewer of a worker and the page on it, which modules of tests take in turn.

A page of a new context costs 3.0 s of processor time, the frame loaded again in a page 2.0 s, and the next address
within the frame 0.5 s: the viewer is started once a worker, its library takes a folder after the other, its page
loads the frame once a module, and a test begins in it as a visitor who never was there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page

from tests.browser.frame import PATIENCE, open_page, until_quiet
from tests.browser.noted_problems import noted_problems
from tests.browser.visit_pages import serve

#: An answer of the viewer that is no page of it, and a page of it with nothing on it.
_OUTSIDE, _EMPTY = "/data/nothing", "/nothing"

#: Forgets what the browser keeps. False where the frame itself differs from one that was loaded now.
_FORGET = """() => {
  localStorage.clear();
  sessionStorage.clear();
  if (document.cookie.includes("popvision_") || document.querySelector("dialog[open]")) return false;
  const root = document.documentElement;
  if (root.dataset.nav !== (innerWidth < 1100 ? "narrow" : "wide")) return false;
  if (root.dataset.themeChoice !== "auto") popvision.setTheme("auto");
  if (document.activeElement) document.activeElement.blur();
  localStorage.clear();
  return true;
}"""


class SharedViewer:
    """`base` is its address. `problems` holds what went wrong on its page since the last visit began."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        """`folder` is empty: reports are those of `show`."""
        self.base, self.library = serve(folder, uploads=True)
        self._context = browser.new_context()
        self._context.set_default_timeout(PATIENCE)
        self._page = self._context.new_page()
        self.problems = noted_problems(self._page, self.base)
        self._leave()

    def show(self, folder: Path, *, uploads: bool = False, follows: bool = False) -> dict[str, str]:
        """Serve the reports and traces of this folder alone; the key of each by the name of its folder or file."""
        self.library.folders = [folder.resolve()]
        self.library.takes_uploads, self.library.follows = uploads, follows
        return {entry.path.name: entry.key for entry in self.library.scan() if not entry.is_sample}

    def visit(
        self,
        width: int = 1400,
        height: int = 900,
        *,
        theme: Literal["light", "dark"] = "light",
        motion: Literal["reduce", "no-preference"] = "no-preference",
    ) -> Page:
        """The page, for somebody who never was there: the browser has kept nothing, and no view is open. A later visit
        ends this one."""
        page = self._page
        page.unroute_all(behavior="ignoreErrors")
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion=motion)
        page.mouse.move(0, 0)
        if self._is_within(page):
            open_page(page, self.base, _EMPTY)
            until_quiet(page)
            if not page.evaluate(_FORGET):
                self._leave()
        else:
            self._leave()
        self.problems.clear()
        return page

    def another_page(self, width: int, height: int, theme: Literal["light", "dark"] = "light") -> Page:
        """A page beside the shared one, for a test that changes what a page is. It closes it."""
        page = self._context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        return page

    def end(self) -> None:
        """End the visits of a module: the next one loads the frame."""
        for page in self._context.pages:
            if page is not self._page:
                page.close()
        self._page.unroute_all(behavior="ignoreErrors")
        self._leave()

    def close(self) -> None:
        self._context.close()

    def _is_within(self, page: Page) -> bool:
        """Whether the frame is loaded."""
        inside = page.url.startswith(f"{self.base}/")
        return inside and page.evaluate(
            "!!window.popvision && !!popvision.go && !document.querySelector('dialog[open]')"
        )

    def _leave(self) -> None:
        self._page.goto(self.base + _OUTSIDE)
        self._context.clear_cookies()
        self._context.clear_permissions()
        self._page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.problems.clear()
