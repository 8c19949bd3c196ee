"""Columns read from a report once and kept as long as its source lives.

What a compilation says never changes while a report is open (only runs are appended), so a column read for one question
serves the next. Each value belongs to a `ReportSource`; it goes when the source goes.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

T = TypeVar("T")

_values: WeakKeyDictionary[ReportSource, dict[str, Any]] = WeakKeyDictionary()
_locks: WeakKeyDictionary[ReportSource, RLock] = WeakKeyDictionary()
_guard = RLock()


def kept(source: ReportSource, name: str, read: Callable[[], T]) -> T:
    """The value called `name` of `source`: `read()` the first time, the same object afterwards.

    Two threads that ask together read once. An exception of `read` is raised and nothing is kept.
    """
    with _guard:
        values = _values.setdefault(source, {})
        lock = _locks.setdefault(source, RLock())
    if name in values:
        return values[name]  # type: ignore[no-any-return]
    with lock:
        if name not in values:
            values[name] = read()
        return values[name]  # type: ignore[no-any-return]
