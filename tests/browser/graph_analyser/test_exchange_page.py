"""The exchange page in a browser: pixels against a picture made here, words against plain SQL, keys, comparison."""

from __future__ import annotations

import base64
import math
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer
from tests.plain_report import PlainProgram, PlainReport, PlainVariable

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

_TOKENS = Path(__file__).parents[3] / "webapp" / "assets" / "shared" / "tokens.css"
TWO = [(0, 1, 64)]
EIGHT = [(t, (3 * t + 1) % 8, 4 * (t + 1)) for t in range(8) if t != (3 * t + 1) % 8] + [(0, 5, 1_000), (7, 2, 60)]
#: The same with one message four bytes larger, one gone and a new one.
CHANGED = [(s, d, b + 4 if (s, d) == (0, 1) else b) for s, d, b in EIGHT if (s, d) != (7, 2)] + [(6, 0, 40)]


def written(folder: Path, messages: list[tuple[int, int, int]], tiles: int) -> None:
    programs = [
        PlainProgram("DoExchange", "layer/<b>copy</b>", 90, messages),
        PlainProgram("OnTileExecute", "layer/work", 50),
        PlainProgram("DoExchange", "small", 70, [(0, 1, 8)]),
    ]
    variables = [PlainVariable("weights", {0: 8}), PlainVariable("temporary", {0: 8}, live=(0, 1))]
    PlainReport(programs, variables, tiles=tiles, label=folder.name).write(folder)


@dataclass
class Viewer:
    base: str
    keys: dict[str, str]
    folder: Path
    page: Page
    problems: list[str]

    def go(self, report: str, query: str = "") -> None:
        open_page(self.page, self.base, f"/r/{self.keys[report]}/exchange{'?' + query if query else ''}")
        self.settle()

    def settle(self) -> None:
        self.page.wait_for_selector('[data-exchange][data-state="complete"]')
        self.page.wait_for_function(
            "() => { const b = popvision.exchange.current;"
            " return b && b.data && b.layer && !b.loop.frame && !b.waiting }"
        )

    def params(self) -> dict[str, str]:
        found: dict[str, str] = self.page.evaluate("() => Object.fromEntries(new URLSearchParams(location.search))")
        return found

    def spoken(self) -> str:
        text: str = self.page.evaluate("() => popvision.exchange.current.spoken.textContent")
        return text

    def cells(self, tiles: int) -> Any:
        """The colour in the middle of every cell of the whole matrix (tiles, tiles, 3)."""
        script = """(n) => {
            const b = popvision.exchange.current;
            b.draw();
            const a = b.area, d = b.canvas.getContext('2d');
            const pixel = (r, c) => d.getImageData(
              Math.floor(a.x + (c + 0.25) * a.width / n), Math.floor(a.y + (r + 0.25) * a.height / n), 1, 1).data;
            let s = '';
            for (let r = 0; r < n; r += 1) for (let c = 0; c < n; c += 1) s += String.fromCharCode(...pixel(r, c));
            return btoa(s); }"""
        raw = base64.b64decode(self.page.evaluate(script, tiles))
        return np.frombuffer(raw, np.uint8).reshape(tiles, tiles, 4)[:, :, :3]


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    folder = tmp_path_factory.mktemp("exchange")
    for name, messages, tiles in (("two", TWO, 2), ("eight", EIGHT, 8), ("changed", CHANGED, 8)):
        written(folder / name, messages, tiles)
    return Viewer(shared.base, shared.show(folder), folder, shared.visit(1300, 820), shared.problems)


def colours(kind: str) -> list[list[int]]:
    """256 colours of a scale of the light theme, mixed here from its seven stops."""
    block = _TOKENS.read_text().split('html[data-theme="light"]')[1].split("}")[0]
    stops = [re.search(rf"--scale-{kind}-{k}: #([0-9a-f]{{6}});", block)[1] for k in range(7)]  # type: ignore[index]
    rgb = [[int(stop[at : at + 2], 16) for at in (0, 2, 4)] for stop in stops]
    found = []
    for level in range(256):
        at = 6 * level / 255
        first = min(5, int(at))
        mixed = [a + (b - a) * (at - first) for a, b in zip(rgb[first], rgb[first + 1], strict=True)]
        found.append([math.floor(channel + 0.5) for channel in mixed])
    return found


