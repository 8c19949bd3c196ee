"""Five programs as libpvti's users write them, started from a shell with each form of PVTI_OPTIONS: they do and print
the same with and without tracing, and the files hold what the options say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from popvision.formats.pvti.reader import TraceReader
from tests.pvti.traced import PATIENCE, ROOT, tree

EPOCHS = """
import libpvti as pvti
channel = pvti.createTraceChannel("MNIST Application")
loss = pvti.Graph("Loss", "").addSeries("Training")
total = 0
for epoch in range(3):
    with pvti.Tracepoint(channel, f"Epoch:{epoch}"):
        for step in range(2):
            with pvti.Tracepoint(channel, "train"):
                pvti.Tracepoint.begin(channel, "forward")
                total += epoch * step
                pvti.Tracepoint.end(channel, "forward")
            loss.add(total)
print(total)
"""

THREADS = """
import threading
import libpvti as pvti
main = pvti.createTraceChannel("main")
def work(number):
    channel = pvti.createTraceChannel(f"Thread {number}")
    for item in range(2):
        with pvti.Tracepoint(channel, f"item {item}"):
            done.append(number)
done = []
with pvti.Tracepoint(main, "all"):
    threads = [threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(3)]
    for each in threads: each.start()
    for each in threads: each.join()
print(sorted(done))
"""

LOADER = """
import multiprocessing
import libpvti as pvti
class Dataset:
    def __len__(self): return 6
    def __getitem__(self, i): return i * i
def load(dataset, indices, queue):
    for i in indices: queue.put(dataset[i])
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    dataset = Dataset()
    pvti.instrument(dataset, ["__getitem__"], pvti.createTraceChannel("dataset"))
    queue = context.Queue()
    workers = [context.Process(target=load, args=(dataset, range(n, 6, 2), queue)) for n in range(2)]
    with pvti.Tracepoint(pvti.createTraceChannel("app"), "epoch"):
        for each in workers: each.start()
        print(sorted(queue.get() for _ in range(len(dataset))))
    for each in workers: each.join()
"""

DUNDERS = """
import libpvti as pvti
channel = pvti.createTraceChannel("model")
class Model:
    def __call__(self, x): return x + 1
    def __iter__(self): return iter([1, 2])
    def __len__(self): return 2
    def __enter__(self): return self
    def __exit__(self, *problem): return False
    def step(self): return self(1)
model, other = Model(), Model()
for again in range(3):  # as in a constructor that runs again
    pvti.instrument(model, ("__call__", "__iter__", "__len__", "step"), channel)
with model:
    print(model.step(), list(model), len(model), other.step(), type(model).__name__)
"""

FAILS = """
import libpvti as pvti
channel = pvti.createTraceChannel("app")
@pvti.instrument_fn(channel)
def save(path):
    raise RuntimeError("disk full")
with pvti.Tracepoint(channel, "run"):
    pvti.Tracepoint.event(channel, "start")
    with pvti.Tracepoint(channel, "epoch"):
        save("model.pt")
