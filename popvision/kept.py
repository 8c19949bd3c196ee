"""Values kept in memory: an LRU cache with a byte budget, and what an opened file keeps for as long as it is open.

    Kept            belongs to one opened file (`source.kept`) and goes with it
      once          a column that the file holds: read at the first question, kept as long as the owner
      recent        a value worked out for some arguments (tile, IPU, query ...): kept within a byte budget
      beside        the Kept of this owner together with another one; it goes when either goes
    BoundedCache    the LRU cache behind `recent`

A look-up costs about a microsecond. Callers that ask for the same key at the same time get one computation: the first
computes, the others wait for its value or its exception. An exception is never kept. All of it is safe to use from
several threads.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

#: Budget of the recent values of one opened file, and of one pair of files.
MOST_BYTES = 128 << 20

#: Elements of a list, tuple, set or dictionary that are measured; the rest count as their mean.
_MEASURED = 100


def byte_size(value: Any) -> int:
    """Bytes of a value with what it refers to: `nbytes` where it states them, else its parts, estimated for long lists.

    An object that is no container and states nothing counts its own bytes alone."""
    stated = getattr(value, "nbytes", None)
    if isinstance(stated, int):
        return stated
    if hasattr(value, "memory_usage"):  # a DataFrame; what its cells of text refer to is measured by a sample
        return int(value.memory_usage().sum()) + sum(map(_cells, _text_columns(value)))
    own = sys.getsizeof(value)
    if isinstance(value, Mapping):
        return own + _sampled(value.keys(), len(value)) + _sampled(value.values(), len(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return own + _sampled(value, len(value))
    if is_dataclass(value) and not isinstance(value, type):
        return own + sum(byte_size(getattr(value, field.name)) for field in fields(value))
    return own


def _text_columns(frame: Any) -> list[Any]:
    return [frame.iloc[:, at] for at, kind in enumerate(frame.dtypes) if kind.kind == "O"]


def _cells(column: Any) -> int:
    step = -(-len(column) // _MEASURED) or 1
    return sum(map(byte_size, column.iloc[::step].tolist())) * step


def _sampled(values: Any, count: int) -> int:
    """Bytes of `count` values, from at most `_MEASURED` of them spread evenly."""
    step = -(-count // _MEASURED) or 1
    sample = values[::step] if isinstance(values, Sequence) else list(islice(values, _MEASURED))
    return sum(map(byte_size, sample)) * count // max(len(sample), 1)


class _Computation(Future[V]):
    """A value under way, and the thread that computes it."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()


