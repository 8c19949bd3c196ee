"""Findings of the overview as cards: a bar of the saving, the first place, the rest on click, names cut and copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

import popvision
from popvision.analysis.insights.rules import insights
from popvision.analysis.report.source import ReportSource
from tests.browser.axe_pages import violations
from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cards")
    shutil.copytree(SAMPLES / "pipeline", made / "pipeline")
    return made


def _cards(viewer: Viewer) -> Locator:
    cards = viewer.open("pipeline", "overview").locator("#overview-findings ol > li")
    expect(cards.first).to_be_visible()
    return cards


def test_a_bar_is_as_long_as_the_saving(viewer: Viewer, folder: Path) -> None:
    cards = _cards(viewer)
    shares = [each.share for each in insights(ReportSource(folder / "pipeline")).findings]
    assert cards.count() == len(shares)
    for card, share in zip(cards.all(), shares, strict=True):
        bar, fill = (card.locator(css).bounding_box() for css in (".share-meter", ".share-meter-fill"))
        assert bar is not None
        assert fill is not None
        assert fill["width"] == pytest.approx(share * bar["width"], abs=1)


def test_places_and_changes_unfold(viewer: Viewer) -> None:
    card = _cards(viewer).first
    expect(card).to_contain_text("saves up to")
    expect(card.get_by_text("Try: ")).to_be_hidden()
    card.get_by_text("More", exact=True).click()
    expect(card.get_by_text("Try: ")).to_be_visible()
    assert violations(viewer.page) == []


def test_a_long_name_is_cut_shown_whole_on_hover_and_copied_whole(viewer: Viewer) -> None:
    cards = _cards(viewer)
    name = cards.nth(1).locator("strong [data-whole]").first
    whole = name.get_attribute("data-whole") or ""
    assert len(whole) > 80
    assert name.inner_text() == f"{whole[:21]}…{whole[-22:]}"
    expect(name).to_have_attribute("title", whole)
    copied = (
        cards.nth(1)
        .locator("strong")
        .evaluate("""(sentence) => {
      getSelection().selectAllChildren(sentence);
      const copy = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
      document.dispatchEvent(copy);
      return copy.clipboardData.getData("text/plain");
    }""")
    )
    assert copied.startswith(f"{whole} runs ")


def test_the_largest_share_of_the_bar_is_explained(viewer: Viewer) -> None:
    _cards(viewer)
    time = viewer.page.locator('details[data-fold="overview-time"]')
    phases = popvision.open(SAMPLES / "pipeline").phases()
    share = f"{phases.time_share[phases.phase == 'compute'].iloc[0]:.2%}".replace("%", " %")
    expect(time).to_contain_text(f"Largest share: Compute, {share}. OnTileExecute: compute sets running.")
