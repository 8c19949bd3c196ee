"""Flows: which events they join, from the tracer and from traces of other tools."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.flows import flow_links, innermost, trace_flows
from popvision.analysis.trace.joint import join_traces
from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.chrome import write_chrome
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans
from tests.pvti.traced import run, traces


def paths(source: HostTrace) -> list[list[str]]:
    """The labels that each flow passes."""
    flows = trace_flows(source)
    found: dict[int, list[str]] = {}
    for row, flow in enumerate(flows.flow.tolist()):
        lane = source.threads[flows.thread[row]].lanes[flows.depth[row]]
        found.setdefault(flow, []).append(source.names.label[lane.name[flows.position[row]]])
    return sorted(found.values())


THREADS = """
import queue, threading
batches = queue.Queue()

def load():
    for number in range(3):
        with pvti.Tracepoint(channel, f"load {number}"):
            flow = pvti.Flow(f"batch {number}")
            flow.step()
            flow.step()
            batches.put(flow)
    pvti.Flow("outside all events").step()

loader = threading.Thread(target=load, name="loader")
loader.start()
for number in range(3):
    flow = batches.get()
    with pvti.Tracepoint(channel, "step"):
        with pvti.Tracepoint(channel, f"use {number}"):
            flow.step()
    if number == 1:
        with pvti.Tracepoint(channel, "write"):
            flow.step()
loader.join()
"""


def test_a_flow_of_the_tracer_joins_the_events_around_its_steps(tmp_path: Path) -> None:
    run(THREADS, tmp_path)
    (path,) = tmp_path.glob("*.pvti")
    source = TraceSource(path)
    assert paths(source) == [["load 0", "use 0"], ["load 1", "use 1", "write"], ["load 2", "use 2"]]
    (number,) = [number for number, thread in enumerate(source.threads) if thread.row.name == "MainThread"]
    use = [source.names.label[name] for name in source.threads[number].lanes[1].name].index("use 1")
    links, count = flow_links(source, number, 1, use, 100)
    assert count == 2
    assert [(link.label, link.is_onwards, link.name) for link in links] == [
        ("load 1", False, "batch 1"),
        ("write", True, "batch 1"),
    ]
    exported = io.StringIO()
    write_chrome(source, "test", exported)
    again = tmp_path / "again.json"
    again.write_text(exported.getvalue())
    assert paths(TraceSource(again)) == paths(source)
    assert links[0].start + links[0].duration <= source.threads[number].lanes[1].start[use]


def test_flows_cost_nothing_and_leave_no_file_without_tracing(tmp_path: Path) -> None:
    run("flow = pvti.Flow('x')\nflow.step()\n", tmp_path, options='{"enable": "false"}')
    assert traces(tmp_path) == []


def test_a_flow_through_processes_joins_their_files(tmp_path: Path) -> None:
    code = """
import multiprocessing

def work(flow):
    with pvti.Tracepoint(channel, "child"):
        flow.step()

if __name__ == "__main__":
    with pvti.Tracepoint(channel, "parent"):
        flow = pvti.Flow("job")
        flow.step()
    child = multiprocessing.get_context("spawn").Process(target=work, args=(flow,))
    child.start()
    child.join()
