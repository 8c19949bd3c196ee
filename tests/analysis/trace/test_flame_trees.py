"""Call trees of some threads with their longest events, and trees of callers, against a walk over single events."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.bottom_up import bottom_up
from popvision.analysis.trace.calls import CallTree, call_tree, threads_tree
from popvision.analysis.trace.event_filter import event_matcher, parse_filter
from popvision.analysis.trace.source import TraceSource
from tests.analysis.trace.test_trace_statistics import paths, self_time
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans


def events_of(source: TraceSource, tree: CallTree) -> dict[tuple[str, ...], tuple[tuple[int, int, int], int]]:
    """(longest event, matched events) of each path."""
    longest = [(thread, depth, position) for thread, depth, position in tree.longest.tolist()]
    facts = zip(longest, tree.matched.tolist(), strict=True)
    return dict(zip(paths(source, tree), facts, strict=True))


def around(spans: list[Span], index: int) -> list[str]:
    """Labels from the outermost call to this one; spans come parents first."""
    own = spans[index]
    return [each[3] for each in spans[: index + 1] if each[0] == own[0] and each[1] <= own[1] and each[2] >= own[2]]


@given(
    spans=nested_spans(), begin=st.integers(0, 150), length=st.integers(1, 200), text=st.sampled_from(["x", "dur>9ns"])
)
def test_longest_events_and_matches_of_a_window(
    tmp_path: Path, spans: list[Span], begin: int, length: int, text: str
) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    threads = [number for number in range(len(source.threads)) if number != 1]
    end = begin + length
    tree = threads_tree(source, threads, begin, end, event_matcher(source, parse_filter(text)))
    most: dict[tuple[str, ...], int] = {}
    matched: dict[tuple[str, ...], int] = {}
    numbers = sorted({span[0] for span in spans})
    for index, span in enumerate(spans):
        if span[1] < end and span[2] > begin and numbers.index(span[0]) in threads:
            path = tuple(around(spans, index))
            most[path] = max(most.get(path, 0), min(span[2], end) - max(span[1], begin))
            found = span[2] - span[1] > 9 if text.startswith("dur") else text in span[3].split("/")[1]
            matched[path] = matched.get(path, 0) + found
    facts = events_of(source, tree)
    assert {path: number for path, (_, number) in facts.items()} == matched
    for path, ((thread, depth, position), _) in facts.items():
        lane = source.threads[thread].lanes[depth]
        start, stop = int(lane.start[position]), int(lane.start[position] + lane.duration[position])
        assert min(stop, end) - max(start, begin) == most[path]
        assert thread in threads
        assert source.names.label[lane.name[position]] == path[-1].split("/")[1]


@given(spans=nested_spans())
def test_callers_have_the_self_times_of_what_they_called(tmp_path: Path, spans: list[Span]) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = bottom_up(call_tree(source, source.begin, source.end + 1))
    expected: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(spans)):
        own = self_time(spans, index)
        chain = around(spans, index)[::-1]
        for depth in range(1, len(chain) + 1):
            row = expected.setdefault(tuple(chain[:depth]), [0, 0, 0])
            row[0] += 1
            row[1] += own
            row[2] += own if depth == len(chain) else 0
    shown = paths(source, tree)
    assert {path: row[1:] for path, row in shown.items()} == {
        path: row[1:] for path, row in expected.items() if row[1] > 0
    }
    whole = sum(self_time(spans, index) for index in range(len(spans)))
    assert sum(row[1] for path, row in shown.items() if len(path) == 1) == whole


def test_callers_by_hand(tmp_path: Path) -> None:
    """`f` calls itself for 30 ns; both are one label, and the inner one counts once."""
    spans = [(0, 0, 100, "a/f"), (0, 10, 40, "a/f"), (0, 50, 60, "a/g")]
    source = make_trace(tmp_path / "t.pvti", spans)
    tree = bottom_up(threads_tree(source, [0], 0, 100))
    assert paths(source, tree) == {
        ("a/f",): [2, 90, 60],
        ("a/f", "a/f"): [1, 30, 30],
        ("a/g",): [1, 10, 0],
        ("a/g", "a/f"): [1, 10, 10],
    }
    longest = {path: event for path, (event, _) in events_of(source, tree).items()}
    assert longest == {("a/f",): (0, 0, 0), ("a/f", "a/f"): (0, 0, 0), ("a/g",): (0, 1, 1), ("a/g", "a/f"): (0, 0, 0)}
