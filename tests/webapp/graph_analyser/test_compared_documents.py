"""HTML files of two reports: each view begins with its differences and shows both; names of neither escape."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pytest

from popvision.analysis.compare.what_changed import waterfalls
from popvision.analysis.report.source import ReportSource
from popvision.export.diff_rows import difference_text
from tests.samples import SAMPLES
from webapp.base.formats import in_units
from webapp.documents.export import DOCUMENTS, export_document

MODEL, HARDWARE = SAMPLES / "matmul_chain", SAMPLES / "matmul_chain_hardware"


@pytest.fixture(scope="module")
def both() -> tuple[ReportSource, ReportSource]:
    return ReportSource(MODEL, salvage=True), ReportSource(HARDWARE, salvage=True)


def _text(page: bytes) -> str:
    return html.unescape(re.sub(r"<script.*?</script>|<style.*?</style>", "", page.decode(), flags=re.DOTALL))


def _headings(page: bytes) -> list[str]:
    return [html.unescape(re.sub("<[^>]*>", "", each)) for each in re.findall(r"<h2>(.*?)</h2>", page.decode())]


@pytest.mark.parametrize("view", DOCUMENTS)
def test_a_view_begins_with_what_changed_and_shows_both(view: str, both: tuple[ReportSource, ReportSource]) -> None:
    page = export_document(both[0], view, {}, target=both[1])
    headings = _headings(page)
    assert re.match("What changed|Changed exchange programs", headings[0])
    first = {
        role: next(at for at, each in enumerate(headings) if each.startswith(role)) for role in ("Source", "Target")
    }
    assert 0 < first["Source"] < first["Target"]
    assert "matmul_chain (before) against matmul_chain_hardware (after)" in re.sub("<[^>]*>", "", _text(page))
    assert "this file shows the source" not in _text(page)


@pytest.mark.parametrize(
    ("view", "titles"),
    [
        ("memory", ["memory in use by category"]),
        ("execution", ["device cycles by phase", "device cycles by operation", "device cycles by source line"]),
        ("operations", ["device cycles by operation", "live memory at the peak by operation"]),
        ("source", ["device cycles by source line", "live memory at the peak by source line"]),
        ("liveness", ["live memory at the peak by operation", "live memory at the peak by source line"]),
        ("program_tree", ["device cycles by phase", "device cycles by operation", "device cycles by source line"]),
    ],
)
def test_the_bars_are_those_of_the_view(view: str, titles: list[str], both: tuple[ReportSource, ReportSource]) -> None:
    page = export_document(both[0], view, {}, target=both[1])
    assert [each.removeprefix("What changed: ") for each in _headings(page) if each.startswith("What")] == titles
    for each in waterfalls(*both):
        if each.title.lower() in titles:
            assert f"<title>Total: {difference_text(each.total.difference, each.kind)}</title>" in page.decode()
            assert in_units(each.note) in _text(page)


def test_equal_reports_say_so(both: tuple[ReportSource, ReportSource], tmp_path: Path) -> None:
    shutil.copytree(MODEL, tmp_path / "again")
    other = ReportSource(tmp_path / "again", salvage=True)
    for view in DOCUMENTS:
        text = _text(export_document(both[0], view, {}, target=other))
        assert "Nothing changed: " in text
        assert "What changed: " not in text


def test_the_selection_follows_into_the_target(both: tuple[ReportSource, ReportSource]) -> None:
    page = export_document(both[0], "exchange", {"program": "22"}, target=both[1])
    assert "Source: bytes between tiles, program 22" in _headings(page)
    assert "Target: bytes between tiles, program 23" in _headings(page)


def test_a_confidential_file_has_names_of_neither(both: tuple[ReportSource, ReportSource]) -> None:
    for view in DOCUMENTS:
        text = _text(export_document(both[0], view, {}, target=both[1], confidential=True))
        for name in ("matmul_chain", "Conv_1", "partials", str(SAMPLES)):
            assert name not in text, f"{view} says {name}"


def test_a_damaged_target_says_what_is_lost(both: tuple[ReportSource, ReportSource]) -> None:
    damaged = ReportSource(SAMPLES / "damaged", salvage=True)
    for view in DOCUMENTS:
        text = _text(export_document(both[0], view, {}, target=damaged))
        assert "The target: " in text
        assert str(SAMPLES) not in text
