"""Hostile names, damaged files, uploads, exported files and the token, as a browser sees them."""

from __future__ import annotations

import csv
import dataclasses
import io
import sqlite3
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from popvision.formats.debug_info import DebugInfo, SourceText, write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.frame import PATIENCE
from tests.browser.shared_viewer import SharedViewer
from tests.browser.shell_pages import Viewer, sql
from tests.browser.visit_pages import serve
from tests.reports import i8, tiny_compilation, tiny_run, write_tiny
from webapp.base.access import Access

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

MARKUP = "<script>window.bad=1</script>"
PICTURE = '"><img src=x onerror=window.bad=1>'
STYLE = f"</style></textarea></title>{MARKUP}"
TURNED = f"\u202e\u2067abc\u200f\u2028{MARKUP}"
BROKEN_UP = f"{MARKUP}\x00\r\n\t\x1b[31m\x9f end"
LONG = MARKUP + "y" * 10_000
VIEWS = ("overview", "summary", "memory", "liveness", "program_tree", "source", "operations", "execution", "exchange")
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
    meta = found.meta | {"engineOptions": {name: name for name in FORMULAS}}
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, meta=meta))
        writer.append_run(tiny_run())
    contexts = [DebugInfo(2, (), "poplibs", "matMul", {"k": 4}, {}, "/w/train.py", 3)]
    write_debug_info(folder, contexts, "tiny-run", sources=[SourceText("/w/train.py", "a\nb\nsecret = 1\n")])


#: Option -> value as they are, and as a CSV file has them.
FORMULAS = {"=cmd()": "'=cmd()", "+1": "'+1", "-2": "'-2", "@SUM(1)": "'@SUM(1)", "\tx": "'\tx", "a=b": "a=b"}


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
def viewer(shared: SharedViewer, folder: Path) -> Viewer:
    return Viewer(shared, folder, uploads=True)


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


@pytest.mark.parametrize("damage", ["flipped", "truncated"])
def test_what_is_left_of_a_damaged_report_is_right(viewer: Viewer, folder: Path, damage: str) -> None:
    said = {"flipped": "1 of 2 arrays of program_by_ipu.cycles_array are damaged", "truncated": "run 0 of 1 lost"}
    page = viewer.open("whole", "memory")
    whole = page.locator(".figure-value, .stat-value").all_inner_texts()
    assert page.locator(".damage").count() == 0
    page = viewer.open(damage, "memory")
    expect(page.locator(".damage")).to_contain_text("This report is damaged. Only data with correct checksums is shown")
    expect(page.locator(".damage")).to_contain_text(said[damage])
    assert set(page.locator(".figure-value, .stat-value").all_inner_texts()) <= {*whole, "–"}
    used = sql(folder / "whole", "select sum(excluding_gaps), max(excluding_gaps) from memory_by_tile")
    expect(page.locator("#page")).to_contain_text(f"Memory in use{used[0]} B")
    expect(page.locator("#page")).to_contain_text(f"Fullest tile{used[1]} B")
    page = viewer.open(damage, "program_tree", "program=1&pt_tab=estimates")
    expect(page.locator("#page")).to_contain_text("damaged")
    assert "1020" not in page.inner_text("#page")


def test_a_saved_table_holds_no_formula(viewer: Viewer) -> None:
    page = viewer.open("named", "summary")
    table = page.locator(".table", has_text="@SUM(1)")
    with page.expect_download() as download:
        table.locator("[data-export=csv]").click()
    rows = list(csv.reader(download.value.path().open(newline="")))
    assert {tuple(row) for row in rows[1:]} == {(safe, safe) for safe in FORMULAS.values()}
    runs = page.locator(".table", has_text="complete")
    with page.expect_download() as download:
        runs.locator("[data-export=csv]").click()
    assert ",43,43," in download.value.path().read_text()


