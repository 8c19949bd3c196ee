"""Pooling of one to three dimensions through popnn.pooling, which ignores padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs.popnn.pooling import PoolingType, PoolParams, pool, poolInputGradient


def _spread(values: Any, dims: int, default: Sequence[int] = ()) -> list[int]:
    given = list(values) if isinstance(values, list | tuple) else [values]
    if not given:
        return list(default)
    return given * dims if len(given) == 1 else given


def _paddings(
    field: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil: bool
) -> list[int]:
    """Padding (or, negative, truncation) after each dimension, so that the windows fit exactly. With `ceil` a last
    window may reach over the end if it begins inside."""
    after = []
    for size, window, step, before in zip(field, kernel, stride, padding, strict=True):
        last = size + 2 * before - window
        windows = -(-last // step) if ceil else last // step
        if ceil and windows * step >= size + before:
            windows -= 1
        after.append(windows * step + window - size - before)
    return after


def _batched(input: Tensor, dims: int) -> Tensor:
    return input.reshape([1, *input.shape()]) if input.rank() < dims + 2 else input


def _max_pool(at: Building, input: Tensor, dims: int, kernel_size: Any, stride: Any, padding: Any, ceil: bool) -> Any:
    acts = _batched(input, dims)
    kernel = _spread(kernel_size, dims)
    steps, before = _spread(stride, dims, kernel), _spread(padding, dims)
    field = acts.shape()[2:]
    after = _paddings(field, kernel, steps, before, ceil)
    params = PoolParams(
        PoolingType.MAX, field, kernel, steps, before, after, acts.dim(1), acts.dim(0), acts.elementType()
    )
    out = pool(at.graph, params, acts, at.program, at.name("pool"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = slopes[0].reshape(out.shape())
        back = poolInputGradient(at.graph, params, acts, out, slope, False, at.program, at.name("poolGrad"))
        return {"input": back.reshape(input.shape())}

    return (out.reshape(out.shape()[1:]) if input.rank() < acts.rank() else out), backward


@lowers("aten.max_pool2d.default", kind="MaxPool", call="popnn.pooling.pool, poolInputGradient", own_backward=True)
def max_pool2d(
    at: Building, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    return _max_pool(at, input, 2, kernel_size, stride, padding, ceil_mode)