class BoundedCache(Generic[K, V]):
    """An LRU cache: the values used least recently go when all of them weigh more than `budget`.

    `weigh` states what a value takes of the budget (bytes, if nothing else is said). A value above the whole budget,
    or above `largest`, is given to the caller and not kept."""

    def __init__(self, budget: int, weigh: Callable[[V], int] = byte_size, *, largest: int | None = None) -> None:
        self._weigh = weigh
        self._largest = budget if largest is None else min(largest, budget)
        self._lock = threading.Lock()
        self._entries: LRUCache[K, tuple[V, int]] = LRUCache(budget, getsizeof=_weight)
        self._under_way: dict[K, _Computation[V]] = {}

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """The value of a key, from `compute()` where it is not here.

        Raises what `compute` raises, in every thread that waited for it; RuntimeError when `compute` asks for its own
        key."""
        with self._lock:
            entry = self._entries.get(key)
        return self.get_all([key], lambda _: [compute()])[0] if entry is None else entry[0]

    def get_all(self, keys: Sequence[K], compute: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """The values of several keys: `compute` gets those that are not here, each once, and gives their values."""
        found: dict[K, V] = {}
        waiting: dict[K, _Computation[V]] = {}
        own: dict[K, _Computation[V]] = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                entry = self._entries.get(key)
                if entry is not None:
                    found[key] = entry[0]
                elif key in self._under_way:
                    waiting[key] = self._under_way[key]
                else:
                    own[key] = self._under_way[key] = _Computation()
        if own:
            found |= self._compute(own, compute)
        for key, computation in waiting.items():
            if computation.thread == threading.get_ident():
                raise RuntimeError(f"computing {key!r} asks for {key!r} again")
            found[key] = computation.result()
        return [found[key] for key in keys]

    def _compute(self, own: dict[K, _Computation[V]], compute: Callable[[list[K]], Iterable[V]]) -> dict[K, V]:
        try:
            values = dict(zip(own, compute(list(own)), strict=True))
            for key, value in values.items():
                self.put(key, value)  # weighing a value may read a column that the file lacks
        except BaseException as problem:
            with self._lock:
                for key in own:
                    del self._under_way[key]
            for computation in own.values():
                computation.set_exception(problem)
            raise
        with self._lock:
            for key in own:
                del self._under_way[key]
        for key, computation in own.items():
            computation.set_result(values[key])
        return values

    def peek(self, key: K) -> V | None:
        """The value of a key, None where it is not here; it counts as used."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def awaited(self, key: K, seconds: float) -> V | None:
        """The value of a key that is here, or that another thread finishes within `seconds`; None otherwise, also where
        its computation raises."""
        with self._lock:
            entry = self._entries.get(key)
            computation = None if entry is not None else self._under_way.get(key)
        if entry is not None:
            return entry[0]
        if computation is None or computation.thread == threading.get_ident():
            return None
        try:
            return computation.result(seconds)
        except Exception:  # TimeoutError; whoever asks for the value itself gets its exception
            return None

    def put(self, key: K, value: V) -> None:
        """Keep a value that was read along with others."""
        weight = self._weigh(value)
        if weight <= self._largest:
            with self._lock:
                self._entries[key] = (value, weight)

    def remove(self, key: K) -> None:
        """Let go of a value; nothing happens where it is not here."""
        with self._lock:
            self._entries.pop(key, None)

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def all_keys(self) -> list[K]:
        """Keys of all values, in no order."""
        with self._lock:
            return list(self._entries)

    @property
    def weight(self) -> int:
        """What all values weigh together."""
        with self._lock:
            return int(self._entries.currsize)


def _weight(entry: tuple[Any, int]) -> int:
    return entry[1]


class Kept:
    """What is kept of one opened file. Keys are names, or tuples of a name and what the value depends on."""

    def __init__(self, budget: int = MOST_BYTES) -> None:
        self._budget = budget
        self._lasting: BoundedCache[Hashable, Any] = BoundedCache(sys.maxsize, lambda _: 0)
        self._recent: BoundedCache[Hashable, Any] = BoundedCache(budget)
        self._beside: WeakKeyDictionary[Any, Kept] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def once(self, key: Hashable, read: Callable[[], T]) -> T:
        """The value of a key: `read()` the first time, the same object as long as the owner lives."""
        return cast(T, self._lasting.get(key, read))

    def recent(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of a key, computed again once values used since have filled the budget."""
        return cast(T, self._recent.get(key, compute))

    def awaited(self, key: Hashable, seconds: float) -> Any:
        """A recent value that is here or comes within `seconds`; None otherwise. It starts no computation."""
        return self._recent.awaited(key, seconds)

    def recent_all(self, keys: Sequence[Hashable], compute: Callable[[list[Any]], Iterable[T]]) -> list[T]:
        """The values of several keys: `compute` gets those that are not here any more and gives their values."""
        return cast("list[T]", self._recent.get_all(keys, compute))

    @property
    def recent_bytes(self) -> int:
        """Bytes of the recent values."""
        return self._recent.weight

    def beside(self, other: object) -> Kept:
        """What is kept of this owner and another one together; it goes when either goes."""
        with self._lock:
            found = self._beside.get(other)
            if found is None:
                found = self._beside[other] = Kept(self._budget)
            return found
