"""The kernel of convolutions beside a slow one that adds every product, for any order of the operands in memory."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplibs.poplin.convolutions import windows
from simulator.poplibs.poplin.convolutions.windows import convolve, sliding
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams


def slow(acts: Any, weights: Any, params: CanonicalConvParams) -> Any:
    """One multiply-add for each output position and kernel position that meet an input."""
    apart = acts.reshape(params.batch, params.groups, params.in_channels, *params.field).astype(np.float64)
    out = np.zeros((params.groups, params.batch, *params.output_field, params.out_channels))
    dims = range(len(params.field))
    for at in product(*(range(n) for n in params.output_field)):
        for kernel in product(*(range(n) for n in params.kernel)):
            place = [
                at[d] * params.stride[d] + kernel[d] * params.kernel_dilation[d] - params.padding_lower[d] for d in dims
            ]
            if any(place[d] % params.input_dilation[d] for d in dims):
                continue
            inputs = [place[d] // params.input_dilation[d] for d in dims]
            if all(0 <= inputs[d] < params.field[d] for d in dims):
                read = apart[(slice(None), slice(None), slice(None), *inputs)]
                out[(slice(None), slice(None), *at)] += np.einsum(
                    "bgc,gmc->gbm", read, weights[(slice(None), slice(None), slice(None), *kernel)]
                )
    return out


@st.composite
def convolutions(draw: Any) -> CanonicalConvParams:
    dims = draw(st.integers(1, 3))

    def each(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(least, most)) for _ in range(dims))

    return CanonicalConvParams(
        "float",
        "float",
        draw(st.sampled_from([1, 1, 3])),
        draw(st.sampled_from([1, 2, 9])),
        each(1, 6 if dims > 1 else 20),
        each(1, 4),
        draw(st.sampled_from([1, 3, 8])),
        draw(st.sampled_from([1, 5, 8])),
        each(1, 2),
        each(-1, 2),
        each(-1, 2),
        each(1, 2),
        each(1, 2),
    )


def in_order(rng: Any, shape: tuple[int, ...], order: list[int]) -> Any:
    """Random values with axes that lie in memory in this order."""
    stored = rng.normal(size=[shape[axis] for axis in order]).astype(np.float32)
    return stored.transpose(np.argsort(order))


@given(convolutions(), st.data())
def test_any_convolution(params: CanonicalConvParams, data: Any) -> None:
    if min(params.output_field) < 1:
        return
    rng = np.random.default_rng(1)
    rank = len(params.field)
    acts = in_order(
        rng,
        (params.batch, params.groups * params.in_channels, *params.field),
        data.draw(st.permutations(range(2 + rank))),
    )
    weights = in_order(
        rng,
        (params.groups, params.out_channels, params.in_channels, *params.kernel),
        data.draw(st.permutations(range(3 + rank))),
    )
    np.testing.assert_allclose(convolve(acts, weights, params), slow(acts, weights, params), rtol=1e-4, atol=1e-4)


def plain(batch: int, field: int, kernel: int, channels: int, outputs: int, **changes: Any) -> CanonicalConvParams:
    ones, zeros = (1, 1), (0, 0)
    return CanonicalConvParams(
        "float",
        "float",
        1,
        batch,
        (field, field),
        (kernel, kernel),
        channels,
        outputs,
        **{"stride": ones, "padding_lower": zeros, "padding_upper": zeros, "kernel_dilation": ones}
        | {"input_dilation": ones}
        | changes,
    )


@pytest.mark.parametrize(
    ("params", "way"),
    [
        (plain(2, 9, 3, 8, 4), "windows"),
        (plain(2, 6, 3, 8, 4, padding_lower=(2, 2), padding_upper=(2, 2)), "spread"),
        (plain(2, 6, 3, 8, 4, input_dilation=(2, 2)), "spread"),
        (plain(2, 8, 8, 8, 4, input_dilation=(2, 2), stride=(2, 2)), "places"),
    ],
)
def test_each_way(params: CanonicalConvParams, way: str) -> None:
    assert sliding(params).way == way
    rng = np.random.default_rng(2)
    acts = rng.normal(size=(params.batch, params.in_channels, *params.field)).astype(np.float32)
    weights = rng.normal(size=(1, params.out_channels, params.in_channels, *params.kernel)).astype(np.float32)
    np.testing.assert_allclose(convolve(acts, weights, params), slow(acts, weights, params), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", [0, 2])
def test_shares_of_the_batch(padding: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose matrix would be large is convolved in shares, the last of them smaller."""
    monkeypatch.setattr(windows, "MOST_ELEMENTS", 5000)
    sliding.cache_clear()
    params = plain(7, 8, 3, 4, 4, padding_lower=(padding, padding), padding_upper=(padding, padding))
    assert 1 < sliding(params).share < 7
    rng = np.random.default_rng(3)
    for order in ([0, 1, 2, 3], [0, 2, 3, 1], [1, 2, 3, 0]):
        acts = in_order(rng, (7, 4, 8, 8), order)
        weights = in_order(rng, (1, 4, 4, 3, 3), [0, 2, 3, 4, 1])
        np.testing.assert_allclose(convolve(acts, weights, params), slow(acts, weights, params), rtol=1e-4, atol=1e-4)
    sliding.cache_clear()
