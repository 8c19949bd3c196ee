"""An LRU cache of the answers of routes, since several people may view one report at once.

An answer belongs to an opened report and a query, and is dropped when the report's file changes and is opened again.
Concurrent requests of one answer wait for a single computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import Response, request

from popvision.analysis.report.source import ReportSource
from popvision.kept import BoundedCache

MOST_BYTES = 32 << 20  #: of all cached answers of one report
_LARGEST = 1 << 20  #: bytes of the largest cached answer


@dataclass(frozen=True)
class _Answer:
    data: bytes
    mimetype: str
    headers: tuple[tuple[str, str], ...]


class AnswerCache:
    """The cached answers of one report. Thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._answers: BoundedCache[tuple[str, bytes], _Answer] = BoundedCache(
            most_bytes, lambda answer: len(answer.data), largest=_LARGEST
        )

    def answer(self, name: tuple[str, bytes], make: Callable[[], Response]) -> Response:
        """The cached answer `name`, else that of `make()`. Every waiting caller gets an error that `make` raises."""
        return _response(self._answers.get(name, lambda: _taken(make())))


def cached_answer(source: ReportSource, make: Callable[[], Response]) -> Response:
    """The answer of `source` to the current request. Only for routes that depend on path and query alone."""
    answers = source.kept.once("answers of routes", AnswerCache)
    return answers.answer((request.path, request.query_string), make)


def _taken(response: Response) -> _Answer:
    headers = tuple((name, value) for name, value in response.headers if name not in ("Content-Type", "Content-Length"))
    return _Answer(response.get_data(), response.mimetype or "", headers)


def _response(answer: _Answer) -> Response:
    return Response(answer.data, mimetype=answer.mimetype, headers=dict(answer.headers))
