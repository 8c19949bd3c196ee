"""Published figures that are met stay met: `make validate` without other sizes."""

from __future__ import annotations

import pytest

from benchmarks.validate import groups
from benchmarks.validation import page
from benchmarks.validation.row import EXACT, REPORTED, Explanation, Group, Row, percent, within


@pytest.fixture(scope="module")
def found() -> list[Group]:
    return groups()[0]


def test_every_miss_is_explained(found: list[Group]) -> None:
    assert [(row.quantity, row.published, row.ours) for group in found for row in group.rows if row.failed] == []


def test_no_explanation_outlives_its_miss(found: list[Group]) -> None:
    """An explanation of a figure that is met, or of an unknown figure, is wrong."""
    from benchmarks.validation.explanations import EXPLAINED

    missed = {row.quantity for group in found for row in group.rows if row.verdict == "missed"}
    assert set(EXPLAINED) <= missed


def test_the_figures_of_the_issue_are_all_there(found: list[Group]) -> None:
    by_title = {group.title: len(group.rows) for group in found}
    assert by_title["Matmul chain: liveness, index by index"] == 42 + 1
    assert by_title["Matmul chain: always-live memory"] == 11
    assert by_title["AMP 1x1 convolution, [N, 16] x [16, 16] half on a tile"] == 2 * (8 + 12)
    assert sum(by_title.values()) > 240


def test_bounds() -> None:
    assert EXACT.allows(4, 4)
    assert not EXACT.allows(4, 5)
    assert not EXACT.allows(4, None)
    bound = within(10, 16, "cycles")
    assert [bound.allows(100, ours) for ours in (116, 117)] == [True, False]
    assert [bound.allows(1000, ours) for ours in (900, 899)] == [True, False]


def test_verdicts() -> None:
    row = Row("a", 100, 120, "B", "1", percent(10))
    assert (row.verdict, row.failed) == ("missed, not explained", True)
    known = Explanation("because", (110, 125))
    assert Group("g", "", [row]).explained({"a": known}).rows[0].verdict == "missed"
    far = Row("a", 100, 130, "B", "1", percent(10), known)
    assert far.failed
    assert Row("a", 100, 130, "B", "1", REPORTED).verdict == "reported"


def test_the_page_counts_verdicts_and_numbers_explanations() -> None:
    known = Explanation("because", (110, 125))
    rows = [Row("a", 100, 120, "B", "1", percent(10), known), Row("b", 5, 5, "", "2", EXACT)]
    text = "\n".join(page.section(Group("Figures", "", rows)))
    assert "| a | 100 B | 120 B | +20.0 % | 10 % | 1 | missed (1) |" in text
    assert "1. because" in text
    assert "| **all** | 2 | 1 | 1 | 0 | 0 |" in page.verdicts([Group("Figures", "", rows)])