def ground() -> list[int]:
    text = _TOKENS.read_text().split('html[data-theme="light"]')[1].split("--sunken: #")[1]
    return [int(text[at : at + 2], 16) for at in (0, 2, 4)]


def picture(messages: list[tuple[int, int, int]], tiles: int, signed: bool = False) -> Any:
    """The golden picture: nothing = the ground, else the logarithmic scale up to the largest cell."""
    dense = np.zeros((tiles, tiles), int)
    for source, destination, size in messages:
        dense[source, destination] += size
    largest, scale = int(np.abs(dense).max()), colours("div" if signed else "seq")
    golden = np.zeros((tiles, tiles, 3), np.uint8)
    for cell in np.ndindex(tiles, tiles):
        value = int(dense[cell])
        part = math.log1p(abs(value)) / math.log1p(largest) if largest else 0
        share = 0.5 + 0.5 * part * (1 if value > 0 else -1) if signed else 0.14 + 0.86 * part
        golden[cell] = scale[math.floor(255 * share + 0.5)] if value else ground()
    return golden


@pytest.mark.parametrize(
    ("report", "messages", "tiles"), [("two", TWO, 2), ("eight", EIGHT, 8), ("changed", CHANGED, 8)]
)
def test_every_cell_has_its_colour(viewer: Viewer, report: str, messages: Any, tiles: int) -> None:
    viewer.go(report)
    assert np.array_equal(viewer.cells(tiles), picture(messages, tiles))
    assert not np.array_equal(picture(EIGHT, 8), picture(CHANGED, 8))


def test_the_headline_is_that_of_the_database(viewer: Viewer) -> None:
    viewer.go("eight")
    viewer.page.wait_for_selector("#xch-headline .headline-figure")
    text = viewer.page.inner_text("#xch-headline")
    with sqlite3.connect(viewer.folder / "eight" / "profile.pop") as db:
        query = "select id from steps where program = (select id from programs where name like 'layer/<b>%')"
        ((step,),) = db.execute(query).fetchall()
        ((received, cycles),) = db.execute(
            "select sum(data_in), max(cycles) from steps_by_ipu where step_id = ?", (step,)
        ).fetchall()
    assert received == sum(size for *_, size in EIGHT)
    assert viewer.page.locator("#xch-headline [title*='B']").first.inner_text()
    assert f"{cycles}" in text
    assert "layer/<b>copy</b>" in text
    assert f"{received:,} B" in viewer.page.locator("#xch-headline").inner_html()


def test_the_cursor_says_what_the_table_says(viewer: Viewer) -> None:
    viewer.go("eight", "xch_tab=pairs")
    rows = viewer.page.locator("#xch-tab-pairs .ag-center-cols-container .ag-row")
    expect(rows.first.locator(".ag-cell").nth(4)).to_have_text("1,000 B")
    source, destination, _, _, size, _ = [text.strip() for text in rows.first.locator(".ag-cell").all_inner_texts()]
    assert (source, destination, size) == ("0", "5", "1,000 B")
    viewer.go("eight", f"tiles={source}&xch_to={int(destination) - 1}&xch_tab=pairs")
    viewer.page.focus("#xch-board")
    viewer.page.keyboard.press("ArrowRight")
    viewer.settle()
    assert viewer.spoken() == "1,000 B, from tile 0, to tile 5"
    assert viewer.params() == {"tiles": "0", "xch_to": "5", "xch_tab": "pairs"}


def test_keys_zoom_and_the_address_keeps_the_window(viewer: Viewer) -> None:
    viewer.go("eight", "tiles=0&xch_to=5")
    viewer.page.focus("#xch-board")
    viewer.page.keyboard.press("w")
    viewer.page.wait_for_function("() => new URLSearchParams(location.search).has('xch_at')")
    before = viewer.page.evaluate("() => popvision.exchange.current.view")
    viewer.go("eight", "&".join(f"{name}={value}" for name, value in viewer.params().items()))
    after = viewer.page.evaluate("() => popvision.exchange.current.view")
    assert all(abs(before[name] - after[name]) < 0.006 for name in before)
    viewer.page.keyboard.press("0")
    viewer.page.wait_for_function("() => !new URLSearchParams(location.search).has('xch_at')")


