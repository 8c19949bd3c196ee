"""What was worked out about two reports, kept as long as both live."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from popvision.analysis.report.kept import kept

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

T = TypeVar("T")


class _Pairs:
    """Values of one source with each of its targets; a target that goes takes its values along."""

    def __init__(self) -> None:
        self.values: WeakKeyDictionary[ReportSource, dict[str, tuple[Any, Any]]] = WeakKeyDictionary()
        self.lock = RLock()


def kept_pair(source: ReportSource, target: ReportSource, name: str, read: Callable[[], T], stamp: Any = None) -> T:
    """The value called `name` of the pair: `read()` the first time and again when `stamp` changed (what depends on
    the recorded runs passes both generations), else the same object as before."""
    pairs = kept(source, "pairs", _Pairs)
    with pairs.lock:
        values = pairs.values.setdefault(target, {})
        if name not in values or values[name][0] != stamp:
            values[name] = (stamp, read())
        return values[name][1]  # type: ignore[no-any-return]
