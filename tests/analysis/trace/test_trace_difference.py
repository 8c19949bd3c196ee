"""Difference of two traces by call path: figures by hand, and a slow twin that walks every event upwards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.difference import difference_frame, trace_difference
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans

Figures = dict[tuple[tuple[str, str], ...], tuple[int, int, int]]


def slow(trace: HostTrace) -> Figures:
    """(channel, label) from the outermost event -> count, total ns, self ns."""
    names = trace.names
    count: Counter[tuple[tuple[str, str], ...]] = Counter()
    total, own = Counter(count), Counter(count)
    for thread in trace.threads:
        for depth, lane in enumerate(thread.lanes):
            for position in range(len(lane)):
                path, at = [], position
                for above in range(depth, -1, -1):
                    name = int(thread.lanes[above].name[at])
                    path.append((names.channel_name[names.channel[name]], names.label[name]))
                    at = int(thread.lanes[above].parent[at]) if above else 0
                key, duration = tuple(reversed(path)), int(lane.duration[position])
                count[key] += 1
                total[key] += duration
                own[key] += duration
                if depth:
                    own[key[:-1]] -= duration
    return {key: (count[key], total[key], own[key]) for key in count}


@given(nested_spans(), nested_spans())
def test_every_path_has_the_figures_of_both_sides(tmp_path: Path, one: list[Span], other: list[Span]) -> None:
    source, target = make_trace(tmp_path / "a.pvti", one), make_trace(tmp_path / "b.pvti", other)
    difference = trace_difference(source, target)
    sides: tuple[Figures, Figures] = ({}, {})
    for row in range(len(difference)):
        path, at = [], row
        while at >= 0:
            path.append(difference.names[int(difference.name[at])])
            assert int(difference.parent[at]) < at
            at = int(difference.parent[at])
        assert len(path) == int(difference.depth[row]) + 1
        for side, figures in enumerate(sides):
            assert tuple(reversed(path)) not in figures
            if difference.count[row, side]:
                columns = (difference.count, difference.total, difference.own)
                figures[tuple(reversed(path))] = tuple(int(each[row, side]) for each in columns)  # type: ignore[assignment]
    assert sides == (slow(source), slow(target))
    outermost = difference.depth == 0
    change = difference.total[:, 1] - difference.total[:, 0]
    assert int((difference.own[:, 1] - difference.own[:, 0]).sum()) == int(change[outermost].sum())
    assert sorted(difference.listed(len(difference))) == list(range(len(difference)))


def test_rows_by_hand(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 10_000, "a/step"), (0, 1000, 4000, "b/load")])
    target = make_trace(tmp_path / "b.pvti", [(3, 0, 9000, "a/step"), (3, 2000, 3000, "b/save"), (4, 0, 500, "a/step")])
    difference = trace_difference(source, target)
    rows = difference_frame(difference, difference.listed(10)).to_dict("records")
    assert [row["path"] for row in rows] == ["step", "step > load", "step > save"]
    step, load, save = rows
    assert (step["count_source"], step["count_target"], step["count_diff"]) == (1, 2, 1)
    assert (step["total_us_source"], step["total_us_target"], step["total_us_diff"]) == (10.0, 9.5, -0.5)
    assert (step["self_us_source"], step["self_us_target"], step["self_us_diff"]) == (7.0, 8.5, 1.5)
    assert (load["count_target"], load["total_us_diff"], load["depth"], load["channel"]) == (0, -3.0, 1, "b")
    assert (save["count_source"], save["total_us_diff"]) == (0, 1.0)


def test_a_short_list_names_what_encloses_its_rows(tmp_path: Path) -> None:
    inner = [(0, at * 100 + 10, at * 100 + 20 + at, "a/x") for at in range(5)]
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 1000, "a/outer"), *inner])
    target = make_trace(tmp_path / "b.pvti", [(0, 0, 1000, "a/outer"), (0, 50, 400, "a/z")])
    difference = trace_difference(source, target)
    assert [difference.path(row) for row in difference.listed(1)] == ["outer", "outer > z"]


def test_a_trace_and_itself_differ_in_nothing(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 10, "a/x"), (0, 2, 5, "a/y")])
    difference = trace_difference(source, source)
    assert (difference.total[:, 0] == difference.total[:, 1]).all()
    assert difference.total[:, 0].tolist() == [10, 3]
