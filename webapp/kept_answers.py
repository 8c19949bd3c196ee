"""Answers of routes kept for the next client that asks the same: several people look at one report at once.

An answer belongs to an opened report and its query, so it goes when the report's file has changed and is opened again.
Clients that ask together wait for one answer. Least recently used answers go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from flask import Response, request

from popvision.analysis.report.source import ReportSource

MOST_BYTES = 32 << 20  #: of all answers of one report
_LARGEST = 1 << 20  #: a larger answer is not kept


@dataclass(frozen=True)
class _Answer:
    data: bytes
    mimetype: str
    headers: tuple[tuple[str, str], ...]


class KeptAnswers:
    """What one report was asked. Safe to use from several threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, bytes], _Answer] = OrderedDict()
        self._under_way: dict[tuple[str, bytes], Future[_Answer]] = {}

    def answer(self, name: tuple[str, bytes], make: Callable[[], Response]) -> Response:
        """The answer called `name`; `make()` where it is not here. What `make` raises, everybody who waited gets."""
        with self._lock:
            held = self._kept.get(name)
            if held is not None:
                self._kept.move_to_end(name)
                return _response(held)
            waiting = self._under_way.get(name)
            if waiting is None:
                own = self._under_way[name] = Future()
        if waiting is not None:
            return _response(waiting.result())
        try:
            made = _taken(make())
        except BaseException as problem:
            with self._lock:
                del self._under_way[name]
            own.set_exception(problem)
            raise
        with self._lock:
            del self._under_way[name]
            self._keep(name, made)
        own.set_result(made)
        return _response(made)

    def _keep(self, name: tuple[str, bytes], made: _Answer) -> None:
        if len(made.data) > min(_LARGEST, self._most):
            return
        self._kept[name] = made
        self._bytes += len(made.data)
        while self._bytes > self._most:
            self._bytes -= len(self._kept.popitem(last=False)[1].data)


_stores: WeakKeyDictionary[ReportSource, KeptAnswers] = WeakKeyDictionary()
_guard = threading.Lock()


def kept_answer(source: ReportSource, make: Callable[[], Response]) -> Response:
    """The answer of `source` to this request: route and query. Only for routes that read nothing else of a request."""
    with _guard:
        store = _stores.get(source)
        if store is None:
            store = _stores[source] = KeptAnswers()
    return store.answer((request.path, request.query_string), make)


def _taken(response: Response) -> _Answer:
    headers = tuple((name, value) for name, value in response.headers if name not in ("Content-Type", "Content-Length"))
    return _Answer(response.get_data(), response.mimetype or "", headers)


def _response(answer: _Answer) -> Response:
    return Response(answer.data, mimetype=answer.mimetype, headers=dict(answer.headers))
