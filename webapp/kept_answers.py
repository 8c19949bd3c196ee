"""Answers of routes kept for the next client that asks the same: several people look at one report at once.

An answer belongs to an opened report and its query, so it goes when the report's file has changed and is opened again.
Clients that ask together wait for one answer. Least recently used answers go first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import Response, request

from popvision.analysis.report.source import ReportSource
from popvision.kept import BoundedCache

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
        self._answers: BoundedCache[tuple[str, bytes], _Answer] = BoundedCache(
            most_bytes, lambda answer: len(answer.data), largest=_LARGEST
        )

    def answer(self, name: tuple[str, bytes], make: Callable[[], Response]) -> Response:
        """The answer called `name`; `make()` where it is not here. What `make` raises, everybody who waited gets."""
        return _response(self._answers.get(name, lambda: _taken(make())))


def kept_answer(source: ReportSource, make: Callable[[], Response]) -> Response:
    """The answer of `source` to this request: route and query. Only for routes that read nothing else of a request."""
    answers = source.kept.once("answers of routes", KeptAnswers)
    return answers.answer((request.path, request.query_string), make)


def _taken(response: Response) -> _Answer:
    headers = tuple((name, value) for name, value in response.headers if name not in ("Content-Type", "Content-Length"))
    return _Answer(response.get_data(), response.mimetype or "", headers)


def _response(answer: _Answer) -> Response:
    return Response(answer.data, mimetype=answer.mimetype, headers=dict(answer.headers))
