"""A timeline that follows a program: `python -m benchmarks.traces.followed_timeline [EVENTS_A_SECOND [SECONDS]]`.

A program records nested events at a steady rate; `popvision view --follow` serves its trace, and a page of Chromium
shows it whole, or its last second. Cost is the processor time of the server, per third of the run, so that one that
grows with the trace is seen. Lag is wall time: from the last event drawn to now, looked at every 50 ms, so it holds how
long the program keeps events (up to 0.1 s), how long the page waits before it asks, and all work. Writes its section
into docs/measured/benchmarks.md.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.document import machine_sentence, write_section

if TYPE_CHECKING:
    from playwright.sync_api import Page

RATE, SECONDS = 100_000, 60
LAG_LIMIT, SHARE_LIMIT = 1.0, 0.20

PROGRAM = """
import sys, time
import popvision.pvti as pvti
rate = int(sys.argv[1])
channels = [pvti.createTraceChannel(name) for name in ("training", "loader")]
steps = [pvti.Tracepoint(channels[number % 2], f"step {number}") for number in range(20)]
begin, done = time.perf_counter(), 0
while True:
    due = int((time.perf_counter() - begin) * rate)
    while done < due:
        with pvti.Tracepoint(channels[0], "batch"):
            for step in steps[:19]:
                with step:
                    pass
        done += 20
    time.sleep(0.002)
"""

WATCH = """() => {
  const lags = (window.lags = []);
  let shown = null;
  window.shown = new Set();
  window.setInterval(() => {
    const timeline = popvision.timeline.current;
    if (timeline.host.dataset.state === "complete") {
      shown = Number(BigInt(timeline.facts.begin) / 1000n) + timeline.facts.total / 1000;
      window.shown.add(shown);
    }
    if (shown !== null) lags.push(Date.now() / 1000 - shown / 1e6);
  }, 50);
}"""

#: What the page shows -> the query of its address.
WINDOWS = {"the whole trace": "", "the last second": "?tl_from={from_}&tl_to={to}"}


@dataclass
class Followed:
    """Processor time of the server per third of the run, as a share of one processor; lags in seconds."""

    shares: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    browser: float = 0.0
    events: int = 0
    pace: float = 0.0


def main(rate: int, seconds: int) -> None:
    """Measure, print and write the section."""
    found = {window: follow(rate, seconds, query) for window, query in WINDOWS.items()}
    text = section(rate, seconds, found)
    print(text)
    if (rate, seconds) == (RATE, SECONDS):
        write_section("followed_timeline", text)


def follow(rate: int, seconds: int, query: str) -> Followed:
    """One program, one server, one page."""
    from playwright.sync_api import sync_playwright

    from tests.browser.visit_pages import CHROMIUM

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rate)],
            env=os.environ | {"PVTI_OPTIONS": f'{{"directory": "{folder}"}}'},
        )
        server = None
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            path = _until(lambda: next(Path(folder).glob("*.pvti"), None))
            server, base = _serve(folder)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(base)
            address = page.locator('a[href^="/t/"]').first.get_attribute("href")
            page.goto(f"{base}{str(address).partition('?')[0]}")
            _settled(page)
            if query:
                total = page.evaluate("popvision.timeline.current.facts.total")
                page.goto(page.url.partition("?")[0] + query.format(from_=max(0, total - 10**9), to=total + 1))
                _settled(page)
            return _watched(page, server.pid, seconds, path)
        finally:
            browser.close()
            program.kill()
            for process in (program, server):
                if process is not None:
                    process.kill()
                    process.wait()


def _watched(page: Page, server: int, seconds: int, path: Path) -> Followed:
    found = Followed()
    page.evaluate(WATCH)
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    before_page = _page_seconds(client)
    begin = time.monotonic()
    for _ in range(3):
        spent, clock = _processor_seconds(server), time.monotonic()
        page.wait_for_timeout(1000 * seconds / 3)
        found.shares.append((_processor_seconds(server) - spent) / (time.monotonic() - clock))
    found.browser = (_page_seconds(client) - before_page) / (time.monotonic() - begin)
    found.lags = page.evaluate("window.lags")
    found.pace = page.evaluate("window.shown.size") / (time.monotonic() - begin)
    found.events = page.evaluate("popvision.timeline.current.facts.events")
    return found


def _page_seconds(client: object) -> float:
    metrics = client.send("Performance.getMetrics")["metrics"]  # type: ignore[attr-defined]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def _settled(page: Page) -> None:
    page.wait_for_selector("[data-timeline][data-first-complete]", state="attached", timeout=60_000)


def _serve(folder: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "popvision.cli", "view", "--follow", "--no-browser", folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        address = re.search(r"http://\S+", line)
        if address and "Serving" in line:
            return server, address[0].rstrip("/")
    raise RuntimeError("the viewer did not start")


def _until(question: object) -> Path:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = question()  # type: ignore[operator]
        if answer is not None:
            return Path(answer)
        time.sleep(0.05)
    raise RuntimeError("the program has written nothing for 30 s")


def _processor_seconds(pid: int) -> float:
    """User and system time of a process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def section(rate: int, seconds: int, found: dict[str, Followed]) -> str:
    """The table of the figures beside their limits."""
    lines = [
        "## A timeline that follows a program",
        "",
        f"A program that records {rate:,} events a second, {seconds} s for each row; "
        "`python -m benchmarks.traces.followed_timeline`. Server: processor time of `popvision view --follow`, in "
        f"thirds of the run, limit {SHARE_LIMIT:.0%} of one processor. Lag: wall time from the last event drawn to "
        f"now, limit {LAG_LIMIT:g} s. Page: main thread of the page. {machine_sentence()}",
        "",
        "| the page shows | events at the end | server, thirds | pictures a second | lag: median | 95 % | longest "
        "| page | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for window, each in found.items():
        lags = sorted(each.lags)
        most = lags[int(0.95 * (len(lags) - 1))]
        thirds = ", ".join(f"{share:.1%}" for share in each.shares)
        verdict = "within the limits" if max(each.shares) <= SHARE_LIMIT and most <= LAG_LIMIT else "beyond a limit"
        lines.append(
            f"| {window} | {each.events:,} | {thirds} | {each.pace:.1f} | {statistics.median(lags):.2f} s "
            f"| {most:.2f} s | {lags[-1]:.2f} s | {each.browser:.1%} | {verdict} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:3]), *(RATE, SECONDS)[len(sys.argv[1:3]) :])
