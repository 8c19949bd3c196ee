"""What a reader meets on the pages: names cut at their beginning, widths that stay, sentences for empty pictures, and
selections that do not outlive what they were made for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import popvision
from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reading")
    shutil.copytree(SAMPLES / "train_mlp", made / "mlp")
    for name in ("chain", "again"):
        shutil.copytree(SAMPLES / "matmul_chain", made / name)
    return made


def cut_at(page: Page, selector: str) -> str:
    """Which end of a cut text is hidden: a hit test at the left edge meets the text's own end or its ellipsis."""
    return str(page.locator(selector).first.evaluate("element => getComputedStyle(element).direction"))


def test_names_are_cut_at_their_beginning_and_whole_on_hover_and_copy(viewer: Viewer) -> None:
    page = viewer.open("mlp", "program_tree", "program=39")
    label = page.locator(".tree-row.selected .tree-label")
    expect(label).to_have_text(re.compile("/ExchangePre$"))
    assert cut_at(page, ".tree-label") == "rtl"
    name = label.inner_text()
    assert name in str(page.locator(".tree-row.selected .tree-name").get_attribute("title"))
    copied = label.evaluate("e => { getSelection().selectAllChildren(e); return getSelection().toString(); }")
    assert copied == name
    page = viewer.open("mlp", "operations")
    expect(page.locator(".ops-main [col-id=name].ag-cell").first).to_contain_text("layer1/fwd")
    assert cut_at(page, ".ops-main [col-id=name].ag-cell .ag-cell-value") == "rtl"
    page = viewer.open("mlp", "program_tree", "program=40&pt_tab=cost")
    cells = page.locator("[col-id=term].ag-cell")
    expect(cells.nth(1)).to_have_text(re.compile(r"\w"))
    terms = cells.all_inner_texts()
    assert len(set(terms)) > 1
    assert all(terms)


def test_a_column_is_as_wide_as_it_was_drawn(viewer: Viewer) -> None:
    page = viewer.open("mlp", "operations")
    head = page.locator(".ops-main .ag-header-cell.ag-header-cell-sortable[col-id=operation]")
    head.wait_for()
    before = (head.bounding_box() or {})["width"]
    edge = head.locator(".ag-header-cell-resize").bounding_box()
    assert edge is not None
    page.mouse.move(edge["x"] + edge["width"] / 2, edge["y"] + edge["height"] / 2)
    page.mouse.down()
    page.mouse.move(edge["x"] + edge["width"] / 2 + 60, edge["y"] + edge["height"] / 2, steps=4)
    page.mouse.up()
    is_as_wide = (
        "width => Math.abs(document.querySelector('.ops-main .ag-header-cell-sortable[col-id=operation]')"
        "?.getBoundingClientRect().width - width) < 2"
    )
    page.wait_for_function(is_as_wide, arg=before + 60)
    after = (head.bounding_box() or {})["width"]
    page = viewer.open("mlp", "operations")
    page.wait_for_function(is_as_wide, arg=after)


def width(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("element => element.getBoundingClientRect().width"))


def wait_width(page: Page, selector: str, wanted: float) -> None:
    """Until the first element is as wide as wanted; a list draws its rows anew at any moment."""
    script = (
        "([css, wanted]) => Math.abs((document.querySelector(css)?.getBoundingClientRect().width ?? 0) - wanted) <= 1"
    )
    page.wait_for_function(script, arg=[selector, wanted])


@pytest.mark.parametrize(
    ("view", "head", "cell"),
    [
        ("program_tree?program=40", ".tree-head .tree-name", ".tree-row .tree-name"),
        ("program_tree?program=40", ".tree-head .tree-self", ".tree-row .tree-self"),
        ("program_tree", ".tree-list", ".tree-list"),
        ("source", ".code-head .code-figure", ".code-row .code-figure"),
        ("source", ".source-files", ".source-files"),
    ],
)
def test_columns_of_lists_are_drawn_wider_and_stay_so(viewer: Viewer, view: str, head: str, cell: str) -> None:
    name, _, query = view.partition("?")
    page = viewer.open("mlp", name, query)
    page.locator(cell).first.wait_for()
    handle = page.locator(f"{head} > .width-handle").first
    before = width(page, cell)
    edge = handle.bounding_box()
    assert edge is not None
    page.mouse.move(edge["x"] + edge["width"] / 2, edge["y"] + edge["height"] / 2)
    page.mouse.down()
    page.mouse.move(edge["x"] + edge["width"] / 2 + 60, edge["y"] + edge["height"] / 2, steps=3)
    page.mouse.up()
    wait_width(page, cell, before + 60)
    expect(handle).to_have_attribute("aria-valuenow", str(round(width(page, head))))
    page.reload()
    page.locator(cell).first.wait_for()
    expect(handle).to_be_visible()
    wait_width(page, cell, before + 60)
    handle.focus()
    page.keyboard.press("ArrowLeft")
    wait_width(page, cell, before + 50)
    handle.dispatch_event("dblclick")
    wait_width(page, cell, before)
    page.reload()
    page.locator(cell).first.wait_for()
    expect(handle).to_be_visible()
    wait_width(page, cell, before)


