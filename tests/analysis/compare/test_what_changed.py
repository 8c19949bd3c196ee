"""What changed between two reports: signed parts that add up to the difference of the totals."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from popvision.analysis.compare import not_attributed
from popvision.analysis.compare.metrics import measure
from popvision.analysis.compare.what_changed import Part, Waterfall, nothing_changed, waterfalls
from popvision.analysis.report.source import ReportSource
from tests.samples import SAMPLES

REPORTS = sorted(path.parent.name for path in SAMPLES.glob("*/profile.pop") if path.parent.name != "damaged")

#: What each waterfall's total is, among the metrics of a report.
METRICS = {"Device cycles": "cycles", "Memory in use": "memory_used", "Live memory at the peak": "live_peak"}


def reports(*names: str) -> list[ReportSource]:
    return [ReportSource(SAMPLES / name) for name in names]


#: What reports that ran are compared by, then what reports that did not run are.
SIX = [("cycles", by) for by in ("phase", "operation", "source line")]
SIX += [("bytes", by) for by in ("category", "operation", "source line")]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(REPORTS, REPORTS)))
def test_parts_add_up_to_the_whole_difference(before: str, after: str) -> None:
    """Every pair of sample reports, in both directions and each with itself."""
    source, target = reports(before, after)
    ran = all(measure(each)["cycles"] is not None for each in (source, target))
    found = waterfalls(source, target)
    assert [(each.kind, each.by) for each in found] == (SIX if ran else SIX[3:])
    for waterfall in found:
        totals = [measure(report)[METRICS[waterfall.measure]] for report in (source, target)]
        assert [waterfall.total.source, waterfall.total.target] == totals
        for shown in (waterfall, waterfall.with_at_most(2)):
            assert sum(each.difference for each in shown.parts) == waterfall.total.difference
        sizes = [abs(each.difference) for each in waterfall.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert all(sizes)


def test_a_category_of_one_report_alone_counts_in_full() -> None:
    memory = waterfalls(*reports("matmul_chain", "matmul_chain_hardware"))[3]
    one_sided = [each for each in memory.parts if each.source == 0]
    assert {"Vertex Code", "Control Code", "Stack"} <= {each.label for each in one_sided}
    assert all(each.difference == each.target > 0 for each in one_sided)


def test_lines_match_by_their_text(tmp_path: Path) -> None:
    by_line = waterfalls(*reports("train_mlp", "train_mlp_wide"))[2]
    labels = {each.label for each in by_line.parts}
    assert "train_mlp.py:80" in labels
    assert not any(label.endswith("of the target") for label in labels)
    other_file = waterfalls(*reports("matmul_chain", "train_mlp"))[2]
    assert "train_mlp.py:80 of the target" in {each.label for each in other_file.parts}


def test_rest_of_a_long_list_is_one_part() -> None:
    parts = [Part(str(size), 0, size) for size in (5, -4, 3, 1)]
    waterfall = Waterfall("Device cycles", "phase", "cycles", Part("Total", 0, 5), parts)
    assert waterfall.with_at_most(3).parts == [*parts[:2], Part("2 others", 0, 4)]
    assert waterfall.with_at_most(4) == waterfall.with_at_most(0) == waterfall


def test_nothing_changed_is_a_sentence() -> None:
    both = waterfalls(*reports("matmul_chain", "matmul_chain"))
    assert [each.parts for each in both] == [[]] * 6
    sentence = "Nothing changed: device cycles, memory in use and live memory at the peak are equal in every part."
    assert nothing_changed(both) == sentence
    assert not nothing_changed(waterfalls(*reports("matmul_chain", "train_mlp")))


def test_a_report_without_a_run_has_only_memory() -> None:
    both = waterfalls(*reports("matmul_chain", "out_of_memory"))
    assert {each.kind for each in both} == {"bytes"}


def test_what_is_not_attributed_names_its_largest_programs() -> None:
    both = reports("matmul_chain", "matmul_chain_hardware")
    by = {each.by: each for each in waterfalls(*both) if each.measure == "Device cycles"}
    assert "tiles wait" in by["phase"].note
    for each in (by["operation"], by["source line"]):
        part = next(part for part in each.parts if part.label == "Not attributed")
        assert part.named in each.note
        named = re.findall(r"(Stream\w+) \(host copy without a name\) ([+-][\d,]+)( twice)?", part.named)
        assert named[0][0] == "StreamCopyMid"
        total = sum(int(size.replace(",", "")) * (2 if twice else 1) for _, size, twice in named)
        largest = [abs(int(size.replace(",", ""))) for _, size, _ in named]
        assert largest == sorted(largest, reverse=True)
        assert total == part.difference or "other program" in part.named
    assert all(not each.note for each in waterfalls(*reports("matmul_chain", "matmul_chain")))


def test_live_memory_that_is_not_attributed_names_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every item named, the items add up to the difference that is not attributed."""
    monkeypatch.setattr(not_attributed, "MOST_NAMED", 10_000)
    both = waterfalls(*reports("matmul_chain", "matmul_chain_hardware"))
    live = [each for each in both if each.measure == "Live memory at the peak"]
    assert [each.by for each in live] == ["operation", "source line"]
    for each in live:
        part = next(part for part in each.parts if part.label == "Not attributed")
        sizes = [int(size.replace(",", "")) for size in re.findall(r" ([+-][\d,]+) B(?=;|$)", part.named)]
        assert sum(sizes) == part.difference
        assert "vertexCode +" in part.named
        assert not part.named.startswith(("mostly", "largest")), "nothing is left out"
        assert each.note.startswith(f"Not attributed {part.difference:+,} B: ")
