"""A pytest plugin that notes which tests call which public bodies, and how long each test takes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.replaced import watch
from tests.stubs.surface import bodies

_callers: dict[str, dict[str, float]] = {}
_called: set[str] = set()
_keys = {}


def pytest_configure() -> None:
    """Watch every body before the tests import it."""
    rows = bodies()
    for body in rows:
        _keys[id(body.owner), body.name, body.overload] = body.key
    for body in {(id(b.owner), b.name): b for b in rows}.values():
        watch(body, _note)


def _note(owner: Any, name: str, overload: int) -> None:
    key = _keys.get((id(owner), name, overload))
    if key is not None:
        _called.add(key)


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
