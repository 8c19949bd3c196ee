"""The cache with a byte budget, and what an opened report keeps: budgets, threads, and the end of the owner."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from weakref import ref

import numpy as np
import pandas as pd
import pytest

from popvision.analysis.compare.matching import match_programs, match_steps, match_variables
from popvision.analysis.compare.report_diff import compare_reports
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.source import ReportSource
from popvision.kept import BoundedCache, Kept, byte_size
from tests.reports import write_tiny


class SlowCache:
    """The same rules, spelled out: a list of (key, weight), the least recently used first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.entries: OrderedDict[int, int] = OrderedDict()

    def get(self, key: int, weight: int) -> bool:
        """Whether it was here."""
        if key in self.entries:
            self.entries.move_to_end(key)
            return True
        if weight <= self.budget:
            while sum(self.entries.values()) + weight > self.budget:
                self.entries.popitem(last=False)
            self.entries[key] = weight
        return False


def test_the_least_recently_used_go_and_the_budget_is_kept() -> None:
    chance = random.Random(1)
    weights = [chance.randrange(1, 130) for _ in range(40)]
    cache: BoundedCache[int, bytes] = BoundedCache(300, len)
    twin = SlowCache(300)
    for _ in range(5_000):
        key = chance.randrange(40)
        computed = []
        value = cache.get(key, lambda key=key, computed=computed: computed.append(key) or bytes(weights[key]))
        assert len(value) == weights[key]
        assert (not computed) == twin.get(key, weights[key])
        assert cache.weight == sum(twin.entries.values()) <= 300
        assert sorted(cache.all_keys()) == sorted(twin.entries)


def test_a_value_above_the_budget_or_the_largest_size_is_given_and_not_kept() -> None:
    cache: BoundedCache[str, bytes] = BoundedCache(100, len, largest=10)
    assert cache.get("a", lambda: bytes(11)) == bytes(11)
    assert "a" not in cache
    cache.put("b", bytes(101))
    assert len(cache) == 0
    cache.put("c", bytes(10))
    assert cache.peek("c") == bytes(10)
    cache.remove("c")
    cache.remove("c")
    assert cache.peek("c") is None
    assert cache.weight == 0


def test_callers_of_one_key_compute_it_once_and_other_keys_do_not_wait() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10, lambda _: 1)
    begun, go = threading.Event(), threading.Event()
    computed: list[str] = []

    def slow() -> int:
        computed.append("slow")
        begun.set()
        assert go.wait(10)
        return 7

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get("x", slow))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    assert cache.get("y", lambda: 1) == 1
    go.set()
    for thread in threads:
        thread.join(10)
    assert found == [7] * 8
    assert computed == ["slow"]


def test_a_value_is_awaited_only_while_another_thread_computes_it() -> None:
    kept = Kept(1_000)
    begun, go = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go.wait(60)
        return 7

    assert kept.awaited("x", 60) is None
    thread = threading.Thread(target=kept.recent, args=("x", slow))
    thread.start()
    assert begun.wait(60)
    assert kept.awaited("x", 0) is None
    threading.Timer(0.01, go.set).start()
    assert kept.awaited("x", 60) == 7
    thread.join(60)
    assert kept.awaited("x", 0) == 7


def test_an_awaited_value_that_fails_is_none_and_its_own_key_is_not_awaited() -> None:
    kept = Kept(1_000)
    begun, go = threading.Event(), threading.Event()

    def fail() -> int:
        assert kept.awaited("x", 60) is None
        begun.set()
        assert go.wait(60)
        raise ValueError("no")

    def ask() -> None:
        with contextlib.suppress(ValueError):
            kept.recent("x", fail)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(60)
    threading.Timer(0.01, go.set).start()
    assert kept.awaited("x", 60) is None
    thread.join(60)


def test_many_threads_never_compute_a_key_twice_and_never_pass_the_budget() -> None:
    kept = Kept(8_000)
    computed: list[int] = []
    over: list[int] = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(400):
            key = chance.randrange(60)
            assert kept.once(key, lambda key=key: computed.append(key) or key) == key
            assert len(kept.recent(key, lambda key=key: np.full(key, key))) == key
            if kept.recent_bytes > 8_000:
                over.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(computed) == sorted(set(computed))
    assert not over


def test_an_exception_reaches_everybody_who_waited_and_is_not_kept() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10, lambda _: 1)
    begun, go = threading.Event(), threading.Event()

    def fail() -> int:
        begun.set()
        assert go.wait(10)
        raise ValueError("no such tile")

    raised: list[str] = []

    def ask() -> None:
        try:
            cache.get("x", fail)
        except ValueError as problem:
            raised.append(str(problem))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)
    assert raised == ["no such tile"] * 3
    assert cache.get("x", lambda: 3) == 3


def test_a_value_that_cannot_be_weighed_is_computed_again() -> None:
    def refuse(_: int) -> int:
        raise ValueError("no size")

    cache: BoundedCache[int, int] = BoundedCache(100, refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="no size"):
            cache.get(1, lambda: 5)


def test_a_value_that_needs_itself_is_refused() -> None:
    kept = Kept()
    with pytest.raises(RuntimeError, match="'x'"):
        kept.once("x", lambda: kept.once("x", int))
    assert kept.once("x", lambda: kept.once("y", lambda: 5)) == 5


def test_of_several_keys_only_those_that_are_not_here_are_computed() -> None:
    kept = Kept()
    wanted: list[list[int]] = []

    def square(keys: list[int]) -> list[int]:
        wanted.append(keys)
        return [key * key for key in keys]

    assert kept.recent_all([2, 3, 2], square) == [4, 9, 4]
    assert kept.recent_all([3, 4], square) == [9, 16]
    assert wanted == [[2, 3], [4]]


@dataclass
class Shape:
    name: str
    columns: list[np.ndarray]


def test_sizes_count_what_a_value_refers_to() -> None:
    array = np.zeros(1_000)
    assert byte_size(array) == 8_000
    assert byte_size(Shape("x", [array, array])) > 16_000
    assert byte_size({"a": array, "b": (array, array)}) > 24_000
    texts = [f"variable {i:06}" for i in range(100_000)]
    exact = sys.getsizeof(texts) + sum(map(sys.getsizeof, texts))
    assert byte_size(texts) == pytest.approx(exact, rel=0.02)
    frame = pd.DataFrame({"name": texts, "bytes": np.arange(100_000)})
    assert byte_size(frame) == pytest.approx(exact + 800_000, rel=0.1)
    assert byte_size(frame.set_axis(["same", "same"], axis=1)) == byte_size(frame)
    assert byte_size([]) == sys.getsizeof([])


def test_what_a_report_keeps_goes_with_it(tmp_path: Path) -> None:
    """Neither the values of a report nor those of a pair keep a report alive."""
    sources = [ReportSource(write_tiny(tmp_path / name)) for name in ("a", "b")]
    source, target = sources
    memory_by_tile(source)
    timeline(source, 0)
    match_programs(source, target)
    match_variables(source, target)
    match_steps(source, target)
    compare_reports(source, target)
    column = source.kept.once("big column", lambda: Column())
    pair = source.kept.beside(target).recent("sums", lambda: Column())
    gone = [ref(column), ref(pair), ref(target)]
    assert source.kept.beside(target).recent("sums", Column) is pair
    del target, pair, sources[1]
    gc.collect()
    assert [each() is None for each in gone] == [False, True, True]
    gone.append(ref(source))
    del source, column
    sources.clear()
    gc.collect()
    assert [each() for each in gone] == [None] * 4


class Column:
    """Something that can be referred to weakly."""
