"""The memory page in a browser: the figures it shows against plain SQL over profile.pop."""

from __future__ import annotations

import csv
import io
import re
import statistics
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.browser.memory_pages import Opened, opened
from tests.browser.shared_viewer import SharedViewer
from tests.integration.plain_report import PlainReport

pytestmark = pytest.mark.browser

TILES = 6  # of replica 0


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(shared, tmp_path_factory.mktemp("memory"))


def _row(viewer: Opened, label: str) -> list[str]:
    row = viewer.page.locator(".mem-tree-row", has=viewer.page.locator(".mem-tree-label", has_text=label)).first
    return [str(each.get_attribute("title")) for each in row.locator(".mem-tree-value:not(.diff)").all()]


def test_totals_of_a_replica(viewer: Opened) -> None:
    viewer.go("memory")
    viewer.wait_for_text(".mem-tree-head", "all tiles")
    for label, column in (("Memory Including Gaps", "total"), ("Memory Excluding Gaps", "excluding_gaps")):
        expected = sum(viewer.sql(f"select {column} from memory_by_tile where tile < {TILES}"))
        assert _row(viewer, label) == [f"{expected:,} B"]
    assert list(viewer.figure("mem-plot")) == ["Excluding gaps"]
    viewer.page.get_by_role("switch", name="Gaps").click()
    viewer.wait_for_plot("mem-plot", "data.some(t => t.name === 'Including gaps')")
    drawn = viewer.figure("mem-plot")
    assert drawn["Including gaps"] == viewer.sql(f"select total from memory_by_tile where tile < {TILES} order by tile")
    assert drawn["Excluding gaps"] == viewer.sql(
        f"select excluding_gaps from memory_by_tile where tile < {TILES} order by tile"
    )


def test_without_gaps_the_curve_fills_the_plot(viewer: Opened) -> None:
    used = viewer.sql(f"select max(excluding_gaps) from memory_by_tile where tile < {TILES}")[0]
    viewer.go("memory")
    viewer.wait_for_plot("mem-plot", f"Math.abs(layout.yaxis.range[1] - 1.06 * {used}) < 1")
    headline = viewer.page.locator("#mem-headline")
    expect(headline).to_contain_text(f"{used:,} B")
    expect(headline).not_to_contain_text("with gaps")


def test_a_hidden_curve_leaves_the_axis_to_the_others(viewer: Opened) -> None:
    total, used = viewer.sql(f"select max(total), max(excluding_gaps) from memory_by_tile where tile < {TILES}")[0]
    assert total > 1.1 * used
    viewer.go("memory", "mem_nogaps=0&mem_max=0")
    viewer.wait_for_plot("mem-plot", f"Math.abs(layout.yaxis.range[1] - 1.06 * {total}) < 1")
    viewer.page.locator(".legendtoggle").first.click()
    viewer.wait_for_plot("mem-plot", f"Math.abs(layout.yaxis.range[1] - 1.06 * {used}) < 1")
    viewer.wait_for_plot("mem-plot", f"Math.max(...layout.yaxis.tickvals) < 2 * {used}")
    # Two clicks in short order would be a double click.
    viewer.page.evaluate("document.querySelector('#mem-plot .js-plotly-plot')._legendMouseDownTime = 0")
    viewer.page.locator(".legendtoggle").first.click()
    viewer.wait_for_plot("mem-plot", f"Math.abs(layout.yaxis.range[1] - 1.06 * {total}) < 1")


def test_the_tile_map_shows_what_is_in_use(viewer: Opened) -> None:
    viewer.go("memory", "mem_graph=map")
    used = viewer.sql(f"select excluding_gaps from memory_by_tile where tile < {TILES}")
    viewer.wait_for_plot("mem-plot", "data[0].type === 'heatmap'")
    drawn = viewer.page.evaluate(
        "() => document.querySelector('#mem-plot .js-plotly-plot').data[0].z.flat().filter(v => v !== null)"
    )
    assert sorted(drawn) == sorted(used)


def test_another_replica_is_named_and_shown(viewer: Opened) -> None:
    viewer.go("memory", "mem_replica=1")
    viewer.wait_for_text(".mem-tree-head", "all tiles")
    expect(viewer.page.locator("select[data-param=mem_replica]")).to_have_value("1")
    expected = sum(viewer.sql(f"select excluding_gaps from memory_by_tile where tile >= {TILES}"))
    assert _row(viewer, "Memory Excluding Gaps") == [f"{expected:,} B"]


