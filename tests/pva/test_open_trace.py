"""openTrace and its objects, with the names that scripts use."""

from __future__ import annotations

import gc
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from popvision.formats.errors import FormatError
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from popvision.pva.trace import Event, openTrace

BEGIN, END, INSTANT = 0, 1, 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """epoch 0 [0, 5.0 ms) with a flag at 1 ms, load [2.0, 2.0005 ms), step [3, 4 ms); then a flag at 6 ms."""
    writer = TraceWriter(tmp_path / "t.pvti", {}, clock_offset_ns=10**18)
    rows = [
        (BEGIN, 1, 0),
        (INSTANT, 4, 1000),
        (BEGIN, 2, 2000),
        (END, 2, 2000.5),
        (BEGIN, 3, 3000),
        (END, 3, 4000),
        (END, 1, 5000),
        (INSTANT, 4, 6000),
    ]
    with writer.transaction():
        writer.add_process(1, 77, None, "python")
        writer.set_thread(5, 1, 78, "MainThread")
        writer.set_channel(1, "app", True)
        writer.set_channel(2, "io", True)
        for site, (channel, label) in enumerate([(1, "Epoch 0"), (2, "load"), (1, "step"), (1, "flag")], start=1):
            writer.add_string(site, label)
            writer.add_site(site, channel, site, 1 if site == 3 else None)
        writer.set_meta("run_id", "r1")
        writer.add_graph(7, "Loss", "%")
        writer.add_graph(8, "Load", "")
        for series, graph, name in ((9, 7, "Training"), (10, 8, "CPU"), (11, 7, "Validation")):
            writer.add_series(series, graph, name)
        writer.add_samples(9, [10**18, 10**18 + 2_500], [1.5, 2.5])
        writer.add_samples(9, [10**18 + 9_000], [3.5])
        writer.add_heatmap(12, "weights", "2^x", [-1.0, 0.0, 1.0])
        writer.add_heatmap_column(12, 10**18 + 4_999, [0, 3, 0, 7])
        writer.add_events(5, [site << 2 | kind for kind, site, _ in rows], [int(us * 1000) for _, _, us in rows])
    writer.close()
    finalise(writer.path)
    return writer.path


def test_processes_threads_and_events(path: Path) -> None:
    trace = openTrace(str(path))
    assert [process.pid for process in trace.processes] == [77]
    process = trace.process(77)
    assert process.name == "python"
    assert [thread.tid for thread in process.threads] == [78]
    events = process.thread(78).events
    assert len(events) == 2
    epoch, flag = events
    assert isinstance(epoch, Event)
    assert (epoch.label, epoch.duration, epoch.timestamp, epoch.channel) == ("Epoch 0", 5000, 10**15, "app")
    assert [(e.label, e.duration, e.timestamp - 10**15, e.channel) for e in epoch.children()] == [
        ("flag", 0, 1000, "app"),
        ("load", 0, 2000, "io"),
        ("step", 1000, 3000, "app"),
    ]
    assert epoch.children()[1].nanoseconds == (10**18 + 2_000_000, 500)
    assert epoch.children()[2].metadata == "Epoch 0"
    assert (flag.label, flag.duration, len(flag.children()), len(epoch.children()[2].children())) == ("flag", 0, 0, 0)
    assert max(events, key=lambda event: event.duration) == epoch
    assert events[-1] == flag
    assert [event.label for event in events[:1]] == ["Epoch 0"]


def test_what_is_not_there_says_so(path: Path) -> None:
    trace = openTrace(path)
    with pytest.raises(KeyError, match="no process 1"):
        trace.process(1)
    with pytest.raises(KeyError, match="no thread 1"):
        trace.processes[0].thread(1)
    with pytest.raises(RuntimeError, match="cannot open"):
        openTrace(path.with_name("missing.pvti"))


def test_line_graphs_and_heat_maps(path: Path) -> None:
    trace = openTrace(path)
    loss, load = trace.lineGraphs
    assert [(graph.name, graph.unit) for graph in (loss, load)] == [("Loss", "%"), ("Load", "")]
    assert [[line.name for line in graph.series] for graph in (loss, load)] == [["Training", "Validation"], ["CPU"]]
    training, validation = loss.series
    assert (training.timestamps - 10**15).tolist() == [0, 2, 9]
    assert training.values.tolist() == [1.5, 2.5, 3.5]
    assert (len(validation.timestamps), len(validation.values)) == (0, 0)
    (weights,) = trace.heatmaps
    assert (weights.name, weights.unit, weights.edges.tolist()) == ("weights", "2^x", [-1, 0, 1])
    assert (weights.timestamps - 10**15).tolist() == [4]
    assert weights.quantities.tolist() == [[0, 3, 0, 7]]


def test_what_the_file_says_of_itself(path: Path) -> None:
    trace = openTrace(path)
    assert trace.channels == ["app", "io"]
    assert (trace.metadata["run_id"], trace.metadata["state"]) == ("r1", "finalised")


def test_what_damage_has_cost(path: Path) -> None:
    assert (openTrace(path).lost, openTrace(path).verified) == ([], "yes")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE slices SET site = zeroblob(length(site))")
    trace = openTrace(path)
    ((kind, count, first),) = [(loss["kind"], loss["count"], loss["first"]) for loss in trace.lost]
    assert (kind, count, trace.verified) == ("events", 1, "partly")
    assert "its checksum differs" in first
    with pytest.raises(FormatError, match="its checksum differs"):
        _ = trace.processes[0].threads[0].events


def test_traces_of_other_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "imports"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    events = [{"ph": "X", "pid": 3, "tid": 4, "ts": 10, "dur": 5, "name": "work", "cat": "c", "args": {"batch": 2}}]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    (event,) = openTrace(path).process(3).threads[0].events
    assert (event.label, event.channel, event.duration, json.loads(event.metadata or "")) == (
        "work",
        "c",
        5,
        {"batch": 2},
    )
    del event
    gc.collect()  # The folder of the import goes with the last object; now, not within a later test.
    assert list(folder.iterdir()) == []
