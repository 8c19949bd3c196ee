"""The page of a watched program: figures in the margin, their changes, failures in place, keys, both themes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.browser.axe_pages import violations
from tests.browser.frame import PATIENCE
from tests.browser.noted_problems import noted_problems
from tests.watch.watch_command import PROGRAM, WatchCommand, watching

pytestmark = pytest.mark.browser

LINE = PROGRAM.splitlines().index('b = popops.add(graph, a, a, program, "double")') + 1


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture
def watch(program: Path) -> Iterator[WatchCommand]:
    with watching(program) as opened:
        yield opened


@pytest.fixture
def page(chromium: Browser, watch: WatchCommand) -> Iterator[Page]:
    opened = chromium.new_page(viewport={"width": 1400, "height": 900}, color_scheme="light")
    opened.set_default_timeout(PATIENCE)
    problems = noted_problems(opened, watch.base)
    opened.goto(watch.url)
    expect(opened.locator("#watch-note")).to_contain_text("Version 1, ")
    yield opened
    assert problems == []
    opened.close()


def cells(page: Page, line: int) -> list[str]:
    """The figures and changes beside a line, as the page writes them."""
    return page.locator(f"[id='code-row-{line - 1}'] .code-figure").all_text_contents()


def rest(page: Page, title: str) -> list[str]:
    return page.locator(".watch-rest tr", has_text=title).locator("td").all_text_contents()


def test_lines_and_sums_are_saved(page: Page, watch: WatchCommand) -> None:
    figures = watch.next_version()["figures"]
    with page.expect_download() as saved:
        page.locator("[data-watch-export=json]").click()
    assert saved.value.suggested_filename == "program.py.json"
    rows = json.loads(Path(saved.value.path()).read_text())
    lines = PROGRAM.splitlines()
    assert [row["text"] for row in rows[: len(lines)]] == lines
    row = rows[LINE - 1]
    assert row["line"] == LINE
    assert [row["cycles"], row["at_peak_bytes"], row["received_bytes"]] == figures["lines"][str(LINE)][:3]
    sums = {row["text"]: row["cycles"] for row in rows if row["line"] is None}
    assert sums["Total of the report"] == figures["rest"]["total"][0]
    shown = sum(row["cycles"] or 0 for row in rows if row["line"] is not None)
    assert shown + sum(sums.values()) - sums["Total of the report"] == sums["Total of the report"]
    with page.expect_download() as saved:
        page.locator("[data-watch-export=csv]").click()
    text = Path(saved.value.path()).read_text().splitlines()
    assert text[0] == "line,text,cycles,at_peak_bytes,received_bytes"
    assert len(text) == len(rows) + 1


def test_margin_changes_pin_and_links(page: Page, watch: WatchCommand, program: Path) -> None:
    first = watch.next_version()
    assert cells(page, LINE)[0] == f"{first['figures']['lines'][str(LINE)][0]:,}"
    with closing(sqlite3.connect(f"{first['version']['report']}/profile.pop")) as db:
        (total,) = db.execute("select sum(cycles) from runs").fetchone()
    assert rest(page, "Total of the report")[0] == f"{total:,}"

    page.keyboard.press("p")
    expect(page.locator("#watch-pin")).to_have_text("Pinned: version 1")
    program.write_text(PROGRAM.replace("SIZE = 64", "SIZE = 4096"), encoding="utf-8")
    expect(page.locator("#watch-note")).to_contain_text("Version 2, ")
    values = watch.state()["figures"]["changes"]["pinned"]["lines"][str(LINE)]
    shown = cells(page, LINE)
    assert len(shown) == 9
    assert shown[1] == shown[2] == f"+{values[0]:,}"

    program.write_text(PROGRAM.replace("SIZE = 64", "# moved\nSIZE = 4096"), encoding="utf-8")
    expect(page.locator(f"[id='code-row-{LINE}'] .code-figure").first).to_have_text(shown[0])
    expect(page.locator("#watch-note")).to_contain_text("Version 2, ")
    page.locator(f"[id='code-row-{LINE}'] .code-text").click()
    page.locator(".code-scroll").press("Enter")
    expect(page.locator("#source-code")).to_be_visible()
    assert f"src_line={LINE}" in page.url  # the line as the report has it
    page.go_back()
    link = page.locator(f"[id='code-row-{LINE}'] .code-figure a").first
    expect(link).to_be_visible()
    link.click()
    expect(page.locator("#view-execution")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Compare with the pin").click()
    expect(page.locator(".versus, .masthead")).not_to_have_count(0)
    expect(page.locator("#source-code")).to_be_visible()
    assert "vs=" in page.url
    page.get_by_role("link", name="Close").click()
    page.get_by_role("link", name="Watched program").click()
    expect(page.locator("#watch-pin")).to_have_text("Pinned: version 1")


def test_failures_stand_in_their_line_and_figures_stay_in_grey(page: Page, program: Path) -> None:
    before = cells(page, LINE)
    program.write_text(PROGRAM.replace("SIZE = 64", "SIZE = (64"), encoding="utf-8")
    expect(page.locator(".code-row.faulty .code-number")).to_have_text("8")
    expect(page.locator(".code-row.faulty .code-fault")).to_contain_text("was never closed")
    expect(page.locator(".code-problem")).to_contain_text("program.py, line 8: SyntaxError")
    expect(page.locator(".code-problem")).to_contain_text("The figures are those of version 1.")
    expect(page.locator("#watch.old")).to_be_visible()
    assert cells(page, LINE) == before
    program.write_text(PROGRAM.replace("engine.run(0)", "engine.run(9)"), encoding="utf-8")
    failing = PROGRAM.splitlines().index("    engine.run(0)") + 1
    expect(page.locator(".code-row.faulty .code-number")).to_have_text(str(failing))
    program.write_text(PROGRAM, encoding="utf-8")
    expect(page.locator("#watch-state")).to_have_text("up to date")
    expect(page.locator(".code-row.faulty")).to_have_count(0)
    assert cells(page, LINE) == before


def test_nothing_is_read_again_while_nothing_changes(page: Page) -> None:
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if "/state" in answer.url else None)
    row = page.locator(f"[id='code-row-{LINE - 1}']").element_handle()
    for _ in range(12):  # one every 100 ms, on a machine that is free
        with page.expect_response(re.compile(r"/state\?")):
            pass
    assert len(answers) >= 12
    assert max(len(answer.body()) for answer in answers) <= len(json.dumps({"turn": 1000}))
    assert row is not None
    assert row.evaluate("each => each.isConnected")


def test_keys_and_both_themes(page: Page, program: Path) -> None:
    page.locator(".code-scroll").focus()
    page.keyboard.press("Home")
    page.keyboard.press(".")
    first = PROGRAM.splitlines().index('a = graph.addVariable(FLOAT, [SIZE], "a")') + 1
    expect(page.locator(".code-row.cursor .code-number")).to_have_text(str(first))
    expect(page.locator(".code-live")).to_contain_text(f"Line {first}: Cycles ")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".code-row.cursor .code-number")).to_have_text(str(first + 1))
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_contain_text("Pin this version, or unpin it")
    page.keyboard.press("Escape")
    page.locator(".watch-output summary").click()
    expect(page.locator(".watch-output pre")).to_contain_text("sum 128.0")
    found = violations(page)
    program.write_text(PROGRAM.replace("SIZE = 64", "SIZE = (64"), encoding="utf-8")
    expect(page.locator(".code-row.faulty")).to_be_visible()
    found += violations(page)
    page.keyboard.press("t")
    expect(page.locator("html[data-theme=dark]")).to_have_count(1)
    found += violations(page, rules=["color-contrast"])
    assert found == []


def test_the_end_of_the_command_is_said(chromium: Browser, program: Path) -> None:
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    with watching(program) as opened:
        page.goto(opened.url)
        expect(page.locator("#watch-note")).to_contain_text("Version 1, ")
    expect(page.locator("#watch-state")).to_have_text("popvision watch has ended")
    page.close()
