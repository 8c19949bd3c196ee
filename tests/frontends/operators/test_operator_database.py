"""torch's own samples of every operator: results and gradients agree with float64 torch, or one sentence refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frontends.operators.operator_database import Outcome, database, full_name, judge, samples

#: a sample of each of these in every run of the tests
SLICE = (
    "add",
    "baddbmm",
    "cat",
    "clamp",
    "cumsum",
    "gather",
    "index_select",
    "logsumexp",
    "masked_fill",
    "nn.functional.conv2d",
    "nn.functional.conv_transpose2d",
    "nn.functional.cross_entropy",
    "nn.functional.gelu",
    "nn.functional.layer_norm",
    "nn.functional.max_pool2d",
    "scatter_add",
    "svd",
    "nonzero",
)
#: operators of which each of these samples is refused (of poolings those that want indices), one a line: 178 of 702
REFUSED = Path(__file__).with_name("refused_operators.txt")
MOST = 4  #: samples of an operator, spread over all that torch has


def check(entry: Any, most: int) -> tuple[int, int]:
    """Check an operator; gives how many samples were compared, and how many refused."""
    compared = refused = 0
    for number, sample in enumerate(samples(entry, most)):
        verdict = judge(entry, sample, plain_sum=number % 2 == 1)
        assert verdict.outcome not in (Outcome.DIFFERS, Outcome.BREAKS), f"{sample.summary()}: {verdict.text}"
        if verdict.outcome is Outcome.REFUSED:
            refused += 1
            assert verdict.text.endswith(".")
            assert "\n" not in verdict.text
        compared += verdict.outcome is Outcome.AGREES
    return compared, refused


def test_a_slice() -> None:
    entries = {full_name(entry): entry for entry in database()}
    for name in SLICE:
        compared, refused = check(entries[name], 1)
        listed = name in REFUSED.read_text().splitlines()
        assert (compared, refused) == ((0, 1) if listed else (1, 0)), name


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 720, 12))
def test_every_operator(first: int) -> None:
    listed = set(REFUSED.read_text().splitlines())
    for entry in database()[first : first + 12]:
        compared, refused = check(entry, MOST)
        if compared or refused:  # torch gives samples that it can compute, and the same twice
            assert (compared == 0) == (full_name(entry) in listed), full_name(entry)


@pytest.mark.long
def test_the_table_has_operators_of_this_torch() -> None:
    names = {full_name(entry) for entry in database()}
    assert set(REFUSED.read_text().splitlines()) <= names
    assert len(names) == 702
    assert len(REFUSED.read_text().splitlines()) == 178
