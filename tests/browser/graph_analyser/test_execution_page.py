"""The execution trace in a browser: pixels against a reference raster, figures against plain SQL, controls."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.execution_pages import IPUS, TILES, Opened, opened, reference, rgb
from tests.browser.frame import frames
from tests.browser.shared_viewer import SharedViewer
from webapp.base import bar_answer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(shared, tmp_path_factory.mktemp("execution"))


def check_picture(viewer: Opened, theme: str = "light") -> None:
    """Every visible pixel of every IPU's picture of tiles."""
    view = viewer.view()
    for band in view["bands"]:
        assert band["rows"] == TILES
        top = view["top"] + band["tilesTop"] - view["scroll"]
        height = min(band["tilesHeight"], 800)
        drawn = viewer.pixels(view["gutter"], top, view["width"], height)
        expected = reference(viewer.cells(band["ipu"]), view, band["rows"], theme)
        middles = [int((row + 0.5) * band["tilesHeight"] / band["rows"]) for row in range(band["rows"])]
        visible = [row for row, y in enumerate(middles) if top + y < viewer.view_height()]
        assert len(visible) > TILES / 2
        shown = drawn[[middles[row] for row in visible]]
        assert np.array_equal(shown, expected[visible])


def test_pixels_of_everything_equal_the_reference(viewer: Opened) -> None:
    viewer.go("ipu=0")
    check_picture(viewer)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_class_covers_its_share_of_the_picture_and_no_colours_are_mixed(viewer: Opened, theme: str) -> None:
    viewer.go("ipu=0")
    if theme == "dark":
        viewer.page.keyboard.press("t")
        viewer.settle()
    view, total = viewer.view(), viewer.sql("SELECT sum(cycles) FROM runs")[0]
    band = view["bands"][0]
    top = view["top"] + band["tilesTop"] - view["scroll"]
    drawn = viewer.pixels(view["gutter"], top, view["width"], min(band["tilesHeight"], 400)).reshape(-1, 3)
    colours = [rgb(f"step-{name}-fill", theme) for name in ("compute", "exchange", "global", "host", "wait", "sync")]
    of_class = [np.count_nonzero((drawn == colour).all(axis=1)) / len(drawn) for colour in colours]
    empty = np.count_nonzero((drawn == rgb("sunken", theme)).all(axis=1)) / len(drawn)
    assert sum(of_class) + empty == pytest.approx(1)
    cycles = [0] * 6
    for kind, _, begin, end in viewer.cells(0):
        cycles[kind] += end - begin
    assert of_class == pytest.approx([each / TILES / total for each in cycles], abs=0.02)
    if theme == "dark":
        viewer.page.keyboard.press("t")


def test_no_block_is_asked_for_twice(viewer: Opened) -> None:
    viewer.page.goto("about:blank")
    viewer.go("ipu=0")
    asked = viewer.page.evaluate(
        "() => performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/bsp?'))"
    )
    assert asked
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("ipu", range(IPUS))
def test_pixels_of_a_window_equal_the_reference(viewer: Opened, ipu: int) -> None:
    viewer.go(f"ipu={ipu}&from=40000&to=61000")
    check_picture(viewer)


def test_pixels_after_keys_equal_the_reference(viewer: Opened) -> None:
    viewer.go("ipu=0")
    for key in ("+", "w", "+", "d", "d", "a", "s"):
        viewer.page.keyboard.press(key)
    viewer.settle()
    assert viewer.view()["percent"] > 150
    check_picture(viewer)


def test_theme_recolours_the_picture(viewer: Opened) -> None:
    viewer.go("ipu=1&from=40000&to=61000")
    viewer.page.keyboard.press("t")
    viewer.settle()
    check_picture(viewer, "dark")
    viewer.page.keyboard.press("t")


