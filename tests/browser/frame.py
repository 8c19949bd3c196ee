"""Coming to a page as a visitor does who is in the viewer already: within its frame.

Loading the frame anew takes more than twice the processor time of the page itself. The first visit of a browser page
loads it, and so does one that follows an open dialog, or the same page with something selected; `Page.reload` and
`Page.goto` remain for tests about loading.
"""

from __future__ import annotations

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

#: Until nothing that can be seen is awaited and no answer has come for a quarter of a second.
_QUIET = """() => new Promise((resolve) => {
  performance.clearResourceTimings();
  let seen = -1, since = performance.now();
  const end = since + 20000;
  const look = () => {
    const now = performance.now(), count = performance.getEntriesByType("resource").length;
    if (count !== seen || popvision.waiting()) { seen = count; since = now; }
    if (now - since > 250 || now > end) resolve(); else setTimeout(look, 50);
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
    """Until the page has what it asked for."""
    page.wait_for_load_state("networkidle")
    page.evaluate(_QUIET)
