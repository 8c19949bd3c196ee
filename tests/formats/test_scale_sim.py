"""Another tool's output through the public writer: every figure recomputed from SCALE-Sim's own tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from examples.scale_sim.to_report import layer, main
from popvision import pva
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.headline import headline
from popvision.analysis.summary.profile_summary import profile_summary
from webapp.base.view import ViewContext
from webapp.base.views import views_of

RUN = Path(__file__).resolve().parents[2] / "examples/scale_sim/encoder"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale_sim")
    main(RUN, folder)
    return folder


def column(table: str, number: int) -> list[float]:
    with (RUN / table).open() as file:
        return [float(row[number]) for row in list(csv.reader(file))[1:]]


def test_the_figures_are_those_of_scale_sim(report: Path) -> None:
    opened = pva.openReport(report / "profile.pop")
    steps = list(opened.execution.steps)
    by_part = [[step.ipus[0] for step in steps[part::3]] for part in range(3)]
    whole, busy = column("COMPUTE_REPORT.csv", 1), column("COMPUTE_REPORT.csv", 2)
    assert opened.execution.totalCycles.total == sum(whole) == 28_448
    assert [step.cycles for step in by_part[1]] == busy
    assert [sum(part.cycles for part in parts) for parts in zip(*by_part, strict=True)] == whole
    ifmap, filters, ofmap = (column("DETAILED_ACCESS_REPORT.csv", number) for number in (12, 15, 18))
    assert [step.dataIn for step in by_part[0]] == [a + b for a, b in zip(ifmap, filters, strict=True)]
    assert [step.dataOut for step in by_part[2]] == ofmap
    assert sum(step.dataIn + step.dataOut for step in by_part[1]) == 0
    names = [set_.name for set_ in opened.compilation.computeSets]
    assert names == [f"{name}/compute" for name in ("qkv", "scores", "context", "projection", "mlp_up", "mlp_down")]
    assert [v.size for v in opened.compilation.alwaysLiveVariables] == [64 * 1024] * 3
    utilisation = column("COMPUTE_REPORT.csv", 4)  # of 16 x 16 multipliers, in per cent
    flops = ReportSource(report).reader.compute_sets().flops.tolist()
    assert [100 * each / 2 / (256 * cycles) for each, cycles in zip(flops, busy, strict=True)] == pytest.approx(
        utilisation
    )


def test_every_view_opens_or_says_what_is_not_recorded(report: Path) -> None:
    source = ReportSource(report, salvage=True)
    context = ViewContext("key", source, {"tiles": "0"})
    said = {view.id: view.missing(context) for view in views_of("report")}
    assert not [said[view] for view in ("summary", "execution", "memory", "program_tree") if said[view]]
    assert said["source"]
    for view in views_of("report"):
        assert view.missing(context) or view.layout(context)
    assert headline(source).device_seconds is None
    text = profile_summary(source)
    assert "SCALE-Sim 3.0.0; target systolic array 16 x 16, os" in text
    assert "28,448 (clock not known)" in text


def test_parts_that_do_not_add_up_are_refused() -> None:
    access = {"DRAM IFMAP Start Cycle": "-5.0", "DRAM Filter Start Cycle": "-7.0", "DRAM OFMAP Stop Cycle": "12.0"}
    compute = {"Total Cycles": "10", "Total Cycles (incl. prefetch)": "18"}
    with pytest.raises(ValueError, match=r"layer a takes 18 cycles with its prefetch, but its parts take \(7, 10, 2\)"):
        layer({"Layer": "a"}, compute, access)
