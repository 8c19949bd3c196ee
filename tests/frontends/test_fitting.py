"""The search for what fits, beside trying everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.frontends.fitting import find_fitting


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("hundredths", [0, 5, 30, 55])
def test_the_largest_that_fits_of_all(batch: int, hundredths: int) -> None:
    for limit in range(batch):
        tried: list[tuple[int, float | None]] = []
        found = find_fitting(batch, _machine(limit, hundredths, tried), 60)
        assert found.batch == (limit or None)
        assert found.proportion == (hundredths / 100 if hundredths else None)
        assert len(set(tried)) == len(tried) == found.tried_batches + found.tried_proportions
        assert found.is_complete


def _machine(limit: int, hundredths: int, tried: list[tuple[int, float | None]]) -> Callable[[int, float | None], bool]:
    """Takes batches up to `limit` and proportions up to `hundredths`; notes what it was asked."""

    def fits(batch: int, proportion: float | None) -> bool:
        tried.append((batch, proportion))
        return batch <= limit if proportion is None else round(proportion * 100) <= hundredths

    return fits


def test_no_compilation_begins_after_the_time() -> None:
    found = find_fitting(8, lambda size, proportion: pytest.fail("compiled"), 0)
    assert (found.batch, found.proportion, found.is_complete) == (None, None, False)


def test_a_proportion_that_fits_outlives_a_batch_that_is_refused() -> None:
    def fits(batch: int, proportion: float | None) -> bool:
        if proportion is None:
            raise ValueError(f"Expected 8 labels, not {batch}.")
        return proportion <= 0.2

    found = find_fitting(8, fits, 60)
    assert (found.batch, found.proportion, found.is_complete) == (None, 0.2, True)
    assert found.refused_batch == "Expected 8 labels, not 1."