def test_breakdowns_add_up_to_excluding_gaps(viewer: Opened) -> None:
    expected = viewer.sql(f"select excluding_gaps from memory_by_tile where tile < {TILES} order by tile")
    for by in ("region", "category", "liveness"):
        viewer.go("memory", f"mem_by={by}&mem_nogaps=1&mem_max=0")
        viewer.wait_for_plot("mem-plot", "data.some(t => t.stackgroup)")
        parts = viewer.figure("mem-plot").values()
        assert [sum(values) for values in zip(*parts, strict=True)] == expected


def test_statistics_are_of_the_visible_tiles(viewer: Opened) -> None:
    viewer.go("memory", "mem_view=1-3&mem_nogaps=0")
    viewer.wait_for_text("#mem-range", "of 6 tiles shown")
    seen = viewer.sql("select total from memory_by_tile where tile between 1 and 3 order by tile")
    line = viewer.page.locator("#mem-range .range-line").first
    parts = [text.split("\n")[-1] for text in line.locator(".range-part").all_inner_texts()]
    hints = [part.get_attribute("title") or "" for part in line.locator(".range-part").all()]
    assert len(parts) == 4
    assert hints[0] == f"{statistics.mean(seen):,.1f} B"
    assert hints[1].startswith(f"{min(seen):,} B")
    assert hints[1].endswith(f"tile {1 + seen.index(min(seen))}")
    assert hints[2].startswith(f"{max(seen):,} B")
    assert hints[3] == f"{statistics.pstdev(seen):,.1f} B, of the population"


def test_typed_tiles_get_a_column_each(viewer: Opened) -> None:
    viewer.go("memory")
    viewer.wait_for_text(".mem-tree-head", "all tiles")
    viewer.page.fill("#box-tiles", "0, 2-3")
    viewer.wait_for_text(".mem-tree-head", "tile 3")
    expected = viewer.sql("select excluding_gaps from memory_by_tile where tile in (0, 2, 3) order by tile")
    assert _row(viewer, "Memory Excluding Gaps") == [f"{value:,} B" for value in expected]
    expect(viewer.page).to_have_url(re.compile("tiles=0"))


def test_click_and_shift_click_select_tiles(viewer: Opened) -> None:
    viewer.go("memory")
    viewer.wait_for_text(".mem-tree-head", "all tiles")
    viewer.click("mem-plot", 4)
    viewer.wait_for_text(".mem-tree-head", "tile 4")
    viewer.click("mem-plot", 1, add=True)
    viewer.wait_for_text(".mem-tree-head", "tile 1")
    expected = viewer.sql("select total from memory_by_tile where tile in (1, 4) order by tile")
    assert _row(viewer, "Memory Including Gaps") == [f"{value:,} B" for value in expected]
    expect(viewer.page).to_have_url(re.compile("tiles=4,1"))


def test_keys_select_and_zoom(viewer: Opened) -> None:
    viewer.go("memory")
    viewer.wait_for_text(".mem-tree-head", "all tiles")
    viewer.wait_for_plot("mem-plot")
    viewer.page.focus("[data-plot=mem]")
    totals = viewer.sql(f"select always_live + not_always_live from memory_by_tile where tile < {TILES} order by tile")
    fullest = totals.index(max(totals))
    viewer.page.keyboard.press("p")
    viewer.wait_for_text(".mem-tree-head", f"tile {fullest}")
    viewer.wait_for_text(".peak-line", f"Tile {fullest} peaks at liveness index")
    assert f"{max(totals):,} B" in viewer.page.locator(".peak-line").inner_text()
    viewer.page.keyboard.press("ArrowRight" if fullest == 0 else "ArrowLeft")
    viewer.wait_for_text(".mem-tree-head", f"tile {1 if fullest == 0 else fullest - 1}")
    viewer.page.keyboard.press("+")
    viewer.wait_for_text("#mem-range", "of 6 tiles shown")
    viewer.page.keyboard.press("Escape")
    viewer.wait_for_text(".mem-tree-head", "all tiles")


def test_the_peak_of_a_tile_leads_to_its_index(viewer: Opened) -> None:
    viewer.go("memory", "tiles=3")
    viewer.wait_for_text(".peak-line", "Tile 3 peaks")
    viewer.page.click("text=Open the index")
    viewer.page.wait_for_url("**/liveness?*")
    viewer.wait_for_text(".headline-label", "Peak of tile 3")
    total = viewer.sql("select always_live + not_always_live from memory_by_tile where tile = 3")[0]
    hint = re.compile(f"^{total:,} B")
    expect(viewer.page.locator(".headline-value").first).to_have_attribute("title", hint)