@pytest.mark.parametrize(
    ("address", "window"),
    [
        ("0-99999.200-400", {"x0": 0, "x1": 8, "y0": 2, "y1": 4}),  # clipped to the tiles
        ("90000-99999.200-400", {"x0": 0, "x1": 8, "y0": 0, "y1": 8}),  # beyond them
        ("400-400.0-800", {"x0": 0, "x1": 8, "y0": 0, "y1": 8}),  # empty
    ],
)
def test_a_window_in_the_address_is_clipped_to_the_tiles(viewer: Viewer, address: str, window: dict[str, int]) -> None:
    viewer.go("eight", f"xch_at={address}")
    assert viewer.page.evaluate("() => popvision.exchange.current.view") == window


def test_a_word_of_the_language_in_the_address_names_no_drawing(viewer: Viewer) -> None:
    viewer.go("eight", "xch_view=constructor&xch_show=toString")
    assert viewer.page.evaluate("() => popvision.exchange.current.layer.name") == "matrix"
    assert viewer.page.evaluate("() => popvision.exchange.current.quantity") == "received"


def test_floor_plan_and_plot_by_tile(viewer: Viewer) -> None:
    viewer.go("eight", "xch_view=plan&tiles=0")
    expect(viewer.page.locator("#xch-note")).to_contain_text("guess")
    viewer.page.focus("#xch-board")
    assert "Sent 1,004 B" in viewer.spoken()
    assert "Sends to 2 tiles" in viewer.spoken()
    viewer.go("eight", "xch_view=tiles&xch_unit=cycles&tiles=5&xch_tab=tile")
    assert "own bytes take 255 cycles" in viewer.spoken()  # 1,000 B from tile 0 and 20 B from tile 4, 4 B a cycle
    viewer.page.wait_for_selector("#xch-tab-tile .facts-list")
    expect(viewer.page.locator("#xch-tab-tile")).to_contain_text("1,020 B")


def test_values_are_measured_from_the_mark(viewer: Viewer) -> None:
    page, measured = viewer.page, viewer.page.locator(".exchange-measured")
    sizes = {(source, destination): size for source, destination, size in EIGHT}
    viewer.go("eight", "tiles=0&xch_to=5")
    page.focus("#xch-board")
    page.keyboard.press("m")
    page.wait_for_function("() => new URLSearchParams(location.search).get('xch_mark') === '0-5'")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => new URLSearchParams(location.search).get('xch_to') === '4'")
    viewer.settle()
    change = sizes.get((0, 4), 0) - sizes[0, 5]
    assert measured.inner_text() == f"From the mark at tile 0 to tile 5, \u2212{-change:,} B"
    assert viewer.spoken().endswith(measured.inner_text())
    viewer.go("eight", "xch_view=tiles&tiles=7&xch_mark=0")
    sent = [sum(size for (source, _), size in sizes.items() if source == tile) for tile in (0, 7)]
    assert f"Sent (a multicast once) \u2212{sent[0] - sent[1]:,} B" in measured.inner_text()
    page.focus("#xch-board")
    for state in ("tiles", "xch_mark"):
        page.keyboard.press("Escape")
        page.wait_for_function(f"() => !new URLSearchParams(location.search).has('{state}')")
    viewer.go("eight", "tiles=2&xch_mark=99-1")  # no such tile: no mark
    assert measured.is_hidden()


def test_a_row_chooses_the_program(viewer: Viewer) -> None:
    viewer.go("eight")
    row = viewer.page.locator("#xch-tab-programs .ag-center-cols-container .ag-row", has_text="small")
    row.click()
    viewer.page.wait_for_function("() => new URLSearchParams(location.search).get('program') === '3'")
    viewer.settle()
    assert np.array_equal(viewer.cells(8), picture([(0, 1, 8)], 8))


def test_differences(viewer: Viewer) -> None:
    viewer.go("eight", f"vs={viewer.keys['eight']}")
    assert np.array_equal(viewer.cells(8), picture([], 8, signed=True))
    viewer.go("eight", f"vs={viewer.keys['changed']}&tiles=7&xch_to=2&xch_tab=pairs")
    planted = [(0, 1, 4), (7, 2, -60), (6, 0, 40)]
    assert np.array_equal(viewer.cells(8)[:7], picture(planted, 8, signed=True)[:7])  # the cursor lies on row 7
    assert viewer.spoken() == "\u221260 B, from tile 7, to tile 2"
    rows = viewer.page.locator("#xch-tab-pairs .ag-center-cols-container .ag-row")
    expect(rows).to_have_count(3)
