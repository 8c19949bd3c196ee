"""Answers are kept by name, made once for all who ask together, and the least recently used go first."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from flask import Response

from webapp.base.answer_cache import AnswerCache


def maker(made: list[str], text: str) -> Callable[[], Response]:
    def make() -> Response:
        made.append(text)
        return Response(text, mimetype="text/plain", headers={"Cache-Control": "no-store"})

    return make


def test_a_second_client_gets_the_same_answer() -> None:
    made: list[str] = []
    kept = AnswerCache()
    first = kept.answer(("/a", b"x=1"), maker(made, "one"))
    second = kept.answer(("/a", b"x=1"), maker(made, "two"))
    other = kept.answer(("/a", b"x=2"), maker(made, "three"))
    assert [first.data, second.data, other.data] == [b"one", b"one", b"three"]
    assert made == ["one", "three"]
    assert second.mimetype == "text/plain"
    assert second.headers["Cache-Control"] == "no-store"
    assert len(second.headers.getlist("Content-Type")) == 1


def test_the_least_recently_used_go_first() -> None:
    made: list[str] = []
    kept = AnswerCache(most_bytes=8)
    for name in (b"a", b"b", b"a", b"c", b"a", b"b"):
        kept.answer(("/", name), maker(made, name.decode() * 4))
    assert made == ["aaaa", "bbbb", "cccc", "bbbb"]


def test_an_answer_larger_than_the_store_is_not_kept() -> None:
    made: list[str] = []
    kept = AnswerCache(most_bytes=3)
    for _ in range(2):
        assert kept.answer(("/", b""), maker(made, "long")).data == b"long"
    assert made == ["long", "long"]


def test_who_asks_together_waits_for_one_answer() -> None:
    made: list[str] = []
    begun, go = threading.Event(), threading.Event()
    kept = AnswerCache()

    def slow() -> Response:
        begun.set()
        go.wait(10)
        return maker(made, "slow")()

    answers: list[bytes] = []

    def ask() -> None:
        answers.append(kept.answer(("/", b""), slow).data)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    go.set()
    for thread in threads:
        thread.join(10)
    assert answers == [b"slow"] * 4
    assert made == ["slow"]


def test_a_problem_is_raised_and_not_kept() -> None:
    kept = AnswerCache()

    def fail() -> Response:
        raise ValueError("no such window")

    with pytest.raises(ValueError, match="no such window"):
        kept.answer(("/", b""), fail)
    assert kept.answer(("/", b""), maker([], "now")).data == b"now"
