"""Kernels of traces of PyTorch's profiler: figures worked out by hand, and a twin that looks at every nanosecond."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import popvision
from popvision.analysis.trace.kernels import ALL_COMMUNICATION, communication_frame, idle_frame, kernel_frame
from popvision.analysis.trace.source import TraceSource
from popvision.answers.kernels import kernels_answer
from popvision.answers.page import Page
from popvision.formats.errors import FormatError
from tests.cli.called import popvision as command

COLUMNS = ("window_us", "busy_us", "idle_us", "host_us", "communication_us", "other_us")


def kernel(begin: float, end: float, stream: int, name: str, correlation: int, **more: Any) -> dict[str, Any]:
    facts = {"device": 0, "stream": stream, "correlation": correlation} | more
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "ts": begin,
        "dur": end - begin,
        "pid": 0,
        "tid": stream,
        "args": facts,
    }


def launch(begin: float, correlation: int) -> dict[str, Any]:
    facts = {"correlation": correlation}
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin, "dur": 1, "pid": 9, "tid": 9}
    return call | {"args": facts}


#: Stream 7: matmul 10-20, gap 20-30, add 30-40, gap 40-70, matmul 70-90; stream 8: all-reduce 35-60.
#: The call of add begins at 26: 6 us of the first gap are the host's, 4 other. The call of the second matmul begins at
#: 0: of 40-70 the all-reduce covers 20, other 10. Compute covers 35-40 of the all-reduce.
EVENTS = [
    launch(0, 1), launch(26, 2), launch(0.5, 3), launch(1.5, 4),
    kernel(10, 20, 7, "matmul", 1, **{"est. achieved occupancy %": 50}),
    kernel(30, 40, 7, "add", 2),
    kernel(70, 90, 7, "matmul", 3, **{"est. achieved occupancy %": 80}),
    kernel(35, 60, 8, "ncclDevKernel_AllReduce", 4),
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 5, "pid": 9, "tid": 9},
]  # fmt: skip


def write(path: Path, events: list[dict[str, Any]], rank: int | None = None) -> Path:
    facts = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": 2}}
    path.write_text(json.dumps(facts | {"traceEvents": events}))
    return path


def records(frame: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in frame.to_dict("records")]


def test_kernels_by_stream_and_name(tmp_path: Path) -> None:
    with popvision.open(write(tmp_path / "t.json", EVENTS)) as trace:
        rows = records(trace.kernels())
    figures = ("stream", "label", "kind", "count", "total_us", "mean_us", "min_us", "max_us", "share")
    assert [tuple(row[figure] for figure in figures) for row in rows] == [
        (7, "matmul", "compute", 2, 30, 15, 10, 20, 30 / 65),
        (8, "ncclDevKernel_AllReduce", "communication", 1, 25, 25, 25, 25, 25 / 65),
        (7, "add", "compute", 1, 10, 10, 10, 10, 10 / 65),
    ]
    assert rows[0]["occupancy_percent"] == 70  # (50 * 10 + 80 * 20) / 30
    assert math.isnan(rows[1]["occupancy_percent"])


def test_communication_and_its_overlap(tmp_path: Path) -> None:
    rows = records(communication_frame(TraceSource(write(tmp_path / "t.json", EVENTS))))
    assert [row["label"] for row in rows] == [ALL_COMMUNICATION, "ncclDevKernel_AllReduce"]
    for row in rows:
        assert (row["count"], row["total_us"], row["overlapped_us"], row["exposed_us"]) == (1, 25, 5, 20)
        assert row["overlap"] == 0.2


def test_idle_time_by_reason(tmp_path: Path) -> None:
    rows = records(idle_frame(TraceSource(write(tmp_path / "t.json", EVENTS))))
    assert [(row["stream"], *(row[name] for name in COLUMNS)) for row in rows] == [
        (7, 80, 40, 40, 6, 20, 14),
        (8, 25, 25, 0, 0, 0, 0),
    ]
    assert rows[0]["idle_share"] == 0.5


@pytest.mark.parametrize("category", ["Runtime", "xpu_runtime", "privateuse1_driver"])
def test_calls_of_any_device_are_launches(tmp_path: Path, category: str) -> None:
    events = [event | {"cat": event["cat"].replace("cuda_runtime", category)} for event in EVENTS]
    rows = records(idle_frame(TraceSource(write(tmp_path / "t.json", events))))
    assert [row["host_us"] for row in rows] == [6, 0]


def test_commands_of_two_ranks(tmp_path: Path) -> None:
    """Each rank has rows of its own; shares are of its own time; CSV and JSON have the same rows."""
    for rank in (0, 1):
        write(tmp_path / f"rank{rank}.json", [event for event in EVENTS if rank == 0 or event["tid"] != 8], rank)
    paths = (tmp_path / "rank0.json", tmp_path / "rank1.json")
    answer = json.loads(command("trace", "kernels", *paths, "--json").stdout)
    assert [(row["rank"], row["label"]) for row in answer["rows"][:2]] == [(0, "matmul"), (1, "matmul")]
    assert answer["rows"][1]["share"] == 0.75
    assert answer["rows"][2]["occupancy_percent"] is None
    assert set(answer["formulas"]) == {"count", "total_us", "mean_us", "min_us", "max_us", "share", "occupancy_percent"}
    idle = json.loads(command("trace", "idle", *paths, "--json").stdout)
    assert [(row["rank"], row["host_us"], row["communication_us"]) for row in idle["rows"][:2]] == [
        (0, 6, 20),
        (1, 6, 0),
    ]
    assert "Idle / window." in command("trace", "idle", *paths).stdout
    table = command("trace", "communication", *paths, "--csv").stdout.splitlines()
    assert table[-1].startswith("0,0,ncclDevKernel_AllReduce,1,25")


def test_a_trace_without_kernels_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", EVENTS[-1:])
    with pytest.raises(FormatError, match="has no kernels of an accelerator"):
        kernel_frame(TraceSource(path))
    done = command("trace", "idle", path)
    assert (done.returncode, done.stdout) == (1, "")


def test_streams_have_no_names_to_look_for(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", EVENTS)
    assert command("trace", "idle", path, "--name", "matmul").returncode == 2
    assert json.loads(command("trace", "kernels", path, "--name", "MAT", "--json").stdout)["total"] == 1
    with popvision.open(path) as trace, pytest.raises(FormatError, match="leave it out"):
        kernels_answer([trace], "idle", Page(), name="matmul")
    with popvision.open(path) as trace, pytest.raises(FormatError, match="use one of rank, device, stream, count"):
        kernels_answer([trace], "kernels", Page(), by="kind")


@pytest.mark.parametrize("rank", ["one", "9" * 40])
def test_a_rank_that_is_no_number_is_the_place_of_the_file(tmp_path: Path, rank: str) -> None:
    source = TraceSource(write(tmp_path / "t.json", EVENTS))
    source.meta["rank"] = rank
    assert set(kernel_frame(source)["rank"]) == {0}


spans = st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(1, 3), st.integers(0, 45), st.booleans())


@given(st.lists(spans, min_size=1, max_size=12))
def test_every_nanosecond_has_one_reason(tmp_path: Path, given: list[tuple[int, int, int, int, bool]]) -> None:
    """A twin with a step per nanosecond: busy, host, communication or other, and overlap of communication."""
    events = []
    for number, (begin, length, stream, call, is_communication) in enumerate(given):
        name = "ncclKernel" if is_communication else "add"
        events += [kernel(begin / 1e3, (begin + length) / 1e3, stream, name, number), launch(call / 1e3, number)]
        events[-2]["dur"] = length / 1e3
    source = TraceSource(write(tmp_path / "t.json", events))
    rows = {row["stream"]: [round(1e3 * row[name]) for name in COLUMNS] for row in records(idle_frame(source))}
    assert rows == {stream: reasons_of(given, stream) for stream in {stream for _, _, stream, _, _ in given}}
    talking = {time for begin, length, _, _, is_nccl in given if is_nccl for time in range(begin, begin + length)}
    computing = {time for begin, length, _, _, is_nccl in given if not is_nccl for time in range(begin, begin + length)}
    whole = [row for row in records(communication_frame(source)) if row["label"] == ALL_COMMUNICATION]
    found = [(round(1e3 * row["total_us"]), round(1e3 * row["overlapped_us"])) for row in whole]
    assert found == ([(len(talking), len(talking & computing))] if any(each[4] for each in given) else [])


def reasons_of(spans: list[tuple[int, int, int, int, bool]], stream: int) -> list[int]:
    """Window, busy, idle, host, communication and other nanoseconds of a stream."""
    here = [each for each in spans if each[2] == stream]
    window = range(min(each[0] for each in here), max(each[0] + each[1] for each in here))
    counts = {"busy": 0, "host": 0, "communication": 0, "other": 0}
    for time in window:
        if any(begin <= time < begin + length for begin, length, *_ in here):
            counts["busy"] += 1
            continue
        next_kernel = min((each for each in here if each[0] > time), key=lambda each: each[0])
        if time < min(next_kernel[3], next_kernel[0]):
            counts["host"] += 1
        elif any(is_nccl and begin <= time < begin + length for begin, length, _, _, is_nccl in spans):
            counts["communication"] += 1
        else:
            counts["other"] += 1
    idle = len(window) - counts["busy"]
    return [len(window), counts["busy"], idle, counts["host"], counts["communication"], counts["other"]]
