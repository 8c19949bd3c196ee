"""`popvision ranks` over traces of PyTorch's profiler, whose `distributedInfo` names the rank."""

import json

import pytest

from popvision.analysis.ranks.trace_ranks import find_trace_sets
from popvision.analysis.trace.source import TraceSource
from tests.analysis.ranks.kineto_trace import write_trace
from tests.cli.called import popvision


@pytest.fixture
def folder(tmp_path):
    for rank, (begin, length) in enumerate([(1000, 50), (1020, 80), (1010, 20)]):
        write_trace(tmp_path / f"worker{rank}.pt.trace.json", rank, 4, begin, length)
    return tmp_path


def test_the_traces_of_one_run_are_a_set(folder):
    [found] = find_trace_sets(folder)
    assert (found.ranks, sorted(found.traces), found.missing) == (4, [0, 1, 2], [3])
    assert found.sentences() == [
        "Of 4 ranks 3 have a trace here; missing: 3.",
        "Rank 1 takes longest: 0.080 ms of host time; rank 2 takes 0.020 ms.",
        "Rank 0 begins first, rank 1 0.020 ms after it.",
    ]


def test_the_command_tells_and_prints_them(folder):
    [answer] = json.loads(popvision("ranks", folder, "--json").stdout)
    assert (answer["ranks"], answer["missing"]) == (4, [3])
    rows = [(row["rank"], row["begin_us"], row["length_us"]) for row in answer["by_rank"]]
    assert rows == [(0, 0, 50), (1, 20, 80), (2, 10, 20)]
    text = popvision("ranks", folder).stdout
    assert "4 ranks of PyTorch's profiler" in text
    assert "Rank 1 takes longest" in text
    assert "worker1.pt.trace.json" in text


def test_second_traces_and_other_folders_are_sets_of_their_own(folder):
    for rank in range(2):
        write_trace(folder / f"worker{rank}.pt.trace.second.json", rank, 4, 5000, 10)
        write_trace(folder / "another" / f"worker{rank}.json", rank, 2, 0, 1)
    sets = find_trace_sets(folder)
    assert [(found.ranks, sorted(found.traces)) for found in sets] == [(2, [0, 1]), (4, [0, 1, 2]), (4, [0, 1])]


@pytest.mark.parametrize(
    "told",
    [
        None,
        3,
        {},
        {"rank": 0},
        {"rank": 2, "world_size": 2},
        {"rank": True, "world_size": 2},
        {"rank": -1, "world_size": 2},
        {"rank": 0, "world_size": 1},
        {"rank": "0", "world_size": "2"},
    ],
)
def test_what_is_no_rank(told, tmp_path):
    span = {"ph": "X", "pid": 1, "tid": 1, "name": "step", "ts": 1, "dur": 2}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"distributedInfo": told, "traceEvents": [span]}))
    assert find_trace_sets(tmp_path) == []
    assert "rank" not in TraceSource(path).meta
