"""Random programs give the same results by kernels, vertex by vertex, and in NumPy, on the model and on hardware."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integration.random_program import Pick
from tests.integration.running import agree, by_vertices, device, expected, make, run_engine, seeded


def drawn(data: Any) -> Pick:
    return lambda low, high: int(data.draw(st.integers(low, high)))


def differential(pick: Pick) -> None:
    with device(bool(pick(0, 1)), pick(4, 16)) as place:
        made, runs = make(pick, place), pick(1, 2)
        wanted = expected(made, runs)
        options = {"debug.allowOutOfMemory": "true"}
        agree(run_engine(made, place, made.body.program, runs, options), wanted)
        agree(run_engine(made, place, by_vertices(made.body.program, made.graph), runs, options), wanted)


@given(st.data())
def test_three_ways_agree(data: Any) -> None:
    differential(drawn(data))


@pytest.mark.parametrize("first", [0, 40, *(pytest.param(n, marks=pytest.mark.long) for n in range(80, 400, 40))])
def test_three_ways_agree_on_larger_programs(first: int) -> None:
    for seed in range(first, first + 40):
        differential(seeded(seed))
