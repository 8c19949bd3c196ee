"""The time at which a page is complete: the last change of its document, canvases or network before a second of quiet.

Times are the page's own, in milliseconds since its navigation began.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """`finished` in ms; `largest` = bytes and path of the largest reply that is not a script, style, icon or font.
    `requests` and the `received` bytes count network traffic. `busy` is the processor time in ms of the page's main
    thread since its navigation, which other load on the machine does not change."""

    finished: float
    largest: int
    path: str
    requests: int = 0
    received: int = 0
    busy: float = 0.0


class PageClock:
    """Watches one page; make it before the first navigation."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._replies: list[Response] = []
        page.add_init_script(f"({_WATCH})()")
        page.on("response", lambda reply: self._replies.append(reply))
        self._received: list[int] = []
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._tools.send("Network.enable")
        self._tools.on("Network.loadingFinished", lambda event: self._received.append(int(event["encodedDataLength"])))

    def open(self, address: str) -> Opening:
        """Navigate and wait for the end."""
        self._replies.clear()
        self._received.clear()
        self._page.goto(address)
        return self._finished()

    def act(self, script: str) -> Opening:
        """Run a script in the page; the clock starts with it."""
        self._replies.clear()
        self._received.clear()
        begun = self._page.evaluate(f"() => {{ const begun = performance.now(); {script}; return begun; }}")
        found = self._finished()
        return replace(found, finished=found.finished - begun)

    def _finished(self) -> Opening:
        self._page.wait_for_function(
            f"() => performance.now() - window.lastChange_ > {QUIET}", timeout=_LONGEST, polling=100
        )
        finished = float(self._page.evaluate("window.lastChange_"))
        sizes = [(len(each.body()), each.url) for each in self._replies if _is_data(each)]
        largest, path = max(sizes, default=(0, ""))
        requests = sum(each.url.startswith("http") for each in self._replies)
        return Opening(finished, largest, path, requests, sum(self._received), self._busy())

    def _busy(self) -> float:
        found = {each["name"]: each["value"] for each in self._tools.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"]) * 1000


def _is_data(reply: Response) -> bool:
    return reply.ok and not any(part in reply.url for part in ("/assets/", "/_dash-component-suites/"))
