"""Coming to a page as a visitor does who is in the viewer already: within its frame.

Loading the frame anew takes more than twice the processor time of the page itself. The first visit of a browser page
loads it, and so does one that follows an open dialog, or the same page with something selected; `Page.reload` and
`Page.goto` remain for tests about loading.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page

#: Milliseconds that a page may take to show what is expected: long, since a loaded machine is no fault of the page.
PATIENCE = 60_000

#: Goes to an address and builds its page even when it has the path of the one before; false where no frame is loaded,
#: and where the page shown is about to give way to that of the address: coming back to it would change nothing.
_GO = """(href) => {
  if (!window.popvision || !popvision.go || document.querySelector("dialog[open]")) return false;
  const before = document.querySelectorAll("#page > *");
  if (!before.length) return false;
  const current = document.querySelector(".nav-views a[aria-current]");
  const shown = current ? new URL(current.href).pathname : document.querySelector(".picker") ? "/" : location.pathname;
  if (shown !== location.pathname) return false;
  const to = new URL(href, location.href), stays = location.pathname === to.pathname;
  if (stays && location.search && location.search !== to.search) return false;
  before.forEach((each) => { each.dataset.left = "1"; });
  popvision.go(href);
  if (stays) popvision.redraw();
  return true;
}"""

#: Until nothing is awaited in three frames running, which are two drawn: a part of the page, or a callback of Dash,
#: whose answer may ask the next one.
_QUIET = """(patience) => new Promise((resolve, reject) => {
  const end = performance.now() + patience;
  const open = ["requested", "prioritized", "blocked", "executing", "watched", "executed"];
  const awaited = () => {
    if (!window.popvision || !popvision.waiting || !window.store) return ["the scripts of the page"];
    const { callbacks } = store.getState();
    const found = open.flatMap((state) => callbacks[state].map((each) => `${each.callback.output} (${state})`));
    return popvision.waiting() ? [...found, `answers for ${popvision.waiting()} parts of the page`] : found;
  };
  let frames = 0;
  const look = () => {
    const found = awaited();
    frames = found.length ? 0 : frames + 1;
    if (frames === 3) resolve();
    else if (found.length && performance.now() > end) reject(new Error("the page waits for " + found.join(", ")));
    else requestAnimationFrame(look);
  };
  look();
})"""


def open_page(page: Page, base: str, path: str) -> None:
    """Show `path` of the viewer at `base`; returns when its page has begun to fill."""
    page.set_default_timeout(PATIENCE)
    if not page.url.startswith(f"{base}/") or not page.evaluate(_GO, path):
        page.goto(base + path)
        return
    page.wait_for_selector("#page > *:not([data-left])", state="attached")


def until_quiet(page: Page) -> None:
    """Until the page has what it asked for. Raises Error with what it still waits for after `PATIENCE`."""
    page.evaluate(_QUIET, PATIENCE)


def frames(page: Page, count: int) -> None:
    """Let the page draw so many frames: what moves by itself moves from one to the next."""
    page.evaluate(
        """(count) => new Promise((done) => {
          const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : done());
          next(count);
        })""",
        count,
    )


def until(page: Page, look: Callable[[], object], what: str) -> None:
    """Until `look` gives true for what the browser has told this process, such as a request that a route holds. Raises
    AssertionError with `what` is awaited after `PATIENCE`."""
    ends = time.monotonic() + PATIENCE / 1000
    while not look():
        assert time.monotonic() < ends, f"not within {PATIENCE} ms: {what}"
        frames(page, 1)  # events of the browser come in meanwhile


def thread_seconds(page: Page) -> float:
    """Processor time of the thread on which the page runs, since its process began."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return float(next(each["value"] for each in metrics if each["name"] == "ThreadTime"))
