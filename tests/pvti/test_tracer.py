"""The tracer in programs of their own: nesting, threads, processes, kills, graphs and heat maps."""

from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.errors import FormatError
from tests.pvti.traced import PRELUDE, ROOT, UNTIL_WRITTEN, labels, only_trace, run, traces, tree


def test_scopes_nest_and_end_when_an_exception_passes(tmp_path: Path) -> None:
    run(
        """
try:
    with pvti.Tracepoint(channel, "outer"), pvti.Tracepoint(channel, "middle"):
        with pvti.Tracepoint(channel, "first"):
            pass
        with pvti.Tracepoint(channel, "second"):
            raise ValueError
except ValueError:
    with pvti.Tracepoint(channel, "after"):
        pass
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    (thread,) = reader.threads()
    assert tree(reader, thread.id) == [("outer", [("middle", [("first", []), ("second", [])])]), ("after", [])]
    assert reader.state == "finalised"
    assert reader.events(thread.id).unfinished == []


def test_begin_and_end_may_be_orphans_or_cross(tmp_path: Path) -> None:
    run(
        """
T = pvti.Tracepoint
T.end(channel, "never begun")
T.begin(channel, "a"); T.begin(channel, "b"); T.end(channel, "a"); T.end(channel, "b")
T.begin(channel, "never ended")
T.event(channel, "flag")
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    (thread,) = reader.threads()
    events = reader.events(thread.id)
    assert [labels(reader, lane) for lane in events.lanes] == [["a", "never ended"], ["b"]]
    assert events.unfinished == [(0, 1)]
    assert len(events.instants) == 1
    assert (int(events.instants.depth[0]), int(events.instants.parent[0])) == (1, 1)
    a, b = events.lanes[0], events.lanes[1]
    assert a.start[0] < b.start[0] < a.end[0] < b.end[0]


def test_threads_have_their_own_stacks_and_names(tmp_path: Path) -> None:
    run(
        """
import threading
def work(n):
    with pvti.Tracepoint(channel, f"outer {n}"):
        for _ in range(500):
            with pvti.Tracepoint(channel, f"inner {n}"):
                pass
threads = [threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
pvti.ThreadName("renamed")
work(9)
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    rows = reader.threads()
    assert sorted(row.name for row in rows) == ["renamed", *(f"worker {n}" for n in range(4))]
    assert len({row.tid for row in rows}) == 5
    for row in rows:
        n = row.name[-1] if row.name != "renamed" else "9"
        assert tree(reader, row.id) == [(f"outer {n}", [(f"inner {n}", [])] * 500)]


def test_long_traces_keep_every_event_across_chunks(tmp_path: Path) -> None:
    run("for i in range(30000):\n    with pvti.Tracepoint(channel, 'x'):\n        pass\n", tmp_path)
    path = only_trace(tmp_path).path
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT sum(n) FROM slices").fetchone() == (30000,)
        assert db.execute("SELECT count(*) FROM raw_chunks").fetchone() == (0,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_disabled_channels_drop_their_events(tmp_path: Path) -> None:
    done = run(
        """
with pvti.Tracepoint(channel, "kept"):
    pvti.disableTraceChannel(channel)
    with pvti.Tracepoint(channel, "dropped"):
        pvti.Tracepoint.event(channel, "dropped too")
print(pvti.checkTraceChannel(channel), pvti.listTraceChannel())
pvti.enableTraceChannel(channel)
with pvti.Tracepoint(channel, "kept again"):
    pass
assert pvti.createTraceChannel("work") is channel
print(pvti.getCurrentTraceFilename())
""",
        tmp_path,
    )
    first, second = done.stdout.splitlines()
    assert first == "False [['Drivers', True], ['Poplar', True], ['Framework', True], ['work', False]]"
    reader = only_trace(tmp_path)
    assert second == str(reader.path)
    assert tree(reader, reader.threads()[0].id) == [("kept", []), ("kept again", [])]


def test_metadata_stays_with_its_event(tmp_path: Path) -> None:
    run(
        """
for step in range(3):
    with pvti.Tracepoint(channel, "step", {"step": step}):
        pass
pvti.Tracepoint.event(channel, "flag", pvti.createJsonMetadata('[1, 2]'))
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    events = reader.events(reader.threads()[0].id)
    assert labels(reader, events.lanes[0]) == ["step"] * 3
    assert [json.loads(reader.metadata(site) or "") for site in events.lanes[0].site] == [{"step": n} for n in range(3)]
    assert reader.metadata(int(events.instants.site[0])) == "[1, 2]"


def test_graphs_and_heat_maps(tmp_path: Path) -> None:
    run(
        """
import numpy as np
graph = pvti.Graph("Accuracy", "%")
training, validation = graph.addSeries("Training"), graph.addSeries("Validation")
for value in (1, 2.5, np.float32(3.5)):
    training.add(value)
validation.add(np.array(7))
heatmap = pvti.HeatmapDouble("weights", [-2, -1, 0, 1], "2^x")
heatmap.add([0.2, 0.25, 0.49, 0.5, 0.99, 1, 1.5, 2, 1000])
heatmap.add(np.array([[0.0, -3.0], [float("nan"), 0.75]]))
pvti.HeatmapDouble("plain", [0, 10, 20]).add([-1, 0, 9.9, 10, 20, 21])
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    first, second = reader.series()
    assert (first.graph, first.unit, first.name, second.name) == ("Accuracy", "%", "Training", "Validation")
    times, values = reader.samples(first.id)
    assert values.tolist() == [1, 2.5, 3.5]
    assert (np.diff(times) >= 0).all()
    assert reader.samples(second.id)[1].tolist() == [7]
    weights, plain = reader.heatmaps()
    # Underflow below 1/4, bins [1/4, 1/2), [1/2, 1), [1, 2), overflow from 2 up.
    assert reader.heatmap_columns(weights)[1].tolist() == [[1, 2, 2, 2, 2], [2, 0, 1, 0, 0]]
    assert reader.heatmap_columns(plain)[1].tolist() == [[1, 2, 1, 2]]


def test_a_fork_writes_its_own_file(tmp_path: Path) -> None:
    done = run(
        """
import os
line = pvti.Graph("g").addSeries("s")
line.add(1)
with pvti.Tracepoint(channel, "parent"):
    with pvti.Tracepoint(channel, "before"):
        pass
    pid = os.fork()
    if pid == 0:
        line.add(2)
        with pvti.Tracepoint(channel, "child"):
            with pvti.Tracepoint(channel, "before"):
                pass
        raise SystemExit
    os.waitpid(pid, 0)
    with pvti.Tracepoint(channel, "after"):
        pass
print(os.getpid(), pid)
""",
        tmp_path,
    )
    parent_pid, child_pid = map(int, done.stdout.split())
    by_pid = {reader.processes()[0][0]: reader for reader in traces(tmp_path)}
    assert set(by_pid) == {parent_pid, child_pid}
    parent, child = by_pid[parent_pid], by_pid[child_pid]
    assert child.processes()[0][1] == parent_pid
    assert child.meta["run_id"] == parent.meta["run_id"]
    assert tree(parent, parent.threads()[0].id) == [("parent", [("before", []), ("after", [])])]
    assert tree(child, child.threads()[0].id) == [("child", [("before", [])])]
    assert [reader.samples(reader.series()[0].id)[1].tolist() for reader in (parent, child)] == [[1], [2]]
    inside = child.events(child.threads()[0].id).lanes[0].start[0]
    outer = parent.events(parent.threads()[0].id).lanes[0]
    assert outer.start[0] < inside < outer.end[0]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_workers_write_their_own_files(tmp_path: Path, method: str) -> None:
    run(
        f"""
import multiprocessing
def work(n):
    with pvti.Tracepoint(channel, f"job {{n}}"):
        pass
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    workers = [context.Process(target=work, args=(n,)) for n in range(2)]
    [w.start() for w in workers]; [w.join() for w in workers]
    with pvti.Tracepoint(channel, "main"):
        pass
""",
        tmp_path,
    )
    found = sorted(str(tree(reader, thread.id)) for reader in traces(tmp_path) for thread in reader.threads())
    assert found == [str([(name, [])]) for name in ("job 0", "job 1", "main")]
    assert {reader.state for reader in traces(tmp_path)} == {"finalised"}
    assert len({reader.meta["run_id"] for reader in traces(tmp_path)}) == 1


KILLED = """
import sqlite3
path = pvti.getCurrentTraceFilename()
file = None
while True:
    for _ in range(400):
        with pvti.Tracepoint(channel, "x"):
            pass
    # What is in the file now, as another program sees it: begins and ends.
    file = file or sqlite3.connect(f"file:{path.replace('%', '%25')}?mode=ro", uri=True)
    written, = file.execute("SELECT coalesce(sum(n), 0) FROM raw_chunks").fetchone()
    if written:
        print(written, flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_program_leaves_all_it_had_written(tmp_path: Path, seed: int) -> None:
    """What was in the file before the kill, whenever the tracer wrote it, is there afterwards and nests."""
    reached = _kill(tmp_path, 0.05 + 0.13 * seed, wait_for_first=True)
    reader = only_trace(tmp_path)
    assert reader.state == "recording"
    events = reader.events(reader.threads()[0].id)
    assert len(events.lanes) == 1
    assert len(events.lanes[0]) >= (reached + 1) // 2 > 0
    assert (np.diff(events.lanes[0].start) > 0).all()


@pytest.mark.long
def test_killed_at_random_often(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    for attempt in range(200):
        folder = tmp_path / str(attempt)
        reached = _kill(folder, float(random.uniform(0.2, 1.2)))
        try:
            readers = traces(folder)
        except FormatError:  # killed while it created the file
            assert reached == 0
            continue
        found = sum(len(reader.events(reader.threads()[0].id).lanes[0]) for reader in readers if reader.threads())
        assert found >= (reached + 1) // 2


def _kill(folder: Path, after: float, wait_for_first: bool = False) -> int:
    folder.mkdir(exist_ok=True)
    script = folder / "program.py"
    script.write_text(PRELUDE + KILLED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PVTI_OPTIONS": json.dumps({"directory": str(folder)})}
    with subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        if wait_for_first:
            select.select([program.stdout], [], [], 60)
        time.sleep(after)  # the moment of the kill is drawn
        program.send_signal(signal.SIGKILL)
        printed = [line for line in program.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    return int(printed[-1]) if printed else 0


def test_a_live_trace_can_be_read(tmp_path: Path) -> None:
    done = run(
        UNTIL_WRITTEN
        + """
for _ in range(10):
    with pvti.Tracepoint(channel, "x"):
        pass
until_written(10)
reader = TraceReader(pvti.getCurrentTraceFilename())
print(reader.state, len(reader.events(reader.threads()[0].id).lanes[0]))
""",
        tmp_path,
    )
    assert done.stdout == "recording 10\n"
    assert len(only_trace(tmp_path).events(only_trace(tmp_path).threads()[0].id).lanes[0]) == 10


def test_signal_handlers_that_trace_do_no_harm(tmp_path: Path) -> None:
    run(
        """
import signal, time
fired = 0
def handler(*_):
    global fired
    fired += 1
    with pvti.Tracepoint(channel, "handler"):
        pass
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for _ in range(60000):
    with pvti.Tracepoint(channel, "x"):
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print(fired)
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    events = reader.events(reader.threads()[0].id)
    counted: dict[str, int] = {}
    for lane in events.lanes:
        for label in labels(reader, lane):
            counted[label] = counted.get(label, 0) + 1
    assert counted["x"] == 60000
    assert counted["handler"] > 10
    assert events.unfinished == []


def test_an_interrupt_inside_the_tracer_does_not_end_it(tmp_path: Path) -> None:
    done = run(
        """
import signal
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
interrupts = 0
for _ in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0004)
        while True:
            pvti.Tracepoint.event(channel, "x")
    except KeyboardInterrupt:
        interrupts += 1
pvti.Tracepoint.event(channel, "last")
print(interrupts)
""",
        tmp_path,
    )
    assert done.stdout == "300\n"
    assert done.stderr == ""
    reader = only_trace(tmp_path)
    instants = reader.events(reader.threads()[0].id).instants
    assert reader.names.label[reader.names.of_site[instants.site[-1]]] == "last"
    assert (np.diff(instants.time) >= 0).all()


def test_libpvti_is_the_same_module_by_another_name(tmp_path: Path) -> None:
    run("import libpvti\nassert libpvti.Tracepoint is pvti.Tracepoint and libpvti.channel is pvti.channel\n", tmp_path)
