"""Queries in processes of their own, so that one can be cancelled at once, whatever SQLite is doing.

A process that has answered waits for the next query: starting one takes half a second. At most `MOST` run."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.query.answer import Answer, Limits
from popvision.query.guard import check_statement

#: Queries at once.
MOST = 2

#: Seconds beyond the limit of the query after which its process is killed: it starts, and opens the report.
_GRACE = 5.0


class QueryProcesses:
    """Runs queries of any threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[str]] = []
        self._running: dict[str, subprocess.Popen[str] | None] = {}
        self._cancelled: set[str] = set()

    def run(self, id: str, report: Path, sql: str, limits: Limits) -> Answer:
        """Run a SELECT on the report (a profile.pop or its folder) under a name for `cancel`.

        Raises FormatError with one sentence for whatever is wrong, cancelled included. `limits.heap` is that of the
        process."""
        check_statement(sql)
        with self._lock:
            if id in self._running or len(self._running) >= MOST:
                raise FormatError(f"{MOST} queries are running; cancel one, or run this one when they have ended.")
            self._running[id] = None
        try:
            return self._run(id, report, sql, limits)
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

    def _run(self, id: str, report: Path, sql: str, limits: Limits) -> Answer:
        process = self._take()
        with self._lock:
            self._running[id] = process
            if id in self._cancelled:
                process.kill()
        order = {"report": str(report), "sql": sql, "seconds": limits.seconds, "rows": limits.rows}
        answer = _ask(process, order | {"skip": limits.skip, "text": limits.text}, limits.seconds + _GRACE)
        with self._lock:
            was_cancelled = id in self._cancelled
        if answer is None or was_cancelled:
            timed_out = process.poll() is None
            _end(process)
            raise FormatError(_ending(was_cancelled, timed_out, limits))
        with self._lock:
            self._idle.append(process)
        if "problem" in answer:
            raise FormatError(str(answer["problem"]))
        return Answer(answer["columns"], [tuple(row) for row in answer["rows"]], answer["more"])

    def _take(self) -> subprocess.Popen[str]:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.poll() is None:
                    return process
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "popvision.query.worker"],  # no module of the current folder
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


def _ask(process: subprocess.Popen[str], order: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """The answer, None where the process ended or took too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    ends = time.monotonic() + seconds
    try:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], max(0.0, ends - time.monotonic()))[0]:
            return None
        return dict(json.loads(process.stdout.readline()))
    except (OSError, ValueError):
        return None


def _ending(was_cancelled: bool, timed_out: bool, limits: Limits) -> str:
    if was_cancelled:
        return "The query was cancelled."
    if timed_out:
        return f"The query took longer than {limits.seconds:g} s; narrow it with WHERE."
    return "The query needs too much memory; narrow it with WHERE or LIMIT."


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            stream.close()  # type: ignore[union-attr]
