"""Peaks of a curve against the definition, looked up position by position."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.liveness.peaks import CLEAR, peaks


def slow_peaks(values: list[int]) -> list[int]:
    if not values or min(values) == max(values):
        return []
    clear = CLEAR * (max(values) - min(values))

    def falls(at: int, by: int, same_is_higher: bool) -> bool:
        place = at + by
        while 0 <= place < len(values):
            if values[place] > values[at] or (same_is_higher and values[place] == values[at]):
                return False
            if values[place] <= values[at] - clear:
                return True
            place += by
        return True

    return [at for at in range(len(values)) if falls(at, -1, True) and falls(at, 1, False)]


@given(st.lists(st.integers(0, 60), max_size=40))
def test_peaks_are_those_of_the_definition(values: list[int]) -> None:
    assert peaks(values, most=100).tolist() == slow_peaks(values)


def test_small_steps_are_no_peaks_and_the_highest_are_kept() -> None:
    assert peaks([0, 100, 98, 99, 0, 60, 0]).tolist() == [1, 5]
    assert peaks([0, 9, 0, 5, 0, 7, 0], most=2).tolist() == [1, 5]
    assert peaks([4, 4, 4]).tolist() == []
