"""What changed between two reports: signed parts that add up to the difference of the totals."""

from __future__ import annotations

import pytest

from popvision.analysis.compare.metrics import measure
from popvision.analysis.compare.what_changed import waterfalls
from popvision.analysis.report.source import ReportSource
from tests.samples import SAMPLES

PAIRS = [("matmul_chain", "matmul_chain_hardware"), ("train_mlp", "train_mlp_wide"), ("train_mlp_wide", "train_mlp")]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_parts_add_up_to_the_whole_difference(before: str, after: str) -> None:
    source, target = ReportSource(SAMPLES / before), ReportSource(SAMPLES / after)
    cycles, memory = waterfalls(source, target)
    for waterfall, metric in ((cycles, "cycles"), (memory, "memory_used")):
        totals = [measure(report)[metric] for report in (source, target)]
        assert [waterfall.total.source, waterfall.total.target] == pytest.approx(totals)
        assert sum(each.difference for each in waterfall.parts) == pytest.approx(totals[1] - totals[0])
        sizes = [abs(each.difference) for each in waterfall.parts]
        assert sizes == sorted(sizes, reverse=True)


def test_a_category_of_one_report_alone_counts_in_full() -> None:
    source, target = (ReportSource(SAMPLES / name) for name in ("matmul_chain", "matmul_chain_hardware"))
    memory = waterfalls(source, target)[1]
    one_sided = [each for each in memory.parts if each.source == 0]
    assert {"Vertex Code", "Control Code", "Stack"} <= {each.label for each in one_sided}
    assert all(each.difference == each.target > 0 for each in one_sided)


def test_nothing_changed_has_no_parts() -> None:
    source = ReportSource(SAMPLES / "matmul_chain")
    assert [each.parts for each in waterfalls(source, ReportSource(SAMPLES / "matmul_chain"))] == [[], []]


def test_a_report_without_a_run_has_only_memory() -> None:
    source, target = (ReportSource(SAMPLES / name) for name in ("matmul_chain", "out_of_memory"))
    assert [each.kind for each in waterfalls(source, target)] == ["bytes"]