def test_total_and_shares_equal_sql(viewer: Opened) -> None:
    viewer.go()
    total = viewer.sql("SELECT sum(cycles) FROM runs")[0]
    steps = viewer.sql("SELECT count(*) FROM steps")[0]
    head = viewer.page.locator(".trace-head")
    expect(head).to_contain_text(f"{total:,}")
    expect(head).to_contain_text(f"{steps:,}")
    for ipu in range(IPUS):
        useful, compute = viewer.sql(
            "SELECT sum(CASE WHEN t.name IN ('OnTileExecute','DoExchange','GlobalExchange','StreamCopyMid')"
            " THEN b.tile_cycles ELSE 0 END), sum(CASE WHEN t.name = 'OnTileExecute' THEN b.tile_cycles ELSE 0 END)"
            " FROM steps_by_ipu b JOIN steps s ON s.id = b.step_id JOIN program_types t ON t.name = s.type"
            f" WHERE b.ipu = {ipu}"
        )[0]
        row = viewer.page.locator(".trace-table tbody tr").nth(ipu)
        expect(row).to_contain_text(f"{100 * useful / (TILES * total):.2f} %", use_inner_text=True)
        expect(row).to_contain_text(f"compute {100 * compute / (TILES * total):.2f} %", use_inner_text=True)


def test_figures_are_exported_as_shown(viewer: Opened) -> None:
    viewer.go("from=20000&to=30000")
    link = viewer.page.locator('.trace-head a[href*=".json"]').get_attribute("href")
    rows = viewer.page.evaluate("async href => (await fetch(href)).json()", link)
    assert [row["ipu"] for row in rows] == list(range(IPUS))
    for row in rows:
        cycles = [0] * 6
        for kind, _, begin, end in viewer.cells(row["ipu"]):
            cycles[kind] += max(0, min(end, 30_000) - max(begin, 20_000))
        assert (row["length"], row["tiles"]) == (10_000, TILES)
        assert row["compute tile cycles"] == cycles[0]
        assert row["exchange tile cycles"] == cycles[1]
        assert sum(row[name] for name in row if name.endswith("tile cycles")) == TILES * 10_000


def test_keys_move_zoom_and_write_the_address(viewer: Opened) -> None:
    viewer.go("ipu=0")
    assert "from" not in viewer.params()
    viewer.page.evaluate(
        # In one go: on a busy machine the key that Playwright presses may be released so late that it counts as held.
        "key => { for (const kind of ['keydown', 'keyup'])"
        " document.body.dispatchEvent(new KeyboardEvent(kind, { key, bubbles: true, cancelable: true })); }",
        "+",
    )
    viewer.settle()
    zoomed = viewer.view()
    assert zoomed["percent"] == pytest.approx(130, rel=0.01)
    assert int(viewer.params()["from"]) == int(zoomed["from"])
    viewer.page.keyboard.press("Home")
    viewer.settle()
    assert viewer.params()["from"] == "0"
    viewer.page.keyboard.press("PageDown")
    viewer.settle()
    assert int(viewer.params()["from"]) > 0
    viewer.page.keyboard.press("f")
    viewer.settle()
    assert "from" not in viewer.params()
    assert viewer.view()["percent"] == 100


def test_a_held_key_moves_until_released(viewer: Opened) -> None:
    viewer.go("ipu=0&from=0&to=8000")
    viewer.page.keyboard.down("d")
    viewer.page.wait_for_function(
        "() => { const v = popvision.execution.current.viewport; return v.first >= 0.4 * v.width; }"
    )
    viewer.page.keyboard.up("d")
    viewer.settle()
    reached = viewer.view()["first"]
    assert reached > 0.3 * viewer.view()["width"]
    frames(viewer.page, 12)
    assert viewer.view()["first"] == reached


def test_typed_zoom(viewer: Opened) -> None:
    viewer.go("ipu=0")
    box = viewer.page.get_by_label("Zoom in percent")
    box.fill("400%")
    box.press("Enter")
    viewer.settle()
    assert viewer.view()["percent"] == pytest.approx(400, rel=0.01)
    expect(box).to_have_value("400 %")


def test_wheel_zooms_at_the_pointer(viewer: Opened) -> None:
    viewer.go("ipu=0")
    box = viewer.page.locator(".trace canvas").bounding_box()
    assert box is not None
    view = viewer.view()
    x = 400
    before = (view["first"] + x) * view["pitch"] / 1024
    viewer.page.mouse.move(box["x"] + view["gutter"] + x, box["y"] + 200)
    viewer.page.mouse.wheel(0, -600)
    viewer.page.wait_for_function("() => popvision.execution.current.viewport.percent > 200")
    viewer.settle()
    view = viewer.view()
    assert (view["first"] + x) * view["pitch"] / 1024 == pytest.approx(before, abs=2 * view["pitch"] / 1024)