def test_what_lies_on_a_tile(viewer: Opened) -> None:
    viewer.go("memory", "tiles=1&mem_tab=variables")
    viewer.page.locator(".ag-cell[col-id=size_bytes]").first.wait_for()
    count = viewer.sql("select n from lowered_by_tile where tile = 1")[0]
    viewer.wait_for_text(".row-count", f"{count} row")
    text = viewer.page.request.get(f"{viewer.base}/data/{viewer.key}/table/memory-lowered.csv?tile=1").text()
    rows = list(csv.DictReader(io.StringIO(text)))
    stored = PlainReport(viewer.path)
    sizes = stored.array(viewer.sql("select bytes_array from lowered_by_tile where tile = 1")[0])
    stored.close()
    assert len(rows) == count
    assert sorted(int(row["size_bytes"]) for row in rows) == sorted(sizes.tolist())
    assert sizes.sum() > 0
    viewer.page.click(".segment:has-text('Address map')")
    viewer.page.locator(".address-map[data-state=bands]").wait_for()


def test_details_as_csv(viewer: Opened) -> None:
    address = f"{viewer.base}/data/{viewer.key}/table/memory-details.csv?replica=0&tiles=2"
    rows = list(csv.DictReader(io.StringIO(viewer.page.request.get(address).text())))
    found = next(row["size_bytes, tile 2"] for row in rows if row["path"] == "excluding")
    assert int(found) == viewer.sql("select excluding_gaps from memory_by_tile where tile = 2")[0]


def test_every_graph_is_drawn_in_both_themes(viewer: Opened) -> None:
    viewer.problems.clear()
    for query in ("mem_graph=map&tiles=2", "mem_ipus=1&ipu=1", "mem_order=hardware", "mem_graph=variables&mem_vars=0"):
        viewer.go("memory", query)
        viewer.wait_for_plot("mem-plot")
        before = viewer.page.evaluate(
            "document.querySelector('#mem-plot .js-plotly-plot').layout.template.layout.font.color"
        )
        viewer.page.keyboard.press("t")
        viewer.wait_for_plot("mem-plot", f"data.length > 0 && layout.template.layout.font.color !== '{before}'")
    assert viewer.problems == []


def test_the_cursor_of_the_address_map_says_what_lies_there(viewer: Opened) -> None:
    stored = PlainReport(viewer.path)
    (row,) = stored.rows(
        "select address_array, bytes_array, eq_class_array, name_array from lowered_by_tile where tile = 1"
    )
    address, size, eq_class, name = (stored.array(each).tolist() for each in row)
    names = viewer.sql("select string from vars_string_table order by id")
    (always_live_class,) = viewer.sql("select cast(value as integer) from meta where key = 'alwaysLiveClass'")
    stored.close()
    viewer.go("memory", "tiles=1&mem_tab=variables&mem_map=map&liveness=2")
    viewer.page.locator(".address-map[data-state=bands]").wait_for()
    always = eq_class.index(always_live_class)
    viewer.page.evaluate(
        "at => document.querySelector('.address-map').addressMap.move(at, 2, false)", address[always] + size[always] - 1
    )
    reading = viewer.page.locator(".address-reading")
    expect(reading).to_contain_text(f"index 2 (OnTileExecute (add/Execute)): {names[name[always]]} (")
    expect(reading).to_contain_text(f"0x{address[always]:x}–0x{address[always] + size[always]:x}, {size[always]:,} B")
    viewer.page.focus(".address-map")
    viewer.page.keyboard.press("ArrowRight")
    expect(reading).to_contain_text("index 3 (")
    viewer.page.keyboard.press("ArrowUp")
    expect(reading).to_contain_text(f"Address 0x{address[always] + size[always]:x}, index 3")
    viewer.page.keyboard.press("ArrowDown")
    viewer.page.keyboard.press("Enter")
    viewer.page.wait_for_url("**liveness=3*")
    viewer.page.keyboard.press("w")
    viewer.page.wait_for_url("**mem_addr=*mem_idx=*")
    viewer.page.keyboard.press("0")
    viewer.page.wait_for_url(lambda url: "mem_addr" not in url)
    assert viewer.problems == []


