"""Programs written as libpvti's users write them, run unchanged: `import libpvti as pvti` and nothing of ours."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from tests.pvti.traced import UNTIL_WRITTEN, only_trace, run, traces, tree

DATASET = """
import libpvti as pvti
class Dataset:
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if i >= self.n: raise IndexError(i)
        return i * i
"""

TRAINING = (
    DATASET
    + """
import threading
channel = pvti.createTraceChannel("MNIST Application")
loss_graph = pvti.Graph("Loss", "")
train_series, valid_series = loss_graph.addSeries("Training"), loss_graph.addSeries("Validation")
weights = pvti.HeatmapDouble("conv1.weight", [float(e) for e in range(-16, 17)], "2^x")

class Model:
    def forward(self, batch): return sum(batch)
    def __call__(self, batch): return self.forward(batch)

@pvti.instrument_fn(channel)
def validate(model, batch):
    return model(batch)

def worker(number, out):
    own = pvti.createTraceChannel(f"Thread {number}")
    for item in range(3):
        with pvti.Tracepoint(own, f"item {item}"):
            out.append((number, item))

dataset, model = Dataset(4), Model()
pvti.instrument(dataset, ["__getitem__"], pvti.createTraceChannel("dataset"))
pvti.instrument(model, ("__call__", "forward"), channel)
results = []
workers = [threading.Thread(target=worker, args=(n, results), name=f"loader {n}") for n in range(2)]
for each in workers: each.start()
for epoch in range(2):
    with pvti.Tracepoint(channel, f"Epoch:{epoch}"):
        for step in range(2):
            with pvti.Tracepoint(channel, "step"), pvti.Tracepoint(channel, "train"):
                loss = model([dataset[step], dataset[step + 1]])
            train_series.add(loss)
            weights.add([0.5, 1.0, 3.0])
            pvti.Tracepoint.event(channel, "Batch end")
        valid_series.add(validate(model, [1, 2]))
        for each in workers: each.join()
        if epoch == 1:
            pvti.Tracepoint.begin(channel, "save")
            "checkpoint" + 5  # the TypeError of a program that dies in mid-run
"""
)


def test_a_training_program_that_dies_in_mid_run(tmp_path: Path) -> None:
    done = run(TRAINING, tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().splitlines()[-1].startswith("TypeError")
    reader = only_trace(tmp_path)
    assert reader.state == "finalised"
    by_name = {row.name: tree(reader, row.id) for row in reader.threads()}
    call: Any = ("__main__.Model.__call__", [("__main__.Model.forward", [])])
    items: list[Any] = [("__main__.Dataset.__getitem__", [])] * 2
    step = ("step", [("train", [*items, call])])
    epoch = [step, step, ("__main__.validate", [call])]
    assert by_name == {
        "MainThread": [("Epoch:0", epoch), ("Epoch:1", [*epoch, ("save", [])])],
        "loader 0": [(f"item {n}", []) for n in range(3)],
        "loader 1": [(f"item {n}", []) for n in range(3)],
    }
    main = next(row for row in reader.threads() if row.name == "MainThread")
    assert len(reader.events(main.id).instants) == 4
    assert len(reader.events(main.id).unfinished) == 1
    assert {name for name, _ in reader.channels()} >= {"MNIST Application", "dataset", "Thread 0", "Thread 1"}
    lines = {row.name: reader.samples(row.id)[1].tolist() for row in reader.series()}
    assert (lines["Training"], lines["Validation"]) == ([1.0, 5.0] * 2, [3.0, 3.0])
    (heatmap,) = reader.heatmaps()
    columns = reader.heatmap_columns(heatmap)[1]
    # 2^-16 is the lower edge of bin 0, so 0.5 = 2^-1 is in bin 15, after the underflow at 16.
    assert [(int(at), int(columns[0][at])) for at in columns[0].nonzero()[0]] == [(16, 1), (17, 1), (18, 1)]


@pytest.mark.parametrize("leave", ["sys.exit(3)", "raise SystemExit(3)", "quit(3)"])
def test_leaving_inside_open_scopes_ends_them(tmp_path: Path, leave: str) -> None:
    code = (
        f"import sys\nwith pvti.Tracepoint(channel, 'a'):\n    with pvti.Tracepoint(channel, 'b'):\n        {leave}\n"
    )
    assert run(code, tmp_path, check=False).returncode == 3
    reader = only_trace(tmp_path)
    (thread,) = reader.threads()
    assert tree(reader, thread.id) == [("a", [("b", [])])]
    assert (reader.state, reader.events(thread.id).unfinished) == ("finalised", [])


LOADER = (
    DATASET
    + """
import multiprocessing, os
def load(dataset, indices, queue):
    with pvti.Tracepoint(pvti.createTraceChannel("loader"), "worker"):
        for i in indices:
            queue.put(dataset[i])

if __name__ == "__main__":
    channel = pvti.createTraceChannel("app")
    dataset = pvti.instrument(Dataset(8), ["__getitem__", "__len__"], pvti.createTraceChannel("dataset"))
    context = multiprocessing.get_context("METHOD")
    queue = context.Queue()
    with pvti.Tracepoint(channel, "epoch"):
        half = len(dataset) // 2
        workers = [context.Process(target=load, args=(dataset, range(n, 8, 2), queue)) for n in range(2)]
        for each in workers: each.start()
        print(sorted(queue.get() for _ in range(8)))
        for each in workers: each.join()
