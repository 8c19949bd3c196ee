"""openTrace and its objects, with the names that scripts use."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        writer.add_events(5, [site << 2 | kind for kind, site, _ in rows], [int(us * 1000) for _, _, us in rows])
    writer.close()
    finalise(writer.path)
    return writer.path


def test_processes_threads_and_events(path: Path) -> None:
    trace = openTrace(str(path))
    assert [process.pid for process in trace.processes] == [77]
    process = trace.process(77)
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
