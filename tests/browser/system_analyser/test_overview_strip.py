"""The overview above a host timeline draws line graphs below the lanes, each in the range of its own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

BEGIN, LENGTH = 1_700_000_000_000_000_000, 10_000_000
NAMES = 250
SERIES_1 = "37,99,201"  # --series-1 of the light theme


def write_trace(path: Path, values: list[float]) -> None:
    """One event of ten milliseconds; a graph whose samples stand at its begin and its middle."""
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "program")
        writer.set_thread(1, 1, 7, "main")
        writer.set_channel(1, "app", True)
        writer.add_string(1, "run")
        writer.add_site(1, 1, 1, None)
        writer.add_events(1, [1 << 2, 1 << 2 | 1], [BEGIN, BEGIN + LENGTH])
        if values:
            writer.add_graph(1, "loss", "")
            writer.add_series(1, 1, "training")
            writer.add_samples(1, [BEGIN, BEGIN + LENGTH // 2, BEGIN + LENGTH], [*values, values[-1]])
    writer.close()
    finalise(path)


@pytest.mark.parametrize(
    ("values", "heights"), [([0.0, 1.0], ("foot", "top")), ([8.0, 2.0], ("top", "foot")), ([], ())]
)
def test_graphs_are_drawn_in_their_range(
    shared: SharedViewer, tmp_path: Path, values: list[float], heights: tuple[str, ...]
) -> None:
    write_trace(tmp_path / "run.pvti", values)
    keys = shared.show(tmp_path)
    page = shared.visit(1280, 800)
    open_page(page, shared.base, f"/t/{keys['run.pvti']}/timeline")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    rows = page.evaluate(
        """([names, colour]) => [0.25, 0.75].map((share) => {
          const canvas = document.querySelector(".tl canvas"), scale = canvas.width / canvas.clientWidth;
          const x = (names + share * (canvas.clientWidth - names - 8)) * scale;
          const data = canvas.getContext("2d").getImageData(x, 0, 1, 72 * scale).data;
          const found = [];
          for (let y = 0; y < data.length / 4; y += 1)
            if (data.slice(4 * y, 4 * y + 3).join(",") === colour) found.push(y / scale);
          return found;
        })""",
        [NAMES, SERIES_1],
    )
    drawn = tuple("" if not found else "foot" if min(found) > 60 else "top" for found in rows)
    assert drawn == (heights or ("", ""))
    assert all(45 <= y <= 68 for found in rows for y in found)
    assert shared.problems == []