def zipped(folder: Path, name: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{name}/profile.pop", (folder / "profile.pop").read_bytes())
    return made.getvalue()


def choose(viewer: Viewer, *named: tuple[str, bytes]) -> None:
    with viewer.page.expect_file_chooser() as chooser:
        viewer.page.get_by_role("button", name="Choose files").click()
    files: list[FilePayload] = [{"name": name, "mimeType": "application/zip", "buffer": each} for name, each in named]
    chooser.value.set_files(files)


def test_an_uploaded_archive_opens(viewer: Viewer, folder: Path) -> None:
    page = viewer.go("/")
    choose(viewer, ("from elsewhere.zip", zipped(folder / "whole", "run7")))
    page.wait_for_url("**/overview")
    cycles = sql(folder / "whole", "select sum(cycles) from runs")[0]
    expect(page.locator(".overview-line").first).to_contain_text(f"{cycles:,} cycles")
    viewer.go("/")
    expect(page.locator("a.card-name", has_text="run7")).to_be_visible()


def test_of_several_archives_the_list_shows_all(viewer: Viewer, folder: Path) -> None:
    page = viewer.go("/")
    choose(viewer, *((f"{name}.zip", zipped(folder / "whole", name)) for name in ("run8", "run9")))
    for name in ("run8", "run9"):
        expect(page.locator("a.card-name", has_text=name)).to_be_visible()
    assert page.url == f"{viewer.base}/"


def test_an_archive_that_leads_out_is_refused(viewer: Viewer, folder: Path) -> None:
    page = viewer.go("/")
    before = page.locator("a.card-name").count()
    choose(viewer, ("<b>evil.zip", zipped(folder / "whole", "../../out")))
    status = page.locator("[data-upload-status]")
    expect(status).to_contain_text("<b>evil.zip was not accepted: the archive holds")
    assert page.url == f"{viewer.base}/"
    assert viewer.go("/").locator("a.card-name").count() == before
    refused = [each for each in viewer.problems if "422" in each]
    assert len(refused) == len(viewer.problems) > 0
    viewer.problems.clear()


@pytest.mark.parametrize("confidential", [False, True])
def test_an_exported_view_opens_without_a_network(
    viewer: Viewer, chromium: Browser, folder: Path, tmp_path: Path, confidential: bool
) -> None:
    page = viewer.open("named", "memory", "tiles=0")
    with page.expect_download() as download:
        page.locator("a[data-export-page]").click(modifiers=["Shift"] if confidential else [])
    path = tmp_path / "page.html"
    download.value.save_as(path)
    context = chromium.new_context(offline=True, accept_downloads=False)
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda problem: asked.append(str(problem)))
    opened.on("console", lambda message: asked.append(message.text))
    opened.goto(path.as_uri())
    opened.locator("th button").first.click()
    opened.get_by_role("button", name="Light or dark").click()
    assert [each for each in asked if not each.startswith("data:")] == [path.as_uri()]
    fullest = sql(folder / "named", "select max(excluding_gaps) from memory_by_tile")[0]
    expect(opened.locator("main")).to_contain_text(f"Fullest tile{fullest} B")
    text = path.read_text("utf-8")
    for name in ("weights", "temporary", "named", "secret", "train.py"):
        assert (name in text) is (not confidential and name in ("weights", "temporary", "named"))
    context.close()


def test_a_hostile_report_exported(viewer: Viewer, shared: SharedViewer, tmp_path: Path) -> None:
    page = viewer.open(FOLDER, "program_tree", "program=1")
    with page.expect_download() as download:
        page.locator("a[data-export-page]").click()
    download.value.save_as(tmp_path / "page.html")
    opened = shared.another_page(1400, 900)
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.goto((tmp_path / "page.html").as_uri())
    assert opened.evaluate("window.bad") is None
    assert MARKUP in opened.inner_text("main")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 1400
    assert problems == []
    opened.close()


def test_the_first_visit_trades_the_token_for_a_cookie(chromium: Browser, folder: Path) -> None:
    access = Access()
    base, library = serve(folder, access)
    key = next(each.key for each in library.entries() if each.path.name == "named")
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    answer = page.goto(f"{base}/r/{key}/memory?tiles=0")
    assert answer is not None
    assert answer.status == 401
    assert "needs the token" in page.inner_text("body")
    page.goto(f"{base}/r/{key}/memory?tiles=0&token={access.token}")
    expect(page.locator("#page")).to_contain_text("Fullest tile")
    assert page.url == f"{base}/r/{key}/memory?tiles=0"
    cookie = next(each for each in context.cookies() if each["name"] == access.cookie)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert access.token not in page.evaluate("document.cookie + document.documentElement.outerHTML + location.href")
    context.close()
