"""Events too narrow for a label, as a canvas draws them; tests/javascript/colours.test.mjs has their pixels."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.analysis.trace.trace_case import make_trace
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

#: Pixels of the first and the last row of a lane of ten pixels and 17 rows, [red, green, blue, alpha], for blocks of
#: [x, width, channel, strength, whether merged]; channels are red and blue.
DRAW = """([blocks, scale]) => {
  const slivers = new popvision.timeline.Slivers();
  const canvas = popvision.canvas.makeCanvas(10 * scale, 17 * scale);
  const draw = popvision.canvas.contextOf(canvas);
  draw.scale(scale, scale);
  slivers.begin(10, scale, ["#ff0000", "#0000ff"]);
  for (const block of blocks) slivers.add(...block);
  slivers.paint(draw, 0, 17);
  return [0, 17 * scale - 1].map((y) => {
    const { data } = draw.getImageData(0, y, 10 * scale, 1);
    return Array.from({ length: 10 * scale }, (_, at) => Array.from(data.slice(4 * at, 4 * at + 4)));
  });
}"""

Pixels = list[list[int]]
RED, BLUE = 0, 1


@pytest.fixture(scope="module")
def page(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder: Path = tmp_path_factory.mktemp("slivers")
    make_trace(folder / "t.pvti", [(0, 0, 1000, "a/x")])
    keys = shared.show(folder)
    page = shared.visit(1280, 800)
    open_page(page, shared.base, f"/t/{keys['t.pvti']}/timeline")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    return page


def drawn(page: Page, blocks: list[tuple[float, float, int, float, bool]], scale: int = 1) -> tuple[Pixels, Pixels]:
    first, last = page.evaluate(DRAW, [blocks, scale])
    return first, last


def filled(pixels: Pixels) -> dict[int, list[int]]:
    return {at: pixel for at, pixel in enumerate(pixels) if pixel[3]}


def near(pixel: list[int], wanted: list[int]) -> bool:
    """Colours of faint pixels are stored multiplied by their alpha, hence rounded."""
    return all(abs(found - each) <= 2 for found, each in zip(pixel, wanted, strict=True))


@pytest.mark.parametrize("scale", [1, 2])
def test_a_block_covers_its_pixels(page: Page, scale: int) -> None:
    first, last = drawn(page, [(2, 1, RED, 1, False)], scale)
    assert first == last
    assert filled(first) == {at: [255, 0, 0, 255] for at in range(2 * scale, 3 * scale)}


def test_merged_events_have_a_line_below_and_nothing_is_left_of_the_lane_before(page: Page) -> None:
    first, last = drawn(page, [(1, 1, RED, 0.5, True), (-3, 4, BLUE, 1, False), (9.5, 3, BLUE, 1, False)])
    assert near(first[1], [255, 0, 0, 128])
    assert near(last[1], [255, 0, 0, 191])
    assert set(filled(first)) == {0, 1, 9}
    assert near(first[9], [0, 0, 255, 128])
    assert filled(drawn(page, [])[0]) == {}
