"""Hostile names, damaged files, uploads, exported files and the token, as a browser sees them."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from popvision.formats.debug_info import DebugInfo, SourceText, write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.shell_pages import Viewer, sql
from tests.browser.visit_pages import serve
from tests.reports import i8, tiny_compilation, tiny_run, write_tiny
from webapp.access import Access

pytestmark = pytest.mark.browser

MARKUP = "<script>window.bad=1</script>"
PICTURE = '"><img src=x onerror=window.bad=1>'
STYLE = f"</style></textarea></title>{MARKUP}"
TURNED = f"\u202e\u2067abc\u200f\u2028{MARKUP}"
BROKEN_UP = f"{MARKUP}\x00\r\n\t\x1b[31m\x9f end"
LONG = MARKUP + "y" * 10_000
VIEWS = ("summary", "memory", "liveness", "program_tree", "source", "execution", "exchange")
STATE = "program=1&tiles=0&liveness=1&step=0&ipu=0&variable=0&src_line=3"
FOLDER = "<img src=x onerror=window.bad=1>"


def write_hostile(folder: Path) -> None:
    """The tiny report in which everything that has a name has a hostile one."""
    folder.mkdir()
    found = tiny_compilation()
    assert found.variables is not None
    every = MARKUP + PICTURE + STYLE + TURNED + BROKEN_UP
    options = {every: LONG, LONG: every}
    compilation = dataclasses.replace(
        found,
        programs=dataclasses.replace(found.programs, name=[STYLE, every, TURNED, LONG]),
        compute_sets=dataclasses.replace(found.compute_sets, name=[LONG]),
        vertex_types=dataclasses.replace(found.vertex_types, name=[every + "y" * 10_000]),
        variables=dataclasses.replace(found.variables, name=[every, LONG, BROKEN_UP], debug_id=i8(2, -1, -1)),
        lowered_names=[every, LONG, BROKEN_UP],
        meta=found.meta | {"engineName": every, "engineOptions": options, "poplarVersion": LONG, "modelVersion": every},
    )
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(compilation)
        writer.append_run(dataclasses.replace(tiny_run(), name=every))
        writer.append_run(dataclasses.replace(tiny_run(), name=LONG))
    contexts = [
        DebugInfo(1, (), LONG, LONG, {LONG: LONG}, {}, LONG, 3),
        DebugInfo(2, (1,), every, every, {every: every}, {every: [every, LONG]}, every, 3),
    ]
    texts = [SourceText(every, "\n".join([MARKUP, PICTURE, TURNED, LONG])), SourceText(LONG, "", every)]
    write_debug_info(folder, contexts, "tiny-run", sources=texts)


def write_named(folder: Path) -> None:
    """The tiny report with a name for everything, and a source file."""
    folder.mkdir()
    found = tiny_compilation()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(found)
        writer.append_run(tiny_run())
    contexts = [DebugInfo(2, (), "poplibs", "matMul", {"k": 4}, {}, "/w/train.py", 3)]
    write_debug_info(folder, contexts, "tiny-run", sources=[SourceText("/w/train.py", "a\nb\nsecret = 1\n")])


def write_damaged(folder: Path) -> None:
    """truncated: the last fifth is missing; flipped: one bit of the busiest tile's bytes is another."""
    whole = write_tiny(folder / "whole")
    data = whole.read_bytes()
    (folder / "truncated").mkdir()
    (folder / "truncated" / "profile.pop").write_bytes(data[: len(data) * 4 // 5])
    flipped = write_tiny(folder / "flipped")
    with sqlite3.connect(flipped) as db:
        at, blob = db.execute("select id, data from arrays order by id limit 1").fetchone()
        db.execute("update arrays set data = ? where id = ?", (bytes([blob[0] ^ 4]) + blob[1:], at))
    db.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("safety")
    write_hostile(made / FOLDER)
    write_named(made / "named")
    write_damaged(made)
    return made


@pytest.fixture(scope="module")
def viewer(chromium: Browser, folder: Path) -> Iterator[Viewer]:
    opened = Viewer(chromium, folder, uploads=True)
    yield opened
    opened.page.close()


@pytest.fixture(autouse=True)
def no_problem(viewer: Viewer) -> Iterator[None]:
    viewer.problems.clear()
    yield
    assert viewer.problems == []


@pytest.mark.parametrize("other", ["", "named"], ids=["alone", "compared"])
@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_are_text(viewer: Viewer, view: str, other: str) -> None:
    page = viewer.open(FOLDER, view, STATE + (f"&vs={viewer.keys[other]}" if other else ""))
    assert page.evaluate("window.bad") is None
    assert "<script>window.bad=1" in page.evaluate("document.body.innerText + document.body.textContent")
    assert page.locator("#page [onerror], #masthead [onerror], img[src=x]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    assert page.evaluate("document.querySelector('#masthead').getBoundingClientRect().height") < 120


def test_a_hostile_report_in_the_list(viewer: Viewer) -> None:
    page = viewer.go("/")
    expect(page.locator("a.card-name", has_text=FOLDER)).to_be_visible()
    assert page.evaluate("window.bad") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
