"""Distances, places among boundaries and bags of embeddings, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.frontends.operators.operator_twin import check_operator

A, B = torch.randn(4, 3), torch.randn(5, 3)
INDICES, OFFSETS = torch.tensor([1, 2, 4, 4, 3, 2, 9]), torch.tensor([0, 4, 4])
WEIGHT = torch.randn(10, 3)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, float("inf")])
def test_distances(p: float) -> None:
    check_operator(lambda a, b: torch.cdist(a, b, p), A, B)


def test_distances_of_batches_and_equal_points() -> None:
    """The gradient of a distance of 0 is 0."""
    check_operator(lambda a, b: torch.cdist(a, b), torch.randn(2, 4, 3), torch.randn(2, 2, 3))
    check_operator(lambda a: torch.cdist(a, a.detach()), A)


def test_distances_of_all_pairs() -> None:
    check_operator(lambda a: F.pdist(a), A)


@pytest.mark.parametrize("right", [False, True])
def test_places_among_boundaries(right: bool) -> None:
    check_operator(
        lambda x, b, rows: (
            torch.bucketize(x, b, right=right),
            torch.bucketize(x, b, right=right, out_int32=True),
            torch.searchsorted(rows, x, right=right),
        ),
        torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.0, 1.0]]),
        torch.tensor([0.0, 0.5, 2.0]),
        torch.tensor([[0.5, 1.0, 2.0], [0.0, 1.0, 3.0]]),
        training=False,
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    """The second bag is empty."""
    check_operator(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), WEIGHT, INDICES, OFFSETS)
    check_operator(lambda w, i: F.embedding_bag(i, w, mode=mode), WEIGHT, INDICES[:6].reshape(2, 3))


def test_bags_with_weights_and_with_padding() -> None:
    def function(w: Any, s: Any, i: Any, o: Any) -> Any:
        last = torch.cat([o, o.new_full([1], 7)])
        return (
            F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
            F.embedding_bag(i, w, o, padding_idx=4),
            F.embedding_bag(i, w, last, include_last_offset=True),
        )

    check_operator(function, WEIGHT, torch.rand(7), INDICES, OFFSETS)