def test_next_step_is_selected_and_described(viewer: Opened) -> None:
    viewer.go("ipu=1&step=40&detail=details")
    viewer.page.keyboard.press("n")
    viewer.settle()
    assert viewer.params()["step"] == "41"
    begin, end, active = viewer.sql(
        "SELECT cycles_base + all_cycles_from_max, cycles_base + all_cycles_to_max, active_tiles"
        " FROM steps_by_ipu WHERE step_id = 41 AND ipu = 1"
    )[0]
    facts = viewer.page.locator(".trace-facts")
    facts.get_by_text("step 41 ").wait_for()
    text = facts.inner_text()
    for number in (begin, end, end - begin):
        assert f"{number:,}" in text
    assert f"{active} of {TILES}" in text
    cycles = viewer.array(viewer.sql("SELECT cycles_array FROM steps_by_ipu WHERE step_id = 41 AND ipu = 1")[0])
    busy = [each for each in cycles if each]
    assert f"{np.mean(busy):,.1f}" in text
    assert f"{np.std(busy):,.1f}" in text
    view = viewer.view()
    assert view["from"] <= begin
    assert end <= view["to"]
    viewer.page.keyboard.press("Escape")
    viewer.settle()
    assert "step" not in viewer.params()


def test_a_click_selects_the_bar_and_its_window_figures(viewer: Opened) -> None:
    viewer.go("ipu=0&mode=flat&from=40000&to=44000")
    view = viewer.view()
    step, begin, end = viewer.sql(
        "SELECT step_id, cycles_base + all_cycles_from_max b, cycles_base + all_cycles_to_max e FROM steps_by_ipu"
        " WHERE ipu = 0 AND b > 40000 AND e < 44000 ORDER BY e - b DESC"
    )[0]
    box = viewer.page.locator(".trace canvas").bounding_box()
    assert box is not None
    x = (begin + end) / 2 * 1024 / view["pitch"] - view["first"]
    y = view["top"] + view["bands"][0]["top"] + 1.5 * view["row"]
    viewer.page.mouse.click(box["x"] + view["gutter"] + x, box["y"] + y)
    viewer.settle()
    assert viewer.params()["step"] == str(step)
    viewer.page.locator(".trace-head", has_text=f"{end - begin:,}").wait_for()


