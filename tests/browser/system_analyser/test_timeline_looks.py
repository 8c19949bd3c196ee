"""Colours and patterns of many channels, options of heat maps, metadata in the tooltip, buttons that move and fold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.browser.axe_pages import violations
from tests.browser.frame import frames, until_quiet
from tests.browser.shared_viewer import SharedViewer
from tests.browser.test_timeline_page import Viewer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

CHANNELS, EACH, BEGIN = 20, 1_000_000, 1_700_000_000_000_000_000
NAMES = 250


def write_trace(path: Path) -> None:
    """One event of a millisecond per channel, one after another, on one thread; the first with metadata; and a heat map
    of ten bins, of which the fourth to the sixth hold values."""
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "many channels")
        writer.set_thread(1, 1, 7, "main")
        metadata = {f"key{number}": number for number in range(8)} | {"key0": "</td><b>x"}
        writer.add_string(1000, json.dumps(metadata))
        for channel in range(1, CHANNELS + 1):
            writer.set_channel(channel, f"channel {channel}", True)
            writer.add_string(channel, f"event{channel}")
            writer.add_site(channel, channel, channel, 1000 if channel == 1 else None)
        codes = [site << 2 | kind for site in range(1, CHANNELS + 1) for kind in (0, 1)]
        times = [BEGIN + EACH * (event + kind) for event in range(CHANNELS) for kind in (0, 1)]
        writer.add_events(1, codes, times)
        writer.add_heatmap(1, "weights", "", [float(edge) for edge in range(9)])
        for column in range(CHANNELS):
            writer.add_heatmap_column(1, BEGIN + EACH * column, [0, 0, 0, 1, 90, 9, 0, 0, 0, 0])
    writer.close()
    finalise(path)


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    folder = tmp_path_factory.mktemp("looks")
    write_trace(folder / "run.pvti")
    return Viewer(shared, folder / "run.pvti")


def colours_in(viewer: Viewer, row: str, share: float, height: int) -> set[str]:
    """Colours of the pixels of a row of the drawing, in a column at `share` of its width."""
    box = viewer.page.locator(f'.tl-row[data-row="{row}"]').bounding_box()
    host = viewer.page.locator(".tl").bounding_box()
    assert box
    assert host
    left, top = NAMES + share * (host["width"] - NAMES - 8), box["y"] - host["y"]
    pixels = viewer.page.evaluate(
        """([x, y, width, height]) => {
          const canvas = document.querySelector(".tl canvas"), scale = canvas.width / canvas.clientWidth;
          const data = canvas.getContext("2d").getImageData(x * scale, y * scale, width * scale, height * scale).data;
          return Array.from({length: data.length / 4}, (_, at) => data.slice(4 * at, 4 * at + 3).join(","));
        }""",
        [left, top, 12, height],
    )
    return set(pixels)


def test_the_ninth_channel_has_the_first_colour_and_a_pattern(viewer: Viewer) -> None:
    looks = []
    for channel in (0, 8, 16):
        viewer.go(f"tl_from={channel * EACH}&tl_to={(channel + 1) * EACH}")
        looks.append(colours_in(viewer, "t0", 0.5, 12))
    first, ninth, seventeenth = looks
    assert "154,119,244" in first & ninth & seventeenth
    assert len(first - {"0,0,0"}) <= 2
    assert len(ninth) > 4
    assert ninth != seventeenth
    viewer.page.click(".tl-key > summary")
    patterned = viewer.page.locator(".tl-key-row .tl-swatch[class*=tl-pattern]")
    assert patterned.count() == CHANNELS - 8
    viewer.page.keyboard.press("Escape")


def test_the_tooltip_has_the_metadata_of_an_event_as_text(viewer: Viewer) -> None:
    viewer.go()
    row = viewer.page.locator('.tl-row[data-row="t0"]').bounding_box()
    host = viewer.page.locator(".tl").bounding_box()
    assert row
    assert host
    drawn = host["width"] - NAMES - 8
    viewer.page.mouse.move(host["x"] + NAMES + drawn * 0.5 / CHANNELS, row["y"] + 9)
    viewer.page.wait_for_selector(".tl-tip >> text=key5")
    tip = viewer.page.inner_text(".tl-tip")
    assert "</td><b>x" in tip
    assert "key6" not in tip
    assert "2 more in the Summary tab" in tip
    viewer.page.mouse.move(host["x"] + NAMES + drawn * 1.5 / CHANNELS, row["y"] + 9)
    viewer.page.wait_for_selector(".tl-tip >> text=event2")
    frames(viewer.page, 12)  # metadata is asked for 60 ms after the pointer rests
    until_quiet(viewer.page)
    assert "key" not in viewer.page.inner_text(".tl-tip")


def test_options_of_heat_maps_are_in_the_url_and_in_the_drawing(viewer: Viewer) -> None:
    viewer.go()
    every = colours_in(viewer, "h0", 0.525, 180)
    viewer.page.click('.options > summary[aria-label="Options"]')
    viewer.page.select_option('[data-param="tl_heat"]', "linear")
    viewer.complete()
    assert viewer.url()["tl_heat"] == "linear"
    assert viewer.page.inner_text(".tl-heat-scale").split() == ["100", "%", "75", "%", "50", "%", "25", "%", "0", "%"]
    assert colours_in(viewer, "h0", 0.525, 180) != every
    viewer.page.select_option('[data-param="tl_bins"]', "used")
    viewer.page.keyboard.press("Escape")
    viewer.complete()
    assert viewer.url()["tl_bins"] == "used"
    row = viewer.page.locator('.tl-row[data-row="h0"]').bounding_box()
    assert row
    tip = viewer.page.locator(".tl-tip")
    for share, edges, values in ((0.17, "from 4 to 5", "9"), (0.5, "from 3 to 4", "90"), (0.83, "from 2 to 3", "1")):
        viewer.page.mouse.move(row["x"] + NAMES + 300, row["y"] + row["height"] * share)
        expect(tip).to_contain_text(edges)
        expect(tip).to_contain_text(f"{values} of 100")


def test_buttons_move_by_a_screen_and_fold_all_rows(viewer: Viewer) -> None:
    viewer.go(f"tl_from={5 * EACH}&tl_to={7 * EACH}")
    viewer.page.click('[data-action="timeline-page-right"]')
    viewer.complete()
    assert int(viewer.url()["tl_from"]) == pytest.approx(6.8 * EACH, rel=0.01)
    viewer.page.click('[data-action="timeline-page-left"]')
    viewer.complete()
    assert int(viewer.url()["tl_from"]) == pytest.approx(5 * EACH, rel=0.01)
    viewer.page.click('[data-action="timeline-fold"]')
    viewer.complete()
    assert "h0" in viewer.url()["tl_fold"].split(",")
    viewer.page.click('[data-action="timeline-fold"]')
    viewer.complete()
    assert "tl_fold" not in viewer.url()


def test_statistics_of_the_visible_window_and_its_labels_lead_to_each_other(viewer: Viewer) -> None:
    viewer.go(f"tl_tab=statistics&tl_from={5 * EACH // 2}&tl_to={5 * EACH}")
    means = viewer.page.locator('#tl-tab-statistics .ag-row [col-id="mean_us"]')
    expect(means).to_have_text(["1,000.00"] * 3)
    totals = viewer.page.locator('#tl-tab-statistics .ag-row [col-id="total_us"]').all_inner_texts()
    assert sorted(totals) == ["1,000.00", "1,000.00", "500.00"]
    viewer.page.click('#tl-tab-statistics .ag-row [col-id="label"] >> text=event4')
    viewer.page.wait_for_selector("#tl-tab-statistics >> text=/is the only one of event4 there/")
    url = viewer.url()
    assert (url["tl_event"], url.get("tl_find"), url["tl_from"]) == ("0.0.3", None, str(5 * EACH // 2))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_with_all_options_is_accessible(viewer: Viewer, theme: str) -> None:
    viewer.go("tl_heat=linear&tl_bins=used&tl_event=0.0.0&tl_tab=statistics")
    if viewer.page.get_attribute("html", "data-theme") != theme:
        viewer.page.focus(".tl")
        viewer.page.keyboard.press("t")
        viewer.complete()
    viewer.page.click('.options > summary[aria-label="Options"]')
    assert violations(viewer.page) == []
    viewer.page.keyboard.press("Escape")
    viewer.page.click(".tl-key > summary")
    assert violations(viewer.page) == []
    viewer.page.keyboard.press("Escape")
