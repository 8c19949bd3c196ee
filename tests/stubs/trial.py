"""Run one test in a child process with one body replaced by a no-op.

The child is forked from a pytest session that has collected every test and run none, so a trial takes little longer
than its test.
"""

from __future__ import annotations

import os
import select
import signal

import pytest
from _pytest.runner import runtestprotocol

from tests.stubs.replaced import stub
from tests.stubs.surface import Body

#: Seconds after which a test counts as red: a no-op may well make it wait for ever.
PATIENCE = 120.0
_GREEN, _RED = 0, 1


def turns_red(body: Body | None, item: pytest.Item) -> bool:
    """Whether the test fails while `body` does nothing (None = as it is)."""
    child = os.fork()
    if child == 0:
        _run(body, item)
    handle = os.pidfd_open(child)
    has_ended = bool(select.select([handle], [], [], PATIENCE)[0])
    os.close(handle)
    if not has_ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) != _GREEN


def _run(body: Body | None, item: pytest.Item) -> None:
    code = _RED
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        if body is not None:
            stub(body)
        reports = runtestprotocol(item, nextitem=None, log=False)
        code = _RED if any(report.failed for report in reports) else _GREEN
    finally:
        os._exit(code)
