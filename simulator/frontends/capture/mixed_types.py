"""Functions of torch that want one element type for all operands: halves among floats become floats, as PopTorch's
documentation says of operators of mixed precision. All others promote by torch's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

_UPCAST = frozenset(
    """
    linear bilinear matmul __matmul__ __rmatmul__ mm bmm mv dot vdot inner chain_matmul multi_dot einsum tensordot
    addmm addmv addbmm baddbmm scaled_dot_product_attention multi_head_attention_forward
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution prelu lerp cross linalg_cross
    cdist rms_norm scatter scatter_add scatter_reduce index_add index_copy index_put
    mse_loss huber_loss smooth_l1_loss cross_entropy nll_loss binary_cross_entropy soft_margin_loss multi_margin_loss
    multilabel_soft_margin_loss
    """.split()  # noqa: SIM905
)
#: those whose result has the type of the first operand whatever the types of the others
_LIKE_THE_FIRST = frozenset({"rms_norm"})


def with_one_type(name: str, func: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The result of a function of torch, whose operands are converted where they must be."""
    if name not in _UPCAST or {torch.float16, torch.float32} - {one.dtype for one in tensors_of((args, named))}:
        return func(*args, **named)
    made = func(*_as_floats(list(args)), **_as_floats(dict(named)))
    return made.to(args[0].dtype) if name in _LIKE_THE_FIRST else made


def tensors_of(argument: Any) -> Iterator[Any]:
    """Every tensor in the arguments or results of a function of torch."""
    if isinstance(argument, torch.Tensor):
        yield argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from tensors_of(part)
    elif isinstance(argument, dict):
        yield from tensors_of(list(argument.values()))


def _as_floats(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.float() if argument.dtype == torch.float16 else argument
    if type(argument) in (tuple, list):
        return type(argument)(_as_floats(part) for part in argument)
    if type(argument) is dict:
        return {key: _as_floats(part) for key, part in argument.items()}
    return argument
