"""Match shapes as NumPy does. Arguments that C++ changes in place are returned here, because tensors are values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from simulator.graph.tensor import Tensor
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.poputil.exceptions import poplibs_error


@overload
def broadcastToMatch(a: Tensor, shape: Sequence[int], /) -> Tensor: ...
@overload
def broadcastToMatch(a: Tensor, b: Tensor, /) -> tuple[Tensor, Tensor]: ...
@overload
def broadcastToMatch(a: Tensor, b: Tensor, c: Tensor, /) -> tuple[Tensor, Tensor, Tensor]: ...
def broadcastToMatch(a: Tensor, *others: Tensor | Sequence[int]) -> Tensor | tuple[Tensor, ...]:
    """(a, shape) -> `a` with dimensions of size 1 and missing ones repeated to that shape; (a, b) and (a, b, c) -> the
    tensors in their joint shape. Raises `poplibs_error` where sizes do not match."""
    tensors = [a, *[t for t in others if isinstance(t, Tensor)]]
    wanted = [tuple(s) for s in others if not isinstance(s, Tensor)]
    try:
        shape = np.broadcast_shapes(*[tuple(t.shape()) for t in tensors], *wanted)
    except ValueError:
        shape = None
    if shape is None or (wanted and shape != wanted[0]):
        shapes = [*[t.shape() for t in tensors], *[list(s) for s in wanted]]
        raise poplibs_error(
            f"broadcastToMatch: shapes {' and '.join(map(str, shapes))} do not match; sizes must be equal or 1."
        )
    matched = tuple(broadcast_to(t, shape) for t in tensors)
    return matched[0] if wanted else matched


def extendDimensionsToMatch(in1: Tensor, in2: Tensor) -> Tensor:
    """`in2` with dimensions of size 1 in front until it has the rank of `in1`."""
    missing = in1.rank() - in2.rank()
    return in2.expand([0] * missing) if missing > 0 else in2


def detectVectorBroadcastOperands(in1: Tensor, in2: Tensor) -> bool:
    """Whether `in2` is a vector along one dimension of `in1`: all its dimensions but one have size 1, and that one has
    its size in `in1`."""
    if in2.rank() > in1.rank():
        return False
    matched = extendDimensionsToMatch(in1, in2)
    sizes = [(have, want) for have, want in zip(matched.shape(), in1.shape(), strict=True) if have != 1]
    return len(sizes) == 1 and sizes[0][0] == sizes[0][1]
