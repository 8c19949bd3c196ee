"""Figures of the sample reports that once misled: cumulative shares, rates, code that was not recorded, bytes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

import popvision
from popvision.analysis.execution.step_details import step_facts
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("honest")
    for name in ("train_mlp", "matmul_chain", "matmul_chain_hardware", "out_of_memory"):
        shutil.copytree(SAMPLES / name, made / name)
    return made


def test_a_cumulative_share_grows_down_the_table(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "execution", "detail=aggregate")
    cells = page.locator('.ag-center-cols-container [col-id="cumulative_share"]')
    expect(cells.nth(3)).to_have_text(re.compile(r"^\d+\.\d\d %$"))
    shares = [float(text.removesuffix(" %")) for text in cells.all_inner_texts()]
    assert len(shares) > 3
    assert shares == sorted(shares)


def test_a_rate_above_the_plain_one_is_the_same_on_both_pages_with_its_formula(viewer: Viewer) -> None:
    page = viewer.open("matmul_chain", "exchange")
    figure = page.locator(".headline-figure", has_text="Achieved")
    found = re.search(r"([\d,.]+) B/cycle\s*([\d.]+ %) of the plain rate", figure.inner_text())
    assert found is not None
    program = re.search(r"Id (\d+)", page.locator(".headline-figure").first.inner_text())
    assert program is not None
    steps = timeline(ReportSource(SAMPLES / "matmul_chain"), 0)
    step = steps.program.tolist().index(int(program[1]))
    window = f"{steps.spans.busy_begin[step]}-{steps.spans.busy_end[step]}"
    page = viewer.open("matmul_chain", "execution", f"sel={window}")
    row = page.locator("#page tr", has_text="IPU 0 · Exchange").first
    expect(row).to_contain_text(f"{found[2]} of 5,600 B per cycle")
    expect(row).to_contain_text(f"{found[1]} B per cycle")
    formula = row.locator("td").last.get_attribute("title")
    assert formula is not None
    assert re.match(r"[\d,]+ B / \([\d,]+ cycles x 4 B x 1,400.0 receiving tiles\)", formula)
    table = page.locator("#page table", has_text="Relative to plain rate")
    expect(table).to_contain_text("In device time")
    help_box = table.locator("th", has_text="Relative to plain rate").locator("details")
    help_box.locator("summary").click()
    expect(help_box.locator(".popover-box")).to_contain_text("4 B")


def test_code_that_was_not_recorded_is_no_zero(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "program_tree", "program=40")
    code = page.locator(".tree-row.selected .tree-code")
    expect(code).to_have_text("–")
    expect(code).to_have_attribute("title", "Not recorded in this report")


def test_bytes_of_a_page_have_one_unit(viewer: Viewer) -> None:
    page = viewer.open("out_of_memory", "overview")
    found = page.locator('[data-rule="out_of_memory"]')
    expect(found).to_contain_text("tile 112 by 2.3 MiB; most of it is Variables (1.6 MiB)")
    excess = int(popvision.open(SAMPLES / "out_of_memory").tiles().loc[112, "excess_bytes"])
    expect(found.locator("strong")).to_have_attribute("title", re.compile(f"tile 112 by {excess:,} B"))
    assert re.findall(r"\d,\d{3} B\b", page.inner_text("#page")) == []


#: A point of the target's canvas over a bar of at least 6 pixels that lies within the run: a leaf or a group.
_BAR = """leaf => {
  const t = popvision.execution.target;
  for (let y = t.view.bandsTop + 2; y < t.view.height; y += 4)
    for (let x = popvision.execution.GUTTER + 1; x < t.view.width; x += 3) {
      const spot = t.mouse.at({ x, y });
      const item = spot.part === "band" ? t.mouse.find(spot.spot, { x, y }) : null;
      const bar = item && item.bar;
      if (bar && !!bar.leaf === leaf && bar.end - bar.begin < t.facts.total)
        return { x, y, begin: bar.begin, end: bar.end, first: bar.first };
    }
}"""


@pytest.mark.parametrize("leaf", [True, False])
def test_a_click_on_a_bar_of_the_target_is_answered_for_the_target(viewer: Viewer, leaf: bool) -> None:
    """A leaf selects its step: Details name both reports. A group selects its cycles, marked where it was clicked."""
    query = f"vs={viewer.keys['matmul_chain_hardware']}&detail=details"
    page = viewer.open("matmul_chain", "execution", query)
    canvas = page.locator('[data-role="target"][data-state="complete"] canvas')
    expect(canvas).to_be_visible()
    found = page.evaluate(_BAR, leaf)
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + found["x"], box["y"] + found["y"])
    if not leaf:
        page.wait_for_url(f"**sel={found['begin']}-{found['end']}*")
        page.wait_for_function(
            "([begin, end]) => String(popvision.execution.target.chosen) === `${begin},${end}`",
            arg=[found["begin"], found["end"]],
        )
        return
    facts = page.locator("#execution-tab-details .trace-facts")
    expect(facts).to_contain_text("Target matmul_chain_hardware: ")
    expect(facts.locator("h2").first).to_contain_text("Source matmul_chain: ")
    step = step_facts(ReportSource(SAMPLES / "matmul_chain_hardware"), 0, found["first"])
    cells = facts.locator("tr", has_text="Cycles").first.locator("td")
    expect(cells.nth(1)).to_have_text(f"{step.end - step.begin:,}")