"""
    run(code, tmp_path)
    joint = join_traces([TraceSource(path) for path in sorted(tmp_path.glob("*.pvti"))])
    assert paths(joint) == [["parent", "child"]]
    flow = int(trace_flows(joint).flow[0])
    assert joint.flow_names([flow]) == {flow: "job"}


def imported(folder: Path, *events: dict[str, object], name: str = "t.json") -> TraceSource:
    path = folder / name
    path.write_text(json.dumps({"traceEvents": [{"pid": 1, **event} for event in events]}))
    return TraceSource(path)


def span(tid: int, begin: int, duration: int, label: str) -> dict[str, object]:
    return {"ph": "X", "tid": tid, "ts": begin, "dur": duration, "name": label}


def test_flows_of_chrome_bind_to_the_span_around_or_the_next_one(tmp_path: Path) -> None:
    source = imported(
        tmp_path,
        span(1, 0, 50, "launch"),
        span(1, 60, 10, "launch again"),
        span(2, 55, 20, "kernel"),
        span(2, 100, 10, "later"),
        {"ph": "s", "tid": 1, "ts": 10, "id": 5, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "bp": "e", "tid": 2, "ts": 55, "id": 5, "cat": "ac2g", "name": "ac2g"},
        {"ph": "s", "tid": 1, "ts": 65, "id": 5, "cat": "ac2g", "name": "ac2g"},  # the number is used again
        {"ph": "f", "tid": 2, "ts": 80, "id": 5, "cat": "ac2g", "name": "ac2g"},  # without bp: the next span
        {"ph": "s", "tid": 1, "ts": 500, "id": 6, "cat": "ac2g", "name": "ac2g"},  # outside all spans
    )
    assert paths(source) == [["launch", "kernel"], ["launch again", "later"]]
    assert "left_out" not in source.meta


def test_flows_of_different_imports_stay_apart(tmp_path: Path) -> None:
    events = (span(1, 0, 50, "a"), span(2, 60, 5, "b"))
    points = [{"ph": "s", "tid": 1, "ts": 10, "id": 1}, {"ph": "f", "bp": "e", "tid": 2, "ts": 61, "id": 1}]
    parts = [imported(tmp_path, *events, *points, name=f"{number}.json") for number in range(2)]
    joint = join_traces(parts)
    assert paths(joint) == [["a", "b"], ["a", "b"]]
    flows = sorted(set(trace_flows(joint).flow.tolist()))
    assert len(joint.flow_names(flows)) == 2


@given(nested_spans(), st.lists(st.integers(-5, 210), min_size=1))
def test_innermost_is_the_deepest_event_around_a_moment(spans: list[Span], times: list[int]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        source = make_trace(Path(folder, "t.pvti"), spans)
    for thread in source.threads:
        depths, positions = innermost(thread, np.array(times))
        for time, depth, position in zip(times, depths.tolist(), positions.tolist(), strict=True):
            around = [
                (level, row)
                for level, lane in enumerate(thread.lanes)
                for row in range(len(lane))
                if lane.start[row] <= time <= lane.end[row]
            ]
            # Where one event ends as the next begins, the next one has it.
            assert (depth, position) == max(around, default=(-1, 0))


def test_flows_are_told_apart_by_time_wherever_they_stand_in_the_file(tmp_path: Path) -> None:
    """An id is used twice: each start begins another flow, though the file holds the last point first."""
    events: list[dict[str, object]] = []
    for at, name in enumerate("abcd"):
        events.append({"ph": "X", "pid": 1, "tid": at, "ts": 10 * at, "dur": 9, "name": name})
        events.append({"ph": "sf"[at % 2], "bp": "e", "pid": 1, "tid": at, "ts": 10 * at + 1, "id": 5, "name": "n"})
    (tmp_path / "t.json").write_text(json.dumps(events[::-1]))
    assert paths(TraceSource(tmp_path / "t.json")) == [["a", "b"], ["c", "d"]]


def test_flows_of_bind_ids_join_their_spans(tmp_path: Path) -> None:
    place = {"pid": 1, "bind_id": "0x1"}
    events = [
        {"ph": "X", "ts": 0, "dur": 10, "name": "a", "tid": 1, "flow_out": True, **place},
        {"ph": "B", "ts": 20, "name": "b", "tid": 2, "flow_in": True, "flow_out": True, **place},
        {"ph": "E", "ts": 25, "name": "b", "tid": 2, **place},
        {"ph": "b", "ts": 30, "name": "c", "tid": 3, "id": 7, "cat": "x", "flow_in": True, **place},
        {"ph": "e", "ts": 35, "name": "c", "tid": 3, "id": 7, "cat": "x", **place},
        {"ph": "X", "ts": 40, "dur": 10, "name": "apart", "tid": 1, **place},
    ]
    (tmp_path / "t.json").write_text(json.dumps(events))
    source = TraceSource(tmp_path / "t.json")
    assert source.lost == []
    assert paths(source) == [["a", "b", "c"]]