def test_rows_are_as_long_as_a_widened_heading(viewer: Viewer) -> None:
    page = viewer.open("mlp", "program_tree", "program=40")
    page.locator(".tree-row").first.wait_for()
    handle = page.locator(".tree-head .tree-name > .width-handle")
    for _ in range(5):
        handle.press("ArrowRight")
    page.wait_for_function(
        "() => { const s = document.querySelector('.tree-scroll'); return s.scrollWidth > s.clientWidth; }"
    )
    page.wait_for_function(
        "() => { const end = (css) => document.querySelector(css)?.getBoundingClientRect().right;"
        " return Math.abs(end('.tree-row') - end('.tree-head')) <= 1; }"
    )
    handle.dispatch_event("dblclick")


def test_shares_name_what_they_are_of(viewer: Viewer) -> None:
    page = viewer.open("mlp", "operations")
    heads = page.locator(".ops-main .ag-header-cell-text")
    expect(heads.filter(has_text="Cycles, share")).to_have_count(1)
    texts = heads.all_inner_texts()
    assert len(texts) == len(set(texts))


def test_the_largest_variables_are_drawn_until_others_are_selected(viewer: Viewer) -> None:
    page = viewer.open("mlp", "memory", "mem_graph=variables")
    expect(page.locator("#mem-plot .legendtext")).to_have_count(6)
    expect(page.locator("#page")).to_contain_text("Bytes of the 6 largest variables")
    page = viewer.open("mlp", "memory", "mem_graph=variables&mem_vars=0")
    expect(page.locator("#mem-plot .legendtext")).to_have_count(1)


def test_an_exchange_without_differences_says_so(viewer: Viewer) -> None:
    page = viewer.open("chain", "exchange", f"vs={viewer.keys['again']}")
    page.wait_for_selector('[data-exchange][data-state="complete"]')
    page.wait_for_function("() => popvision.exchange.current?.layer?.picture")
    assert page.evaluate("popvision.exchange.current.layer.picture.largest") == 0
    written = page.evaluate(
        """() => { const board = popvision.exchange.current, texts = [];
        const pen = new Proxy({}, { get: (_, name) => (...values) => name === 'text' && texts.push(values[0]) });
        board.layer.paint(pen); return texts; }"""
    )
    assert "Nothing changed: both reports send the same bytes between all tiles shown." in written


def test_the_key_of_the_matrix_says_what_a_cell_is(viewer: Viewer) -> None:
    texts = """() => { const board = popvision.exchange.current, texts = [];
        const pen = new Proxy({}, { get: (_, name) => (...values) => name === 'text' && texts.push(values[0]) });
        board.layer.paint(pen); return texts; }"""
    page = viewer.open("chain", "exchange")
    page.wait_for_function("() => popvision.exchange.current?.layer?.picture?.size > 1")
    size = page.evaluate("() => popvision.exchange.current.layer.picture.size")
    assert f"bytes per cell of {size} \u00d7 {size} tiles, log" in page.evaluate(texts)
    page = viewer.open("mlp", "exchange")
    page.wait_for_function("() => popvision.exchange.current?.layer?.picture?.size === 1")
    assert "bytes per pair of tiles, log" in page.evaluate(texts)


def test_a_selected_operation_replaces_the_selected_program(viewer: Viewer) -> None:
    page = viewer.open("mlp", "operations", "program=86")
    page.locator(".ops-main [col-id=name].ag-cell", has_text="layer1/fwd").click()
    page.wait_for_url("**ops_at=*")
    assert "program=" not in page.url
    page = viewer.open("mlp", "liveness", "program=86")
    page.locator("#live-box").focus()
    page.keyboard.press("p")
    page.wait_for_url("**liveness=*")
    assert "program=" not in page.url


def test_the_selected_operation_has_a_ring_in_the_roofline(viewer: Viewer) -> None:
    page = viewer.open("mlp", "operations", "ops_view=roofline&ops_name=layer1/fwd")
    rings = """() => { const data = document.querySelector('.ops-roof .js-plotly-plot')?.data?.find(t => t.customdata);
    const width = data?.marker?.line?.width;
    return Array.isArray(width) && width.flatMap((w, at) => w > 1 ? [data.customdata[at][1]] : []); }"""
    page.wait_for_function(f"() => ({rings})()?.length === 1")
    assert page.evaluate(rings) == ["layer1/fwd"]
    expect(page.locator(".ops-roof .textpoint text", has_text=re.compile("^layer1/fwd$")).first).to_be_attached()


