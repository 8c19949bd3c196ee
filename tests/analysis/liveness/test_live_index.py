import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.liveness.index import LiveIndex

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=120)


@given(spans, st.integers(1, 8))
def test_every_index_has_the_intervals_of_the_slow_search(ranges: list[tuple[int, int]], least: int) -> None:
    index = LiveIndex([s for s, _ in ranges], [e for _, e in ranges], least)
    for at in range(-1, 42):
        assert index.at(at).tolist() == [i for i, (s, e) in enumerate(ranges) if s <= at < e]


@given(spans, st.integers(1, 8))
def test_checkpoints_hold_at_most_two_entries_per_interval(ranges: list[tuple[int, int]], least: int) -> None:
    index = LiveIndex([s for s, _ in ranges], [e for _, e in ranges], least)
    assert index.checkpoint_entries <= 2 * len(ranges)


def test_half_open_and_unsorted() -> None:
    index = LiveIndex([4, 0, 2], [6, 3, 2])
    assert index.at(0).tolist() == [1]
    assert index.at(3).tolist() == []
    assert index.at(5).tolist() == [0]


def test_many_checkpoints_answer_as_none() -> None:
    rng = np.random.default_rng(7)
    starts = rng.integers(0, 1000, 20_000)
    ends = starts + rng.integers(0, 300, 20_000)
    index = LiveIndex(starts, ends, least=64)
    for at in (0, 1, 499, 999, 1298):
        assert index.at(at).tolist() == np.flatnonzero((starts <= at) & (at < ends)).tolist()