"""

_TRAIN = ("train", [("forward", [])])
_ITEM = "Dataset.__getitem__"

#: Program, its exit code and output, and events of its threads with all channels on: tree -> number of threads.
PROGRAMS: dict[str, tuple[str, int, str, dict[str, int]]] = {
    "epochs": (EPOCHS, 0, "3\n", {str([(f"Epoch:{epoch}", [_TRAIN] * 2) for epoch in range(3)]): 1}),
    "threads": (
        THREADS,
        0,
        "[0, 0, 1, 1, 2, 2]\n",
        {str([("all", [])]): 1, str([(f"item {item}", []) for item in range(2)]): 3},
    ),
    "loader": (
        LOADER,
        0,
        "[0, 1, 4, 9, 16, 25]\n",
        {str([("epoch", [])]): 1, str([(f"__mp_main__.{_ITEM}", [])] * 3): 2},
    ),
    "dunders": (
        DUNDERS,
        0,
        "2 [1, 2] 2 2 Model\n",
        {
            str(
                [
                    ("__main__.Model.step", [("__main__.Model.__call__", [])]),
                    ("__main__.Model.__iter__", []),
                    ("__main__.Model.__len__", []),  # of list(model)
                    ("__main__.Model.__len__", []),
                ]
            ): 1
        },
    ),
    "fails": (FAILS, 1, "", {str([("run", [("epoch", [("__main__.save", [])])])]): 1}),
}


def start(folder: Path, code: str, options: str | None) -> subprocess.CompletedProcess[str]:
    """Run a program from a file in its folder, as a shell would."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PVTI_OPTIONS", "POPVISION_RUN_ID")}
    environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{ROOT / 'compat'}"
    if options is not None:
        environment["PVTI_OPTIONS"] = options
    (folder / "program.py").write_text(code)
    command = [sys.executable, "program.py"]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def recorded(folder: Path) -> dict[str, int]:
    """The trees of events of all threads below a folder that have some -> number of threads. All files are whole."""
    readers = [TraceReader(path) for path in sorted(folder.rglob("*.pvti"))]
    assert {reader.state for reader in readers} <= {"finalised"}
    found = Counter(str(tree(reader, thread.id)) for reader in readers for thread in reader.threads())
    del found["[]"]
    return dict(found)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "options",
    [
        '{"enable": "true"}',
        '{"enable": "true", "directory": "reports"}',
        '{"enable": true, "directory": "./reports/today"}',
        '{"enable":"true","directory":"reports","duration":3600,"channels":[]}',
    ],
)
def test_all_events_are_recorded(tmp_path: Path, program: str, options: str) -> None:
    code, status, printed, events = PROGRAMS[program]
    done = start(tmp_path, code, options)
    assert (done.returncode, done.stdout) == (status, printed), done.stderr
    assert recorded(tmp_path) == events
    below = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pvti")}
    assert below == {"." if "directory" not in options else "reports/today" if "today" in options else "reports"}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("options", [None, '{"enable": "false", "directory": "reports"}'])
def test_without_tracing_nothing_changes_and_nothing_is_written(
    tmp_path: Path, program: str, options: str | None
) -> None:
    code, status, printed, _ = PROGRAMS[program]
    done = start(tmp_path, code, options)
    assert (done.returncode, done.stdout) == (status, printed)
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["program.py"]
    assert "libpvti" not in done.stderr
    assert "popvision" not in done.stderr


@pytest.mark.parametrize(
    ("program", "channel", "events"),
    [
        ("epochs", "other", {}),
        ("threads", "Thread 1", {str([("item 0", []), ("item 1", [])]): 1}),
        ("loader", "dataset", {str([(f"__mp_main__.{_ITEM}", [])] * 3): 2}),
        ("dunders", "model", PROGRAMS["dunders"][3]),
        ("fails", "app", PROGRAMS["fails"][3]),
    ],
)
def test_only_the_channels_of_the_option(tmp_path: Path, program: str, channel: str, events: dict[str, int]) -> None:
    code, status, printed, _ = PROGRAMS[program]
    done = start(tmp_path, code, f'{{"enable": "true", "directory": "reports", "channels": ["{channel}"]}}')
    assert (done.returncode, done.stdout) == (status, printed), done.stderr
    assert recorded(tmp_path) == events


def test_a_program_that_fails_says_why_and_marks_the_instant(tmp_path: Path) -> None:
    done = start(tmp_path, FAILS, '{"enable": "true", "directory": "reports"}')
    assert done.stderr.splitlines()[-1] == "RuntimeError: disk full"
    (path,) = tmp_path.rglob("*.pvti")
    reader = TraceReader(path)
    (thread,) = reader.threads()
    assert len(reader.events(thread.id).instants) == 1
    assert reader.events(thread.id).unfinished == []