"""
)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_data_loader_in_child_processes(tmp_path: Path, method: str) -> None:
    done = run(LOADER.replace("METHOD", method), tmp_path)
    assert done.stdout == f"{[i * i for i in range(8)]}\n"
    readers = traces(tmp_path)
    found = Counter(str(tree(reader, thread.id)) for reader in readers for thread in reader.threads())
    module = "__mp_main__" if method != "fork" else "__main__"
    worker = str([("worker", [(f"{module}.Dataset.__getitem__", [])] * 4)])
    assert found == {str([("epoch", [("__main__.Dataset.__len__", [])])]): 1, worker: 2}
    assert len({reader.meta["run_id"] for reader in readers}) == 1
    assert {reader.state for reader in readers} == {"finalised"}
    if method != "forkserver":  # whose server forks the workers
        pids = {reader.processes()[0][0]: reader.processes()[0][1] for reader in readers}
        (main,) = [pid for pid, parent in pids.items() if parent not in pids]
        assert sorted(parent == main for parent in pids.values()) == [False, True, True]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_and_tracepoints_sent_to_workers(tmp_path: Path, method: str) -> None:
    """A Tracepoint names its event by channel and label in the worker's file too, whatever ids that file gives them."""
    run(
        f"""
import multiprocessing
other = pvti.createTraceChannel("other")
def work(scope):
    with pvti.Tracepoint(other, "job"), scope:
        pass
if __name__ == "__main__":
    with pvti.Tracepoint(channel, "main"):
        scopes = [pvti.Tracepoint(channel, f"sent {{n}}") for n in range(3)]
        pool = multiprocessing.get_context("{method}").Pool(2)
        pool.map(work, scopes)
        pool.close(); pool.join()
""",
        tmp_path,
    )
    events = [event for reader in traces(tmp_path) for thread in reader.threads() for event in tree(reader, thread.id)]
    assert sorted(map(str, events)) == [str(("job", [(f"sent {n}", [])])) for n in range(3)] + [str(("main", []))]


def test_a_worker_that_is_terminated_while_it_sleeps_leaves_a_finalised_file(tmp_path: Path) -> None:
    run(
        """
import multiprocessing, signal
def work(queue):
    for _ in range(50):
        with pvti.Tracepoint(channel, "x"):
            pass
    queue.put(1)
    signal.pause()
if __name__ == "__main__":
    queue = multiprocessing.Queue()
    worker = multiprocessing.Process(target=work, args=(queue,))
    worker.start(); queue.get(); worker.terminate(); worker.join()
    assert worker.exitcode == -15, worker.exitcode
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    assert reader.state == "finalised"
    assert tree(reader, reader.threads()[0].id) == [("x", [])] * 50


def test_callbacks_begin_in_one_thread_and_end_in_another(tmp_path: Path) -> None:
    """As a stream callback whose fetch and complete come on different threads: nothing nests wrongly."""
    run(
        """
import threading
T = pvti.Tracepoint
def other():
    T.end(channel, "fetch")
    with T(channel, "inside"):
        T.begin(channel, "fetch")
T.begin(channel, "outer")
T.begin(channel, "fetch")
thread = threading.Thread(target=other); thread.start(); thread.join()
T.end(channel, "complete")
T.end(channel, "outer")
with T(channel, "after"): pass
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    main, other = reader.threads()
    # The fetch that nobody ends lasts until the last event of its thread, and that event lies in it.
    assert tree(reader, main.id) == [("outer", [("fetch", [("after", [])])])]
    assert tree(reader, other.id) == [("inside", [("fetch", [])])]
    assert [len(reader.events(row.id).unfinished) for row in (main, other)] == [1, 1]


def test_a_tracepoint_made_once_is_silent_while_its_channel_is_off(tmp_path: Path) -> None:
    run(
        """
scope = pvti.Tracepoint(channel, "scope")
with scope:
    pvti.disableTraceChannel(channel)
with scope: pass
pvti.enableTraceChannel(channel)
with scope: pass
pvti.closeTrace()
with scope: pass
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    assert tree(reader, reader.threads()[0].id) == [("scope", []), ("scope", [])]


def test_subclasses_of_tracepoint(tmp_path: Path) -> None:
    run(
        """
class PoptorchTracepoint(pvti.Tracepoint):
    def __init__(self, label, *, suffix=""):
        super().__init__(channel, "poptorch." + label + suffix)
        self.label = label
with PoptorchTracepoint("execute", suffix="!") as point:
    assert point.label == "execute"
    pvti.disableTraceChannel(channel)
with PoptorchTracepoint("dropped"): pass
pvti.enableTraceChannel(channel)
try:
    with point: raise KeyError
except KeyError: pass
PoptorchTracepoint.event(channel, "flag")
""",
        tmp_path,
    )
    reader = only_trace(tmp_path)
    assert tree(reader, reader.threads()[0].id) == [("poptorch.execute!", [])] * 2


def test_a_signal_that_ends_the_program_leaves_a_readable_file(tmp_path: Path) -> None:
    done = run(
        UNTIL_WRITTEN + "import os, signal\nfor _ in range(9):\n    with pvti.Tracepoint(channel, 'x'): pass\n"
        "until_written(9)\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n",
        tmp_path,
        check=False,
    )
    assert done.returncode == -signal.SIGTERM
    (process,) = pva.openTrace(next(tmp_path.glob("*.pvti"))).processes
    assert [event.label for event in process.threads[0].events] == ["x"] * 9


def test_torch_data_loaders(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = """
import torch.utils.data
class Torch(Dataset, torch.utils.data.Dataset): pass
dataset = pvti.instrument(Torch(6), ["__getitem__"], pvti.createTraceChannel("dataset"))
for batch in torch.utils.data.DataLoader(dataset, batch_size=2, num_workers=2):
    pass
"""
    run(DATASET + code, tmp_path)
    labels = [event for reader in traces(tmp_path) for row in reader.threads() for event in tree(reader, row.id)]
    assert labels == [("__main__.Torch.__getitem__", [])] * 6
    assert len(traces(tmp_path)) == 2