def test_text_of_the_graph_is_readable_at_first(viewer: Viewer) -> None:
    page = viewer.open("mlp", "operations", "ops_view=graph")
    name = page.locator(".ops-name").first
    name.wait_for()
    height = name.evaluate("e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a")
    assert height >= 11
    longest = page.locator(".ops-node", has_text="layer1/fwd").first.bounding_box()
    box = page.locator(".ops-graph").bounding_box()
    assert longest is not None
    assert box is not None
    assert box["x"] <= longest["x"]
    assert box["y"] <= longest["y"] <= box["y"] + box["height"]


def test_a_step_leads_to_its_operation_line_index_and_tile(viewer: Viewer) -> None:
    page = viewer.open("mlp", "execution", "step=40&detail=details")
    where = page.locator(".trace-facts .where")
    expect(where).to_contain_text("operation layer2/fwd")
    expect(where.get_by_role("link", name="last to end: tile")).to_have_attribute("href", re.compile("among=last"))
    expect(where.get_by_role("link", name="longest: ")).to_have_attribute("href", re.compile("among=longest"))
    memory = where.get_by_role("link", name="memory", exact=True)
    expect(memory).to_have_count(2)
    expect(memory.first).to_have_attribute("href", re.compile(r"memory.tiles=\d+$"))
    targets = {str(link.get_attribute("href")).split("?")[0].split("/")[-1] for link in where.locator("a").all()}
    assert {"program_tree", "operations", "source", "liveness", "memory", "exchange"} <= targets
    where.get_by_role("link", name=re.compile(r"train_mlp\.py:\d+")).click()
    page.wait_for_url("**/source?*src_line=80*")
    expect(page.locator(".code-row.selected .code-number").first).to_have_text("80")


def test_always_live_bytes_keep_their_colour_over_device_time(viewer: Viewer) -> None:
    page = viewer.open("mlp", "liveness", "live_graph=time")
    ask = "() => document.querySelector('#live-plot .js-plotly-plot')?.data?.map(each => [each.name, each.fill])"
    page.wait_for_function(f"() => ({ask})()?.length > 1")
    assert page.evaluate(ask)[:2] == [["Always live", "tozeroy"], ["Not always live", "tonexty"]]


@pytest.mark.parametrize("size", [(1000, 700), (700, 450)])
def test_a_small_window_leaves_room_for_the_source(viewer: Viewer, size: tuple[int, int]) -> None:
    page = viewer.open("mlp", "source", "src_line=80")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("localStorage.removeItem('popvision.nav')")
    page.reload()
    row = page.locator(".code-row.selected .code-text").first
    row.wait_for()
    left = (row.bounding_box() or {})["x"]
    letters = (size[0] - left) / row.evaluate("e => e.getBoundingClientRect().width / e.textContent.length")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert letters >= (60 if size[0] == 1000 else 26)


def test_a_reading_goes_with_its_axis(viewer: Viewer) -> None:
    page = viewer.open("mlp", "liveness")
    plot = page.locator("#live-plot .js-plotly-plot .nsewdrag").first
    plot.wait_for()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    expect(page.locator("#live-plot .hoverlayer")).to_contain_text("Liveness index")
    page.locator("select[data-param=live_graph]").select_option("time")
    expect(page.locator("#live-plot .xtitle")).to_contain_text("Device time")
    expect(page.locator("#live-plot .hoverlayer")).not_to_contain_text("Liveness index")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    expect(page.locator("#live-plot .hoverlayer .axistext")).to_have_text(re.compile(r"^[\d,]+$"))


def test_boxes_of_a_range_hold_its_numbers(viewer: Viewer) -> None:
    page = viewer.open("mlp", "liveness", "live_graph=time")
    last = page.locator(".plot-nav-end").nth(1)
    cycles = int(popvision.open(SAMPLES / "train_mlp").runs().run_cycles.sum())
    expect(last).to_have_value(re.compile(f"^{cycles // 1000:,},"))
    assert last.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_an_explanation_is_whole_on_the_screen(viewer: Viewer) -> None:
    page = viewer.open("mlp", "summary", f"vs={viewer.keys['chain']}")
    page.set_viewport_size({"width": 1000, "height": 700})
    helps = page.locator(".figure-card details.help")
    helps.first.wait_for()
    for index in range(helps.count()):
        helps.nth(index).locator("summary").click()
        box = helps.nth(index).locator(".popover-box")
        expect(box).to_be_visible()
        page.wait_for_function(
            "box => { const { left, right, top, bottom } = box.getBoundingClientRect();"
            " return left >= 0 && right <= 1000 && top >= 0 && bottom <= 700; }",
            arg=box.element_handle(),
        )
        page.keyboard.press("Escape")
    export = page.get_by_role("link", name="Save this view").bounding_box()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert export is not None
    assert export["x"] + export["width"] <= 1000
