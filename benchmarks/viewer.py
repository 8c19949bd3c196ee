"""A viewer in its own process, a browser beside it, and the memory of their processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from webapp.base.library import Library

CHROMIUM = "/usr/bin/chromium"


@dataclass(frozen=True)
class Serving:
    """`base` is the address without a path, `key` the report's, `seconds` from the command to serving."""

    base: str
    key: str
    pid: int
    seconds: float

    def page(self, view: str) -> str:
        return f"{self.base}/r/{self.key}/{view}"


@contextmanager
def serving(folder: Path) -> Iterator[Serving]:
    """Run `popvision view` on a folder with one report, and end it afterwards."""
    key = next(entry.key for entry in Library([folder]).entries() if not entry.is_sample)
    began = time.perf_counter()
    command = [sys.executable, "-m", "popvision", "view", str(folder), "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Python would compile each module within the measured time
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        try:
            assert run.stdout is not None
            words = (word for line in run.stdout for word in line.split())
            address = next((word for word in words if word.startswith("http")), None)
            if address is None:
                raise RuntimeError(f"{' '.join(command)} ended without an address")
            yield Serving(address.rstrip("/"), key, run.pid, time.perf_counter() - began)
        finally:
            run.terminate()


@contextmanager
def page_of() -> Iterator[Page]:
    """A page of a browser that has started. It shows scrollbars, as a user's does. Playwright asks to hide them, and
    then ag-grid takes back a class without effect 0.4 s after it has drawn a table, which is no part of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], ignore_default_args=["--hide-scrollbars"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme="light")
        page.goto("about:blank")
        yield page
        browser.close()


def processor_time(process: int) -> float:
    """Milliseconds of processor time of a process so far, over all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Memory:
    """MiB, the sum over all processes of one server: `own` is private memory plus shares of shared memory (PSS without
    mapped files), `mapped` the share of mapped files, `peak` the highest resident size so far."""

    own: float
    mapped: float
    peak: float


def memory_of(process: int) -> Memory:
    """The memory of a process and its children, from /proc; processes that have ended count as nothing."""
    own = mapped = peak = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = _facts(status)
            if process not in (int(status.parent.name), int(facts["PPid"])):
                continue
            shares = _facts(status.with_name("smaps_rollup"))
        except (OSError, KeyError):
            continue
        own += _mebibytes(shares.get("Pss_Anon", "0 kB")) + _mebibytes(shares.get("Pss_Shmem", "0 kB"))
        mapped += _mebibytes(shares.get("Pss_File", "0 kB"))
        peak += _mebibytes(facts.get("VmHWM", "0 kB"))
    return Memory(own, mapped, peak)


def _facts(path: Path) -> dict[str, str]:
    return dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)


def _mebibytes(text: str) -> float:
    return int(text.split()[0]) / 1024
