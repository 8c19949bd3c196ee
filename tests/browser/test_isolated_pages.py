"""Every page, in a network namespace that holds only the loopback device: what it shows it has from here.

A number on each page is compared with plain SQL over the files.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pvti import traced
from tests.reports import write_tiny

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("isolated")
    write_tiny(folder / "report")
    traced.run(traced.TWELVE_STEPS, folder / "trace")
    command = ["unshare", "-rn", sys.executable, "-m", "tests.browser.visit_pages", str(folder), "--lo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.stdout, done.stderr
    pages = {address.rsplit("/", 1)[-1]: page for address, page in json.loads(done.stdout).items()}
    return folder, pages


def test_no_page_has_a_problem(seen: tuple[Path, dict[str, Any]]) -> None:
    _, pages = seen
    assert set(pages) == {
        "",
        "overview",
        "summary",
        "memory",
        "liveness",
        "program_tree",
        "source",
        "operations",
        "ranks",
        "execution",
        "exchange",
        "sql",
        "timeline",
    }
    assert {name: page["problems"] for name, page in pages.items() if page["problems"]} == {}


@pytest.mark.parametrize(
    ("page", "query", "text"),
    [
        ("summary", "select sum(cycles) from runs", "Total device cycles {}"),
        ("memory", "select sum(excluding_gaps) from memory_by_tile", "Memory Excluding Gaps {} B"),
        ("liveness", "select sum(always_live) from memory_by_tile", "{} B"),
        (
            "program_tree",
            "select sum(cycles) from steps_by_ipu join steps on id = step_id where program = 1",
            "OnTileExecute layer/matmul #1 {}",
        ),
        ("execution", "select sum(cycles) from execution_cycle_totals", "Total device cycles {}"),
        ("exchange", "select sum(data_in) from steps_by_ipu", "Received {} B"),
    ],
)
def test_numbers_are_those_of_the_database(seen: tuple[Path, dict[str, Any]], page: str, query: str, text: str) -> None:
    folder, pages = seen
    with sqlite3.connect(folder / "report" / "profile.pop") as db:
        number = db.execute(query).fetchone()[0]
    assert _plain(text.format(f"{number:,}")) in _plain(pages[page]["text"])


def test_the_timeline_counts_the_events(seen: tuple[Path, dict[str, Any]]) -> None:
    folder, pages = seen
    (trace,) = (folder / "trace").glob("*.pvti")
    with sqlite3.connect(trace) as db:
        spans = db.execute("select total(n) from slices").fetchone()[0]
    assert spans == 12
    assert _plain(f"All events {spans:.0f}") in _plain(pages["timeline"]["text"])


def _plain(text: str) -> str:
    return "".join(text.split())