def test_the_address_map_is_drawn_as_told(viewer: Opened) -> None:
    """A pixel inside an allocation of full strength has its category's colour; one byte further up it has not."""
    viewer.go("memory", "tiles=1&mem_tab=variables&mem_map=map")
    viewer.page.locator(".address-map[data-state=bands]").wait_for()
    seen = viewer.page.evaluate(
        """() => {
          const map = document.querySelector('.address-map').addressMap, to = window.popvision.addressMap;
          const { begin, end, live_to, shade, category } = map.data.arrays;
          const fill = Object.fromEntries(map.data.header.categories.map((each) => [each[0], each[2]]));
          const pen = map.canvas.getContext('2d'), found = [];
          for (let at = 0; at < begin.length; at += 1) {
            const high = to.yOf(map.view, begin[at]) - to.yOf(map.view, end[at]);
            if (shade[at] || high < 4) continue;
            const x = to.xOf(map.view, live_to[at]) - 4, y = to.yOf(map.view, (begin[at] + end[at]) / 2);
            const pixel = Array.from(pen.getImageData(Math.round(x), Math.round(y), 1, 1).data).slice(0, 3);
            found.push(['#' + pixel.map((each) => each.toString(16).padStart(2, '0')).join(''), fill[category[at]]]);
          }
          return found;
        }"""
    )
    assert seen
    assert all(drawn == told for drawn, told in seen)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_address_map_is_saved_as_an_image(viewer: Opened, kind: str) -> None:
    viewer.go("memory", "tiles=1&mem_tab=variables&mem_map=map")
    viewer.page.locator(".address-map[data-state=bands]").wait_for()
    viewer.page.click("summary[aria-label='Save the map as an image']")
    with viewer.page.expect_download() as saved:
        viewer.page.click(f"[data-save-map={kind}]")
    content = saved.value.path().read_bytes()
    assert saved.value.suggested_filename == f"tile-1-addresses.{kind}"
    assert content.startswith(b"\x89PNG" if kind == "png" else b"<svg")
    if kind == "svg":
        ElementTree.fromstring(content)


def test_the_fullest_tile_leads_the_list(viewer: Opened) -> None:
    order = viewer.sql(f"select tile from memory_by_tile where tile < {TILES} order by total desc, tile")
    viewer.go("memory", "mem_tab=tiles")
    first = viewer.page.locator(".ag-center-cols-container .ag-row[row-index='0'] [col-id=tile]")
    expect(first).to_have_text(str(order[0]))
    viewer.page.locator(".ag-center-cols-container .ag-row[row-index='1'] [col-id=tile]").click()
    viewer.page.wait_for_url(f"**tiles={order[1]}*")


def test_the_waterfall_of_a_tile_ends_at_its_memory(viewer: Opened) -> None:
    total, capacity = viewer.sql("select total from memory_by_tile where tile = 2")[0], 1200
    address = f"{viewer.base}/data/{viewer.key}/table/memory-peak.csv?tile=2&replica=0"
    rows = list(csv.DictReader(io.StringIO(viewer.page.request.get(address).text())))
    parts = [int(row["size_bytes"]) for row in rows if row["part"] != "Sum"]
    assert sum(parts) == capacity
    assert next(int(row["size_bytes"]) for row in rows if row["label"] == "Memory including gaps") == total
    viewer.go("memory", "tiles=2&mem_tab=peak&mem_whole=1")
    viewer.wait_for_plot("mem-peak")
    drawn = viewer.page.evaluate("document.querySelector('#mem-peak .js-plotly-plot').data[0].x")
    assert drawn == [abs(int(row["size_bytes"])) for row in rows]


def test_a_report_compared_with_itself_is_equal_everywhere(viewer: Opened) -> None:
    viewer.problems.clear()
    viewer.go("memory", f"vs={viewer.key}&tiles=2")
    viewer.page.locator(".mem-tree .diff").first.wait_for()
    assert set(viewer.page.locator(".mem-tree .diff").all_text_contents()) == {"0 B"}
    curves = viewer.figure("mem-plot")
    assert curves["Tile memory (Source)"] == curves["Tile memory (Target)"]
    viewer.go("memory", f"vs={viewer.key}&mem_diff=1")
    viewer.wait_for_plot("mem-plot", "data.some(t => t.name === 'Difference (Target − Source)')")
    assert set(viewer.figure("mem-plot")["Difference (Target − Source)"]) == {0}
    assert viewer.problems == []


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_the_plot_is_saved_as_an_image(viewer: Opened, kind: str) -> None:
    viewer.go("memory")
    viewer.wait_for_plot("mem-plot")
    viewer.page.click(".save-plot summary")
    with viewer.page.expect_download() as saved:
        viewer.page.click(f"button:has-text('Save as {kind}')")
    assert saved.value.suggested_filename == f"memory.{kind.lower()}"
    content = saved.value.path().read_bytes()
    assert content.startswith(b"\x89PNG" if kind == "PNG" else b"<svg")
