"""Queries in processes of their own: limits of time and memory hold whatever SQLite or DuckDB is doing, and a query
can be cancelled at once.

A process that has answered waits for the next query: starting one takes half a second. The viewer has its own
processes, of which it runs two at once; `ask` is the way of everything else: command line, `popvision.open`, agents.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.query.answer import PROBLEMS, TOO_MUCH_MEMORY, Answer, Limits
from popvision.query.guard import check_statement

#: Bytes of SQLite's heap in a process of the viewer, and in one of a command or a script.
VIEWER_HEAP, HEAP = 512 << 20, 1 << 30

#: Processes that wait for a query.
_MOST_IDLE = 4

#: Seconds that a process may take to start and to open the report, and that a query may take beyond its limit.
_START, _GRACE = 60.0, 1.0


class QueryProcesses:
    """Runs queries of any threads, `most` at once, each in a process with `heap` bytes for SQLite."""

    def __init__(self, most: int = 2, heap: int = VIEWER_HEAP) -> None:
        self._most = most
        self._heap = heap
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[str]] = []
        self._running: dict[str, subprocess.Popen[str] | None] = {}
        self._cancelled: set[str] = set()

    def run(self, id: str, report: Path, sql: str, limits: Limits, engine: str = "sqlite") -> Answer:
        """Run a SELECT on the report (a profile.pop or its folder) under a name for `cancel`.

        Raises FormatError with one sentence for whatever is wrong, cancelled included; NotRecordedError for a view
        whose tables the report lacks."""
        check_statement(sql)
        with self._lock:
            if id in self._running or len(self._running) >= self._most:
                raise FormatError(
                    f"{self._most} queries are running; cancel one, or run this one when they have ended."
                )
            self._running[id] = None
        try:
            return self._run(id, report, sql, limits, engine)
        finally:
            with self._lock:
                self._running.pop(id, None)
                self._cancelled.discard(id)

    def cancel(self, id: str) -> bool:
        """Kill the process of a query. Whether it was running."""
        with self._lock:
            process = self._running.get(id)
            if id in self._running:
                self._cancelled.add(id)
            if process is not None:
                process.kill()
            return id in self._running

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            processes = [*self._idle, *filter(None, self._running.values())]
            self._idle.clear()
        for process in processes:
            _end(process)

    def forget(self) -> None:
        """In a forked child: the processes are the parent's, and end when no one else holds their stdin."""
        processes = [*self._idle, *filter(None, self._running.values())]
        self._lock, self._idle, self._running, self._cancelled = threading.Lock(), [], {}, set()
        for process in processes:
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError, AttributeError):
                    os.close(stream.fileno())  # type: ignore[union-attr] # not flushed: the parent does that
            process.returncode = 0  # this child cannot wait for it

    def _run(self, id: str, report: Path, sql: str, limits: Limits, engine: str) -> Answer:
        process = self._take()
        with self._lock:
            self._running[id] = process
            if id in self._cancelled:
                process.kill()
        order = {"report": str(report.absolute()), "sql": sql, "engine": engine, "seconds": limits.seconds}
        order |= {"rows": limits.rows, "skip": limits.skip, "text": limits.text}
        clock = _Clock(process)
        try:
            answer = _ask(process, order, clock, limits.seconds + _GRACE)
        except BaseException:  # Ctrl-C: what is on its way is of this query
            _end(process)
            raise
        with self._lock:
            was_cancelled = id in self._cancelled
        if answer is None or was_cancelled:
            _end(process)
            raise FormatError(_ending(was_cancelled, clock.rang, limits))
        with self._lock:
            if stays := len(self._idle) < _MOST_IDLE:
                self._idle.append(process)
        if not stays:
            _end(process)
        if "problem" in answer:
            raise PROBLEMS[answer["kind"]](str(answer["problem"]))
        return Answer(answer["columns"], answer["rows"], answer["more"], answer["verified"])

    def _take(self) -> subprocess.Popen[str]:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.poll() is None:
                    return process
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "popvision.query.worker", str(self._heap)],  # no module of the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": _paths()},
        )


def _paths() -> str:
    """PYTHONPATH of the processes: with the folder of popvision in a checkout, which may be the current one."""
    root = Path(__file__).resolve().parents[2]
    checkout = str(root) if (root / "pyproject.toml").is_file() else ""
    return os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH", ""), checkout)))


class _Clock:
    """Kills a process that takes too long. `rang` = it did."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.rang = False
        self._process = process

    def _ring(self) -> None:
        self.rang = True
        self._process.kill()

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Kill the process unless the block ends within `seconds`."""
        timer = threading.Timer(seconds, self._ring)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _ask(process: subprocess.Popen[str], order: dict[str, Any], clock: _Clock, seconds: float) -> dict[str, Any] | None:
    """The answer, None where the process ended first."""
    assert process.stdin is not None
    assert process.stdout is not None
    rows: list[tuple[Any, ...]] = []
    try:
        with clock.within(_START):
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            part = json.loads(process.stdout.readline())
        with clock.within(seconds):
            while not part.keys() & {"more", "problem"}:
                rows.extend(map(tuple, part.get("rows", ())))
                part = json.loads(process.stdout.readline())
    except (OSError, ValueError):
        return None
    return dict(part) | {"rows": rows}


def _ending(was_cancelled: bool, timed_out: bool, limits: Limits) -> str:
    if was_cancelled:
        return "The query was cancelled."
    if timed_out:
        return f"The query took longer than {limits.seconds:g} s; narrow it with WHERE."
    return TOO_MUCH_MEMORY


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            stream.close()  # type: ignore[union-attr]


#: Queries of this process; in the hundreds a mistake of its caller.
_PROCESSES = QueryProcesses(most=256, heap=HEAP)
_numbers = itertools.count()
atexit.register(_PROCESSES.close)
os.register_at_fork(after_in_child=_PROCESSES.forget)


def ask(report: str | Path, sql: str, limits: Limits = Limits(), engine: str = "sqlite") -> Answer:  # noqa: B008
    """Run a SELECT over VIEWS and the tables of a report, a profile.pop or its folder, by "sqlite" or "duckdb"; by
    "parquet" over the table `rows` that a Parquet file holds.

    Raises FormatError, one sentence, for SQL that is wrong, does anything but read, or exceeds `limits` or the memory;
    NotRecordedError for a view whose tables the report lacks."""
    return _PROCESSES.run(f"{threading.get_ident()}-{next(_numbers)}", Path(report), sql, limits, engine)
