"""Plots of two reports: both over device time, and breakdowns of memory, against sums made here or by SQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.memory.usage import breakdown
from popvision.analysis.report.source import ReportSource
from tests.analysis.memory.memory_case import make_case, write_case
from webapp.graph_analyser.liveness.plot_area import plot_parts as liveness_parts
from webapp.graph_analyser.liveness.state import liveness_state
from webapp.graph_analyser.memory.plot import draw_memory
from webapp.graph_analyser.memory.state import memory_state

SAMPLES = Path(__file__).parents[3] / "sample_reports"


def _text(component: Any) -> str:
    if isinstance(component, list | tuple):
        return " ".join(_text(each) for each in component)
    return str(component or "") if isinstance(component, str) or component is None else _text(component.children)


def _sql(sample: str, query: str) -> int:
    with sqlite3.connect(f"file:{SAMPLES / sample / 'profile.pop'}?mode=ro", uri=True) as db:
        return int(db.execute(query).fetchone()[0])


def _over_time(samples: tuple[str, str]) -> tuple[dict[str, Any], str]:
    source, target = (ReportSource(SAMPLES / each) for each in samples)
    drawn = liveness_parts(source, "key", liveness_state(source, {"live_graph": "time"}), "light", target)
    return {each["name"]: each for each in drawn[0]["data"] if each.get("name")}, _text(drawn[-1])


def test_both_runs_over_device_time_begin_together() -> None:
    traces, below = _over_time(("train_mlp", "train_mlp_wide"))
    cycles = "select sum(cycles) from steps_by_ipu join steps on id = step_id where run = 0 and ipu = 0"
    lengths = [_sql(sample, cycles) for sample in ("train_mlp", "train_mlp_wide")]
    for side, length in zip(("Source", "Target"), lengths, strict=True):
        x = traces[f"{side}: not always live"]["x"]
        assert (x[0], x[-1]) == (0, length)
    assert f"{lengths[1]:,} cycles, +{lengths[1] - lengths[0]:,} " in below
    always = [_sql(s, "select sum(always_live) from memory_by_tile") for s in ("train_mlp", "train_mlp_wide")]
    assert [traces[f"{side}: always live"]["y"][0] for side in ("Source", "Target")] == always


def test_a_target_without_that_run_is_left_out_and_named() -> None:
    traces, below = _over_time(("train_mlp", "matmul_chain"))
    assert "Source: not always live" in traces
    assert not [name for name in traces if name.startswith("Target")]
    assert "Only the source is shown. Target: it has no run with the program and name of run 0." in below


@pytest.mark.parametrize("by", ["category", "region", "liveness"])
@pytest.mark.parametrize("ipus", [False, True])
def test_breakdowns_of_two_reports(tmp_path: Path, by: str, ipus: bool) -> None:
    source = write_case(tmp_path / "a", make_case(3, ipus=2))
    target = write_case(tmp_path / "b", make_case(7, ipus=2))
    params = {"mem_by": by} | ({"mem_ipus": "1"} if ipus else {})
    parts = {}
    for report, side in ((source, "Source"), (target, "Target")):
        found = breakdown(report, by)
        values = [each.reshape(2, -1).sum(axis=1) if ipus else each for each in found.values]
        parts[side] = dict(zip(found.labels, [each.tolist() for each in values], strict=True))
    labels = sorted(set(parts["Source"]) | set(parts["Target"]))
    none = [0] * (2 if ipus else 6)
    change = {
        label: [b - a for a, b in zip(*(parts[side].get(label, none) for side in parts), strict=True)]
        for label in labels
    }
    both = draw_memory(source, memory_state(source, params), "light", target).plot
    apart = draw_memory(source, memory_state(source, {**params, "mem_diff": "1"}), "light", target).plot
    assert both is not None
    assert apart is not None
    shown = {each.name: each.values.tolist() for each in both.series}
    assert shown == {f"{label} ({side})": parts[side].get(label, none) for label in labels for side in parts}
    drawn = {each.name: each.values.tolist() for each in apart.series}
    assert {f"{label} (Target − Source)": values for label, values in change.items()}.items() <= drawn.items()
