"""A title has one value in a report, whichever page shows it: all pages of the sample reports are read."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.frame import until_quiet
from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES
from webapp.base.views import views_of

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

REPORTS = ("matmul_chain", "train_mlp", "pipeline", "replicated_training")

#: Title and value of each figure in sight. What stands in a column under a heading is a figure of that column; those of
#: the exchange are of the program that comes first.
_FIGURES = """() => {
  const found = [], text = (element) => (element ? element.innerText.trim() : "");
  const add = (title, value) => { if (title && value) found.push([title.replace(/\\s+/g, " "), value]); };
  const seen = (css) => [...document.querySelectorAll("#page " + css)].filter((each) => each.getClientRects().length);
  const of = location.pathname.endsWith("/exchange") ? text(document.querySelector(".headline-value")) + ": " : "";
  for (const each of seen(".headline-figure"))
    add(of + text(each.querySelector(".headline-label")), text(each.querySelector(".headline-value")));
  for (const each of seen(".figure-card"))
    add(text(each.querySelector(".figure-label")), text(each.querySelector(".figure-value")));
  for (const each of seen(".trace-head > div"))
    add(text(each.querySelector(".trace-name")), text(each.querySelector(".trace-value")));
  for (const each of seen(".share-legend .share-entry")) {
    const [title, value] = text(each).split("\\n");
    add("share of tile time: " + title, value);
  }
  for (const each of seen(".facts-list > div")) {
    const column = each.closest(".detail-columns > *, .section");
    const heading = text(column && column.querySelector("h2"));
    const title = text(each.querySelector("dt"));
    add(heading && heading !== "Report" ? heading + ": " + title : title, text(each.querySelector("dd")));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("figures")
    for name in REPORTS:
        shutil.copytree(SAMPLES / name, made / name, ignore=shutil.ignore_patterns("*.pvti"))
    return made


def _writings(value: str) -> frozenset[str]:
    """A value in each of the units that it is written in: "796,832 B (778.2 KiB)", "327,480 cycles"."""
    return frozenset(part.removesuffix(" cycles").strip() for part in re.split(r"[()]", value) if part.strip())


@pytest.mark.parametrize("report", REPORTS)
def test_a_title_has_one_value_on_all_pages(viewer: Viewer, report: str) -> None:
    values: dict[str, set[frozenset[str]]] = defaultdict(set)
    places: dict[str, list[str]] = defaultdict(list)
    for view in (each.id for each in views_of("report")):
        page = viewer.open(report, view)
        until_quiet(page)
        for title, value in page.evaluate(_FIGURES):
            values[title].add(_writings(value))
            places[title].append(f"{view}: {value}")
    assert {"Total device cycles", "Fullest tile", "Peak liveness", "Always live"} <= {
        title.split(", replica")[0] for title in values
    }
    differing = {title: places[title] for title, written in values.items() if not frozenset.intersection(*written)}
    assert differing == {}


def test_the_overview_names_both_of_its_measures(viewer: Viewer) -> None:
    """A phase's share of the time of all tiles, and the cycles of its steps, stand side by side."""
    page = viewer.open("train_mlp", "overview")
    time = page.locator(".section").filter(has=page.get_by_role("heading", name="Time", exact=True))
    expect(time).to_contain_text("The bar shares out the time of all tiles.")
    expect(time).to_contain_text("cycles of the critical path")
    expect(time).to_contain_text("Host copies on the critical path, saves up to")
