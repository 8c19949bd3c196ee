"""Names on the overview: causes of one rule by their place, programs that have no name by their type."""

from __future__ import annotations

from popvision.analysis.insights.finding import Evidence, Finding, Insights
from popvision.analysis.insights.late import costs_of_waiting, waits_table
from popvision.analysis.report.figure import plain_values
from popvision.analysis.report.figure_titles import figure_title
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import busiest_ipu
from tests.samples import SAMPLES
from webapp.graph_analyser.overview.findings import causes


def _finding(rule: str, place: str) -> Finding:
    evidence = (Evidence("program", 1, place, 100, "cycles"),)
    return Finding(rule, f"{place} takes long.", 100, "cycles", 0.1, "of all device cycles", "", evidence, "")


def test_causes_of_one_rule_name_their_place() -> None:
    found = [_finding("repeated_copy", "copy1"), _finding("repeated_copy", "copy43"), _finding("host", "batches")]
    shown = str(causes(Insights(1_000, {}, 0, 0, tuple(found), {}, ())))
    assert "Copies repeated in a loop (copy1)" in shown
    assert "Copies repeated in a loop (copy43)" in shown
    assert "Host copies on the critical path (" not in shown


def test_a_program_without_a_name_shows_its_type() -> None:
    source = ReportSource(SAMPLES / "matmul_chain_hardware")
    costs = costs_of_waiting(source, busiest_ipu(source))
    programs = source.reader.programs()
    unnamed = {programs.type[row] for row in costs.program.tolist() if row >= 0 and not programs.name[row]}
    assert unnamed
    shown = plain_values(waits_table(source, costs, len(costs.tile))["name"])
    assert unnamed <= set(shown)


def test_sums_say_that_they_are_sums() -> None:
    assert figure_title("operations", "not_always_live").title == "Not always live (sum)"
    assert "all rows" in figure_title("operations", "cumulative_share").title
