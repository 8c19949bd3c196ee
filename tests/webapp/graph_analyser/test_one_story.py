"""The page, the HTML file and `popvision diff` say the same of two reports, figure by figure: of reports of two
machines, of one that does not fit beside one that does, and of two equal ones."""

from __future__ import annotations

import html
import json
import re
import shutil
from typing import Any

import pytest
from click.testing import CliRunner

from popvision.analysis.compare.report_diff import compare_reports
from popvision.analysis.compare.what_changed import nothing_changed, waterfalls
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from popvision.cli import group
from popvision.export.diff_rows import difference_text, value_text
from tests.samples import SAMPLES
from webapp.base.view import ViewContext
from webapp.components.difference import difference_mark, figure_text
from webapp.documents.comparison_views import MOST_PARTS
from webapp.documents.export import export_document
from webapp.graph_analyser.summary.compared_figures import comparison
from webapp.graph_analyser.summary.waterfalls import MOST_BARS, what_changed

PAIRS = {
    "two machines": ("matmul_chain", "matmul_chain_hardware"),
    "does not fit": ("out_of_memory", "matmul_chain_hardware"),
    "fits no more": ("matmul_chain_hardware", "out_of_memory"),
    "equal": ("matmul_chain", "again"),
}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportSource, ReportSource]:
    folder = tmp_path_factory.mktemp("story")
    shutil.copytree(SAMPLES / "matmul_chain", folder / "again")
    source, target = (folder / each if each == "again" else SAMPLES / each for each in PAIRS[request.param])
    return ReportSource(source, salvage=True), ReportSource(target, salvage=True)


def said(pair: tuple[ReportSource, ReportSource]) -> dict[str, Any]:
    """`popvision diff --json`, all rows."""
    paths = [str(each.reader.path) for each in pair]
    answer = CliRunner().invoke(group, ["diff", *paths, "--json", "--top", "0"])
    assert answer.exit_code == 0, answer.output
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def rows_of(component: Any, attribute: str = "") -> list[list[str]]:
    """Cells of the rows of a page's tables; with an attribute those rows that have it, its value first."""
    if isinstance(component, list | tuple):
        return [row for each in component for row in rows_of(each, attribute)]
    if component is None or isinstance(component, str | int | float):
        return []
    if type(component).__name__ == "Tr" and (not attribute or attribute in component.to_plotly_json()["props"]):
        value = component.to_plotly_json()["props"].get(attribute, "")
        return [[*([value] if attribute else []), *(text_of(cell) for cell in component.children)]]
    return rows_of(getattr(component, "children", None), attribute)


def text_of(component: Any) -> str:
    if isinstance(component, list | tuple):
        return "".join(text_of(each) for each in component)
    if component is None or isinstance(component, str | int | float):
        return "" if component is None else str(component)
    return text_of(getattr(component, "children", None))


def _page(pair: tuple[ReportSource, ReportSource]) -> ViewContext:
    return ViewContext("one", pair[0], {"vs": "two"}, "light", pair[1], {"two": pair[1]})


def _document(pair: tuple[ReportSource, ReportSource]) -> str:
    text = export_document(pair[0], "summary", {}, target=pair[1]).decode()
    return html.unescape(re.sub("<[^>]*>", " ", re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)))


def test_figures_of_the_page_are_those_of_the_diff(pair: tuple[ReportSource, ReportSource]) -> None:
    told, clock = said(pair)["metrics"], target_of(pair[0]).clock_hz
    shown = rows_of(comparison(_page(pair)), "data-metric")
    assert [row[0] for row in shown] == [
        name for name, each in told.items() if (each["source"], each["target"]) != (None, None)
    ]
    for name, title, source, target, difference in shown:
        each = told[name]
        assert title == each["title"]
        assert source == figure_text(each["source"], each["unit"], clock)
        assert target == figure_text(each["target"], each["unit"], clock)
        assert difference == text_of(difference_mark(each["source"], each["target"], each["unit"], clock))
        if each["difference"] is not None:
            assert each["difference"] == pytest.approx(each["target"] - each["source"])


def test_what_changed_is_the_same_on_the_page_in_the_file_and_in_the_diff(
    pair: tuple[ReportSource, ReportSource],
) -> None:
    told = said(pair)["whatChanged"]
    both = waterfalls(*pair)
    assert [(each["title"], each["unit"]) for each in told] == [(each.title, each.kind) for each in both]
    file, page = _document(pair), what_changed(_page(pair))
    printed = CliRunner().invoke(group, ["diff", *(str(each.reader.path) for each in pair)]).stdout
    if nothing_changed(both):
        for text in (file, text_of(page), printed):
            assert nothing_changed(both) in text
        return
    shown = rows_of(page)
    for each, waterfall in zip(told, both, strict=True):
        assert each["total"]["difference"] == sum(part["difference"] for part in each["parts"])
        if not each["parts"]:
            continue
        expected = [*waterfall.with_at_most(MOST_BARS).parts, waterfall.total]
        mine, shown = shown[: len(expected)], shown[len(expected) :]
        for part, (label, _, difference, values) in zip(expected, mine, strict=True):
            assert label == part.label
            sides = [figure_text(value, each["unit"]) for value in (part.source, part.target)]
            assert values == " → ".join(sides)
            assert difference.lstrip("+\u2212") == figure_text(abs(part.difference), each["unit"])
        for part in each["parts"][: MOST_PARTS - 1]:
            row = [value_text(part[side], each["unit"]) for side in ("source", "target")]
            line = [part["label"], *row, difference_text(part["difference"], each["unit"])]
            assert re.search(r"\s+".join(map(re.escape, line)), file), f"the file does not say {line}"
        total = difference_text(each["total"]["difference"], each["unit"])
        assert re.search(rf"Total\s.*{re.escape(total)}", printed)
    assert not shown


def test_rows_of_one_report_alone_have_both_sides_in_the_diff(pair: tuple[ReportSource, ReportSource]) -> None:
    """JSON and text of what only one report has: 0 in the other where it is part of a sum."""
    told = said(pair)["changes"]
    for changes in compare_reports(*pair).changes:
        for name, other in (("onlySource", "valueTarget"), ("onlyTarget", "valueSource")):
            rows = told[changes.what][name]
            assert len(rows) == told[changes.what]["counts"][name]
            known = [row for row in rows if row["difference"] is not None]
            assert all(row[other] == 0 for row in known)
            if changes.what == "variables":
                assert len(known) == len(rows)
            if changes.what == "tiles":
                assert not known
