"""Asynchronous operations of one name share rows: as many as are under way at once, each with its id."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource


def marks(id: object, begin: int, end: int, name: str = "load", **more: Any) -> list[dict[str, Any]]:
    place = {"pid": 1, "tid": 1, "cat": "k", "id": id, "name": name} | more
    return [{"ph": "b", "ts": begin, **place}, {"ph": "e", "ts": end, **place}]


def opened(folder: Path, events: list[dict[str, Any]]) -> TraceSource:
    path = folder / "t.json"
    path.write_text(json.dumps(events))
    return TraceSource(path)


def test_thousands_of_ids_need_few_rows(tmp_path: Path) -> None:
    source = opened(tmp_path, [mark for id in range(3000) for mark in marks(id, 10 * id, 10 * id + 15)])
    assert [thread.row.name for thread in source.threads] == ["load (asynchronous)"] * 2
    assert source.events == 3000
    first = source.threads[0].lanes[0]
    assert source.metadata(0, int(first.site[1])) == '{"id": 2}'


def test_nested_operations_stay_nested_and_other_names_apart(tmp_path: Path) -> None:
    events = [
        *marks(1, 0, 50),
        *marks(1, 10, 20, "part"),
        *marks(2, 10, 40),
        *marks(3, 60, 70),
        *marks(4, 0, 5, "save"),
        *marks(5, 0, 5, cat="other"),
        *marks(6, 0, 5, pid=2),
    ]
    source = opened(tmp_path, events)
    rows = [
        (thread.row.pid, thread.row.name, [[source.names.label[name] for name in lane.name] for lane in thread.lanes])
        for thread in source.threads
    ]
    load, save = "load (asynchronous)", "save (asynchronous)"
    assert sorted(rows) == sorted(
        [
            (1, load, [["load", "load"], ["part"]]),
            (1, load, [["load"]]),
            (1, save, [["save"]]),
            (1, load, [["load"]]),
            (2, load, [["load"]]),
        ]
    )


def test_flows_follow_their_operations(tmp_path: Path) -> None:
    """Each of two operations at once ends a flow of its own."""
    events = []
    for id in (1, 2):
        events += marks(id, 10 * id, 100, bind_id=f"f{id}", flow_in=True)
        events.append(
            {"ph": "X", "ts": id, "dur": 1, "pid": 1, "tid": 9, "name": "s", "bind_id": f"f{id}", "flow_out": True}
        )
    source = opened(tmp_path, events)
    points = source.flow_points()
    assert len({(flow, thread) for flow, thread, _ in points.tolist()}) == 4
    assert len({thread for _, thread, time in points.tolist() if time >= 10_000}) == 2


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.integers(0, 9)), max_size=12))
def test_every_span_is_there_once_and_rows_hold_one_operation_at_a_time(
    tmp_path_factory: Any, operations: list[tuple[int, int, int]]
) -> None:
    events = [mark for id, begin, length in operations for mark in marks(id, begin, begin + length, f"n{id}")]
    events = [event | {"name": "load"} for event in events]
    source = opened(tmp_path_factory.mktemp("rows"), [*events, {"ph": "X", "ts": 0, "dur": 1, "pid": 2, "name": "x"}])
    found = sorted(
        (json.loads(source.metadata(number, int(site)) or "{}")["id"], int(start) // 1000)
        for number, thread in enumerate(source.threads)
        for lane in thread.lanes
        for site, start in zip(lane.site, lane.start, strict=True)
        if source.metadata(number, int(site))
    )
    assert found == sorted((id, begin) for id, begin, _ in operations)
    for number, thread in enumerate(source.threads):
        for above, lane in pairwise(thread.lanes):
            for site, parent in zip(lane.site.tolist(), lane.parent.tolist(), strict=True):
                assert source.metadata(number, site) == source.metadata(number, int(above.site[parent]))
