"""When a page has finished: the last change of its document, its canvases or its network before a second of quiet.

Times are the page's own, in milliseconds since its navigation began.
"""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page, Response

QUIET = 1_000  #: ms without any change that end a measurement
_LONGEST = 60_000

_WATCH = """() => {
  const note = () => { window.lastChange_ = performance.now(); };
  note();
  const all = { childList: true, subtree: true, attributes: true, characterData: true };
  new MutationObserver(note).observe(document, all);
  // The page asks every few seconds whether the report has grown: that is no part of opening it.
  const isPoll = (each) => each.name.includes("/state");
  new PerformanceObserver((list) => list.getEntries().filter((each) => !isPoll(each)).forEach((each) => {
    window.lastChange_ = Math.max(window.lastChange_, each.responseEnd);
  })).observe({ type: "resource", buffered: true });
  for (const name of ["putImageData", "drawImage", "fillRect"]) {
    const draw = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) { note(); return draw.apply(this, given); };
  }
}"""


@dataclass(frozen=True)
class Opening:
    """`finished` in ms; `largest` = bytes of the largest reply that is no script, style, icon or font, and its path."""

    finished: float
    largest: int
    path: str


class PageClock:
    """Watches one page; make it before the first navigation."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._replies: list[Response] = []
        page.add_init_script(f"({_WATCH})()")
        page.on("response", lambda reply: self._replies.append(reply))

    def open(self, address: str) -> Opening:
        """Navigate and wait for the end."""
        self._replies.clear()
        self._page.goto(address)
        return self._finished()

    def act(self, script: str) -> Opening:
        """Run a script in the page; the time counts from its start."""
        self._replies.clear()
        begun = self._page.evaluate(f"() => {{ const begun = performance.now(); {script}; return begun; }}")
        found = self._finished()
        return Opening(found.finished - begun, found.largest, found.path)

    def _finished(self) -> Opening:
        self._page.wait_for_function(
            f"() => performance.now() - window.lastChange_ > {QUIET}", timeout=_LONGEST, polling=100
        )
        finished = float(self._page.evaluate("window.lastChange_"))
        sizes = [(len(each.body()), each.url) for each in self._replies if _is_data(each)]
        largest, path = max(sizes, default=(0, ""))
        return Opening(finished, largest, path)


def _is_data(reply: Response) -> bool:
    return reply.ok and not any(part in reply.url for part in ("/assets/", "/_dash-component-suites/"))
