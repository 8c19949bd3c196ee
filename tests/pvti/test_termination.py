"""SIGTERM in workers of multiprocessing: nothing is lost, and the worker ends as it would without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pvti.traced import run, traces


def events(folder: Path) -> int:
    """Events with a begin and an end in all files."""
    return sum(
        len(lane) for reader in traces(folder) for thread in reader.threads() for lane in reader.events(thread.id).lanes
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_pool_keep_all_events(tmp_path: Path, method: str) -> None:
    run(
        f"""
import multiprocessing
def work(n):
    with pvti.Tracepoint(channel, "item"):
        pass
    return n
if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        assert len(pool.map(work, range(100))) == 100
""",
        tmp_path,
    )
    assert events(tmp_path) == 100
    assert {reader.state for reader in traces(tmp_path)} == {"finalised"}


def test_a_worker_ends_by_the_signal_whenever_it_comes(tmp_path: Path) -> None:
    """Workers record without a pause, so the signal meets writes, chunks and empty lanes alike."""
    printed = run(
        """
import multiprocessing
def work(done, ready, least):
    while True:
        for _ in range(50):
            with pvti.Tracepoint(channel, "item"):
                pass
        done.value += 50
        if done.value >= least:
            ready.set()
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    total = 0
    for number in range(8):
        done, ready = fork.Value("q", 0, lock=False), fork.Event()
        worker = fork.Process(target=work, args=(done, ready, 1 + 1_500 * number))
        worker.start()
        ready.wait()
        worker.terminate()
        worker.join()
        assert worker.exitcode == -15, worker.exitcode
        total += done.value
    print(total)
""",
        tmp_path,
    ).stdout
    files = traces(tmp_path)
    assert len(files) == 8
    assert events(tmp_path) >= int(printed) > 0
    assert {reader.state for reader in files} == {"finalised"}


@pytest.mark.parametrize(
    "install", ["signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", "faulthandler.register(signal.SIGTERM)"]
)
def test_a_handler_of_the_program_stays(tmp_path: Path, install: str) -> None:
    """One of Python, and one in C, of which Python does not know."""
    run(
        f"""
import faulthandler, multiprocessing, signal, sys
def work():
    {install}
    before = signal.getsignal(signal.SIGTERM)
    with pvti.Tracepoint(channel, "item"):
        pass
    assert signal.getsignal(signal.SIGTERM) is before
if __name__ == "__main__":
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
    assert worker.exitcode == 0, worker.exitcode
""",
        tmp_path,
    )


def worker_that(*lines: str) -> str:
    """A program that prints the exit code of a worker, which does this after an event; after a minute it kills it."""
    body = "\n    ".join(lines)
    return f"""
import multiprocessing, os, signal, threading, time
from tests.waiting import wait_until
def work():
    {body}
if __name__ == "__main__":
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join(60)
    print(worker.exitcode)
    worker.kill()
"""


def test_a_signal_that_the_blocked_main_thread_does_not_notice_ends_the_worker(tmp_path: Path) -> None:
    """As one does that comes right before the main thread blocks: here it is sent to another thread."""
    code = worker_that(
        'with pvti.Tracepoint(channel, "item"): pass',
        "reading, writing = os.pipe()",
        "main = f'/proc/self/task/{threading.get_native_id()}/syscall'",
        "reads = lambda: open(main).read().split()[1:2] == [hex(reading)]",
        "send = lambda: (wait_until(reads), signal.pthread_kill(threading.get_ident(), signal.SIGTERM))",
        "threading.Thread(target=send).start()",
        "os.read(reading, 1)",
    )
    assert run(code, tmp_path).stdout.split() == ["-15"]
    assert events(tmp_path) == 1
    assert {reader.state for reader in traces(tmp_path)} == {"finalised"}


def test_a_worker_that_is_told_of_signals_itself_stays_so(tmp_path: Path) -> None:
    code = worker_that(
        "mine = os.pipe2(os.O_NONBLOCK)[1]",
        "signal.set_wakeup_fd(mine)",
        'with pvti.Tracepoint(channel, "item"): pass',
        "assert signal.set_wakeup_fd(-1) == mine",
    )
    assert run(code, tmp_path).stdout.split() == ["0"]


def test_a_forked_child_of_a_worker_tells_it_nothing(tmp_path: Path) -> None:
    code = worker_that(
        'with pvti.Tracepoint(channel, "item"): pass',
        "if os.fork() == 0:",
        "    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))",
        "    os.kill(os.getpid(), signal.SIGTERM)",
        "os.wait()",
        "time.sleep(0.5)",  # nothing happens meanwhile
    )
    assert run(code, tmp_path).stdout.split() == ["0"]
