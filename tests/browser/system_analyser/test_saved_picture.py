"""The drawing saved as PNG: it holds the figures of the window and what tells its lines and colours apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

TRACE = Path(__file__).parents[3] / "sample_reports" / "host_trace" / "host_trace.pvti"

#: Notes each text that is written into a canvas.
NOTED = """window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  window.written.push(text);
  write.call(this, text, ...rest);
};"""


def test_a_saved_drawing_has_its_figures_and_legends(shared: SharedViewer, tmp_path: Path) -> None:
    shutil.copy(TRACE, tmp_path / "run.pvti")
    keys = shared.show(tmp_path)
    page = shared.another_page(1280, 1200)
    page.add_init_script(NOTED)
    page.goto(f"{shared.base}/t/{keys['run.pvti']}/timeline?tl_fold=t0&tl_heat=2&tl_hide=0")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    with page.expect_download() as download:
        page.click("[data-action=timeline-save]")
    assert download.value.suggested_filename == "run.png"
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    written = set(page.evaluate("() => window.written"))
    assert {"Events 1,447", "1 channel not drawn, but counted"} <= written
    assert {"Training", "10⁻¹", "MainThread", "Accuracy (%)"} <= written
    page.close()