def test_a_click_in_the_tiles_only_selects_and_back_undoes_zooms(viewer: Opened) -> None:
    viewer.go("ipu=0")
    view = viewer.view()
    band = view["bands"][0]
    tile = TILES // 2
    pixels = Counter[tuple[int, int]]()  # (pixel, row of the step) of this tile: its cycles there
    cells = viewer.cells(0)
    for row, (_, of_tile, begin, end) in enumerate(cells):
        for x in range(begin * 1024 // view["pitch"], (end * 1024 - 1) // view["pitch"] + 1) if of_tile == tile else ():
            left, right = x * view["pitch"] // 1024, -(-(x + 1) * view["pitch"] // 1024)
            pixels[x, row] += min(end, right) - max(begin, left)
    crowded = Counter(x for x, _ in pixels).most_common(1)[0][0]
    most = max(cycles for (x, _), cycles in pixels.items() if x == crowded)
    spans = [cells[row][2:] for (x, row), cycles in pixels.items() if x == crowded and cycles == most]
    box = viewer.page.locator(".trace canvas").bounding_box()
    assert box is not None
    y = box["y"] + view["top"] + band["tilesTop"] + (tile + 0.5) * band["tilesHeight"] / TILES
    place = box["x"] + view["gutter"] + crowded + 0.5, y
    viewer.page.mouse.click(*place)
    viewer.page.wait_for_function("() => new URLSearchParams(location.search).has('step')")
    viewer.settle()
    assert viewer.view()["percent"] == 100
    assert not {"from", "to"} & set(viewer.params())
    step = viewer.params()["step"]
    begin, end = viewer.page.evaluate(
        "async ([step, tile]) => { const f = await (await fetch(`/data/${popvision.execution.current.facts.key}"
        "/execution/step?ipu=0&step=${step}&tile=${tile}`)).json();"
        " return [f.tile_begin, f.tile_begin + f.tile_cycles]; }",
        [step, tile],
    )
    assert (begin, end) in spans
    viewer.page.mouse.dblclick(*place)
    viewer.page.wait_for_function("() => new URLSearchParams(location.search).has('from')")
    viewer.settle()
    view = viewer.view()
    assert view["percent"] > 100
    assert view["from"] <= begin < end <= view["to"]
    viewer.page.go_back()
    viewer.page.wait_for_function("() => !new URLSearchParams(location.search).has('from')")
    viewer.settle()
    assert viewer.view()["percent"] == 100
    assert viewer.params()["step"] == step


def test_shift_drag_selects_a_window(viewer: Opened) -> None:
    viewer.go("ipu=0")
    view = viewer.view()
    box = viewer.page.locator(".trace canvas").bounding_box()
    assert box is not None
    y = box["y"] + view["top"] + 150
    viewer.page.keyboard.down("Shift")
    viewer.page.mouse.move(box["x"] + view["gutter"] + 100, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(box["x"] + view["gutter"] + 300, y, steps=4)
    viewer.page.mouse.up()
    viewer.page.keyboard.up("Shift")
    viewer.settle()
    begin, end = (int(each) for each in viewer.params()["sel"].split("-"))
    assert begin == 100 * view["pitch"] // 1024
    assert end == -(-300 * view["pitch"] // 1024)
    viewer.page.locator(".trace-head", has_text=f"{end - begin:,}").wait_for()


def test_search_counts_and_cycles_through_matches(viewer: Opened) -> None:
    viewer.go("ipu=0")
    matches = viewer.sql(
        "SELECT s.id FROM steps s JOIN programs p ON p.id = s.program WHERE p.name LIKE '%softmax%' ORDER BY s.id"
    )
    assert matches
    box = viewer.page.locator('.search[data-param="find"] input')
    box.fill("SoftMax")
    viewer.page.locator(".trace-matches", has_text=f"{len(matches):,} matches").wait_for()
    box.press("Enter")
    viewer.settle()
    assert viewer.params()["step"] == str(matches[0])
    box.press("Enter")
    viewer.settle()
    assert viewer.params()["step"] == str(matches[1])


def test_steps_of_the_window_and_their_export(viewer: Opened) -> None:
    viewer.go("ipu=0&from=20000&to=30000&detail=steps")
    expected = viewer.sql(
        "SELECT step_id FROM steps_by_ipu WHERE ipu = 0 AND"
        " ((cycles_base + active_cycles_from_min < 30000 AND cycles_base + active_cycles_to_max > 20000)"
        " OR (cycles_base + all_cycles_from_max < 30000 AND cycles_base + all_cycles_to_max > 20000)) ORDER BY 1"
    )
    viewer.page.locator(".trace-steps .ag-row").first.wait_for()
    link = viewer.page.locator('.trace-steps a[href*=".csv"]').first.get_attribute("href")
    text = viewer.page.evaluate("async href => (await fetch(href)).text()", link)
    rows = text.strip().splitlines()
    assert [int(row.split(",")[0]) for row in rows[1:]] == expected


def test_a_row_of_the_steps_selects_its_step(viewer: Opened) -> None:
    viewer.go("ipu=0&from=20000&to=30000&detail=steps")
    rows = viewer.page.locator(".trace-steps .ag-center-cols-container .ag-row")
    expect(rows.nth(2).locator(".ag-cell").first).to_have_text(re.compile(r"^\d+$"))
    hint = viewer.page.get_by_role("button", name="Got it")
    if hint.is_visible():
        hint.click()  # the hint of the first visit takes a line of the table
        hint.wait_for(state="hidden")
    count = viewer.page.locator(".trace-steps .row-count")
    expect(count).to_have_text(re.compile(r"^\d+ rows$"))
    all_rows = count.inner_text()
    first, second = (int(rows.nth(place).locator(".ag-cell").first.inner_text()) for place in (1, 2))
    rows.nth(1).locator(".ag-cell").first.click()
    viewer.page.wait_for_function("step => (popvision.execution.current.selected || {}).step === step", arg=first)
    assert viewer.params() | {"step": str(first), "from": "20000", "to": "30000"} == viewer.params()
    viewer.page.keyboard.press("ArrowDown")
    viewer.page.keyboard.press("Enter")
    viewer.page.wait_for_function("step => popvision.execution.current.selected.step === step", arg=second)
    assert viewer.params()["step"] == str(second)
    focused = "() => document.activeElement.closest('.trace-steps .ag-row').getAttribute('row-index')"
    assert viewer.page.evaluate(focused) == "2"
    expect(count).to_have_text(all_rows)  # the rows of the window stay
    viewer.page.get_by_role("tab", name="Details").click()
    viewer.page.locator(".trace-facts .where", has_text=f"step {second} ").wait_for()


def test_the_tiles_that_end_last_are_listed(viewer: Opened) -> None:
    step, base, start, cycles = viewer.sql(
        "SELECT step_id, cycles_base, start_array, cycles_array FROM steps_by_ipu b JOIN steps s ON s.id = b.step_id"
        " WHERE ipu = 0 AND active_tiles > 1 AND s.type = 'OnTileExecute' ORDER BY step_id"
    )[0]
    ends = [
        begin + spent if spent else -1 for begin, spent in zip(viewer.array(start), viewer.array(cycles), strict=True)
    ]
    last = [tile for tile, end in enumerate(ends) if end == max(ends)]
    viewer.go(f"ipu=0&step={step}&detail=details&from=0&to=90000")
    viewer.page.locator(".trace-facts .where").get_by_role("link", name="last to end: tile").click()
    viewer.page.locator(".trace-tiles .row-count", has_text=re.compile(rf"^{len(last)} rows?$")).wait_for()
    assert viewer.params() | {"among": "last", "step": str(step), "to": "90000"} == viewer.params()
    rows = viewer.page.locator(".trace-tiles .ag-center-cols-container .ag-row")
    for place, tile in enumerate(last):
        expect(rows.nth(place).locator(".ag-cell").first).to_have_text(str(tile))
    expect(rows.first.locator('[col-id="end"]')).to_have_text(f"{base + max(ends):,}")
    viewer.page.get_by_role("radio", name="All 24 tiles").click()
    viewer.page.locator(".trace-tiles .row-count", has_text="24 rows").wait_for()


def test_steps_and_details_name_both_means(viewer: Opened) -> None:
    step, total, active = viewer.sql(
        "SELECT step_id, tile_cycles, active_tiles FROM steps_by_ipu WHERE ipu = 0 AND active_tiles > 0"
        " AND step_id > 10 ORDER BY step_id"
    )[0]
    viewer.go(f"ipu=0&step={step}&detail=details")
    facts = viewer.page.locator(".trace-facts dl")
    facts.wait_for()
    shown = dict(zip(facts.locator("dt").all_inner_texts(), facts.locator("dd").all_inner_texts(), strict=True))
    expected = {"Mean of all tiles": f"{total / 24:,.2f}", "Mean of active tiles": f"{total / active:,.2f}"}
    assert shown | expected == shown
    viewer.page.get_by_role("tab", name="Steps").click()
    row = viewer.page.locator(
        ".trace-steps .ag-center-cols-container .ag-row",
        has=viewer.page.locator('[col-id="step"]', has_text=re.compile(rf"^{step}$")),
    )
    row.first.wait_for()
    cells = [row.locator(f'[col-id="{field}"]').inner_text() for field in ("mean_cycles", "active_mean_cycles")]
    assert cells == list(expected.values())
    viewer.page.locator(".trace-steps-head .help summary").click()
    viewer.page.locator(".trace-steps-head .popover-box", has_text="Max and the means may exceed Cycles").wait_for()


def test_views_of_bars_and_tiles(viewer: Opened) -> None:
    viewer.go("ipu=0&from=40000&to=44000")
    flame = viewer.view()["bands"][0]["bars"]
    viewer.page.get_by_role("radio", name="Flat").click()
    viewer.settle()
    assert viewer.view()["bands"][0]["bars"] == 2 * viewer.view()["row"] < flame
    viewer.page.get_by_role("switch", name="BSP").click()
    viewer.settle()
    assert viewer.view()["bands"][0]["tilesHeight"] == 0
    assert viewer.params() | {"mode": "flat", "bsp": "0"} == viewer.params()


def test_bad_queries_get_one_sentence(viewer: Opened) -> None:
    for query, word in (
        ("bsp?ipu=0&pitch=x&first=0&columns=4&rows=4", "pitch='x'"),
        ("bsp?ipu=9&pitch=1&first=0&columns=4&rows=4", "IPU 9"),
        ("bsp?ipu=0&pitch=1&first=0&columns=4&rows=400", "rows='400'"),
        ("bars?ipu=0&pitch=9007199254740992&first=9007199254740992&columns=1", "longest time"),
        ("step?ipu=0&step=99999999", "step 99999999"),
    ):
        with viewer.page.expect_console_message(lambda said: "status of 400" in said.text):
            status, text = viewer.page.evaluate(
                "async address => { const r = await fetch(address); return [r.status, await r.text()]; }",
                f"/data/{viewer.key}/execution/{query}",
            )
        assert status == 400
        assert word in text
    assert all("400" in problem for problem in viewer.problems)
    viewer.problems.clear()


def test_drawing_is_saved_as_png(viewer: Opened) -> None:
    viewer.go("ipu=0")
    with viewer.page.expect_download() as download:
        viewer.page.get_by_label("Save the drawing as PNG").click()
    assert download.value.suggested_filename == "execution-trace.png"
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_coarser_picture_says_so(viewer: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    note = viewer.page.locator(".trace-coarse")
    viewer.go("ipu=0&from=1000&to=90000")
    assert note.is_hidden()
    monkeypatch.setattr(bar_answer, "MOST_BYTES", 4_000)
    viewer.go("ipu=0&from=1100&to=90000")  # another window: answers are kept by address
    assert re.fullmatch(r"Too many bars: merged in columns \d+ pixels wide\. .*", note.inner_text())
    assert note.inner_text() in viewer.page.evaluate("() => popvision.execution.svg(popvision.execution.current)")


def test_tabs_of_a_selected_step_say_so_and_count_everything_on_demand(viewer: Opened) -> None:
    total = viewer.sql("SELECT sum(cycles) FROM runs")[0]
    for detail in ("summary", "aggregate"):
        viewer.go(f"ipu=0&step=40&detail={detail}")
        note = viewer.page.locator(".trace-filter-line", has_text="Only the window of step 40")
        note.wait_for()
        assert f"of {total:,}." in note.inner_text()
        note.get_by_role("button", name="Count everything").click()
        viewer.settle()
        note.wait_for(state="detached")
        assert "step" not in viewer.params()


def test_a_search_says_that_it_counts_the_run(viewer: Opened) -> None:
    viewer.go("ipu=0&step=40&detail=steps&find=softmax")
    viewer.page.locator(".trace-matches", has_text="in the run").wait_for()


def test_the_frame_of_a_selected_step_marks_its_bar_alone(viewer: Opened) -> None:
    step = viewer.sql(
        "SELECT step_id FROM steps_by_ipu WHERE ipu = 0 ORDER BY all_cycles_to_max - all_cycles_from_max DESC"
    )[0]
    viewer.go(f"ipu=0&step={step}")
    viewer.page.keyboard.press("f")
    viewer.settle()
    view = viewer.view()
    level = viewer.page.evaluate("step => popvision.execution.current.barsOf(0).levelOf(step)", step)
    assert level > 1
    row, top = view["row"], view["top"] + view["bands"][0]["top"] - view["scroll"]
    drawn = viewer.pixels(view["gutter"], top, view["width"], view["bands"][0]["bars"])
    framed = np.flatnonzero((drawn == rgb("accent", "light")).all(axis=2).any(axis=1))
    assert len(framed) > 0
    assert framed.min() >= level * row - 2
    assert framed.max() <= (level + 1) * row + 1
