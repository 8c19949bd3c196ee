"""A pytest plugin that notes which tests call which public bodies, and how long each test takes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stubs.replaced import watch
from tests.stubs.surface import Body, bodies

_callers: dict[str, dict[str, float]] = {}
_called: set[str] = set()


def pytest_configure() -> None:
    """Watch every body before the tests import it."""
    by_place: dict[tuple[int, str], list[Body]] = {}
    for body in bodies():
        by_place.setdefault((id(body.owner), body.name), []).append(body)
    for same in by_place.values():
        watch(same, _called.add)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """One test."""
    _called.clear()
    begin = time.process_time()
    yield
    seconds = time.process_time() - begin
    for key in _called:
        _callers.setdefault(key, {})[item.nodeid] = seconds


def pytest_sessionfinish() -> None:
    """Write what was seen where STUB_CALLS says."""
    Path(os.environ["STUB_CALLS"]).write_text(json.dumps(_callers))
