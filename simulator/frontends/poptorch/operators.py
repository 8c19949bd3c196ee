"""PopTorch's own operators as operators of torch, "poptorch::...": PyTorch runs them, and a capture keeps them.

All but `identity_loss` are identities for values and gradients. An operator of torch returns no view of its operand,
so that PyTorch copies; the lowering does not.
"""

from __future__ import annotations

from typing import Any

import torch

from simulator.frontends.poptorch.enums import OverlapMode
from simulator.frontends.poptorch.errors import Error

#: reduction -> number that the operator takes
_REDUCTIONS = {"sum": 0, "mean": 1, "none": 2}


@torch.library.custom_op("poptorch::identity_loss", mutates_args=(), schema="(Tensor x, int reduction) -> Tensor")
def _identity_loss(x: Any, reduction: int) -> Any:
    return x.clone() if reduction == 2 else (x.mean() if reduction else x.sum())


@_identity_loss.register_fake
def _identity_loss_shape(x: Any, reduction: int) -> Any:
    return torch.empty_like(x) if reduction == 2 else x.new_empty(())


def _keep_operand(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape, ctx.reduction = inputs[0].shape, inputs[1]


def _identity_loss_gradient(ctx: Any, slope: Any) -> Any:
    elements = ctx.shape.numel()
    part = slope / elements if ctx.reduction == 1 and elements else slope
    return part.expand(ctx.shape).clone(), None


_identity_loss.register_autograd(_identity_loss_gradient, setup_context=_keep_operand)


@torch.library.custom_op("poptorch::nop", mutates_args=(), schema="(Tensor x) -> Tensor")
def _nop(x: Any) -> Any:
    return x.clone()


@torch.library.custom_op("poptorch::recomputation_checkpoint", mutates_args=(), schema="(Tensor x) -> Tensor")
def _recomputation_checkpoint(x: Any) -> Any:
    return x.clone()


@torch.library.custom_op(
    "poptorch::set_available_memory", mutates_args=(), schema="(Tensor x, float proportion) -> Tensor"
)
def _set_available_memory(x: Any, proportion: float) -> Any:
    return x.clone()


@torch.library.custom_op("poptorch::set_overlap_for_input", mutates_args=(), schema="(Tensor x, str mode) -> Tensor")
def _set_overlap_for_input(x: Any, mode: str) -> Any:
    return x.clone()


@torch.library.custom_op("poptorch::set_overlap_for_output", mutates_args=(), schema="(Tensor x, str mode) -> Tensor")
def _set_overlap_for_output(x: Any, mode: str) -> Any:
    return x.clone()


@torch.library.custom_op(
    "poptorch::ipu_print_tensor",
    mutates_args=(),
    schema="(Tensor x, str title, bool print_gradient, int summarise_threshold, int edge_items, int max_line_width, "
    "int digits, str float_format, str separator, str open_bracket, str close_bracket) -> Tensor",
)
def _ipu_print_tensor(x: Any, *style: Any) -> Any:
    return x.clone()


def _is_identity(operator: Any) -> None:
    def shape(x: Any, *rest: Any) -> Any:
        return torch.empty_like(x)

    def count(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.rest = len(inputs) - 1

    def gradient(ctx: Any, slope: Any) -> Any:
        return (slope, *[None] * ctx.rest)

    operator.register_fake(shape)
    operator.register_autograd(gradient, setup_context=count)


for _operator in (
    _nop,
    _recomputation_checkpoint,
    _set_available_memory,
    _set_overlap_for_input,
    _set_overlap_for_output,
    _ipu_print_tensor,
):
    _is_identity(_operator)


def identity_loss(x: Any, reduction: str) -> Any:
    """Mark a tensor as the loss, reduced by "sum", "mean" or not at all ("none"): the backward pass starts here."""
    _check_tensor("identity_loss", x)
    if reduction not in _REDUCTIONS:
        raise AssertionError(
            f"Unsupported reduction type! identity_loss takes 'sum', 'mean' or 'none', not {reduction!r}."
        )
    return _identity_loss(x, _REDUCTIONS[reduction])


def nop(tensor: Any) -> Any:
    """The tensor itself, by an operator that stays in the graph."""
    _check_tensor("nop", tensor)
    return _nop(tensor)


def recomputationCheckpoint(*tensors: Any) -> Any:
    """The tensors themselves, stored between the forward and backward passes where others are recomputed. One list or
    tuple of tensors comes back as such, one tensor as a tensor, several as a tuple."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        checkpoints = recomputationCheckpoint(*tensors[0])
        return type(tensors[0])(checkpoints if isinstance(checkpoints, tuple) else (checkpoints,))
    if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        raise ValueError("All inputs must be tensors")
    stored = tuple(_recomputation_checkpoint(tensor) for tensor in tensors)
    return stored[0] if len(stored) == 1 else stored


def set_available_memory(tensor: Any, available_memory_proportion: float) -> Any:
    """Bound the temporary memory of the operator that made `tensor` to a proportion, 0 to 1, of the tiles' memory."""
    _check_tensor("set_available_memory", tensor)
    is_number = isinstance(available_memory_proportion, int | float) and not isinstance(
        available_memory_proportion, bool
    )
    if not is_number or not 0 <= available_memory_proportion <= 1:
        raise ValueError(
            f"set_available_memory takes a proportion between 0 and 1, not {available_memory_proportion!r}."
        )
    return _set_available_memory(tensor, float(available_memory_proportion))


def ipu_print_tensor(
    tensor: Any,
    title: str = "",
    print_gradient: bool = True,
    summarise_threshold: int = 1000,
    edge_items: int = 3,
    max_line_width: int = 80,
    digits: int = 4,
    float_format: str = "auto",
    separator: str = ", ",
    open_bracket: str = "[",
    close_bracket: str = "]",
) -> Any:
    """Print the tensor on standard error whenever the device gets here, and its gradient as `<title>_gradient`. The
    result must be used, else the operator is dropped."""
    _check_tensor("ipu_print_tensor", tensor)
    if float_format not in ("auto", "fixed", "scientific", "none"):
        raise ValueError(
            f"ipu_print_tensor's float_format is 'auto', 'fixed', 'scientific' or 'none', not {float_format!r}."
        )
    for name, mark in (("separator", separator), ("open_bracket", open_bracket), ("close_bracket", close_bracket)):
        if not isinstance(mark, str):
            raise ValueError(f"ipu_print_tensor's {name} is a string, not {mark!r}.")
    return _ipu_print_tensor(
        tensor,
        title,
        print_gradient,
        summarise_threshold,
        edge_items,
        max_line_width,
        digits,
        float_format,
        separator,
        open_bracket,
        close_bracket,
    )


def set_overlap_for_input(input_tensors: Any, mode: OverlapMode) -> Any:
    """The tensors themselves, marked for transfers from the host that run ahead. Tuples, lists and dicts of tensors
    keep their form."""
    return _overlapped("set_overlap_for_input", _set_overlap_for_input, input_tensors, mode)


def set_overlap_for_output(output_tensors: Any, mode: OverlapMode) -> Any:
    """The tensors themselves, marked for transfers to the host that run behind."""
    return _overlapped("set_overlap_for_output", _set_overlap_for_output, output_tensors, mode)


def _overlapped(name: str, operator: Any, tensors: Any, mode: OverlapMode) -> Any:
    if not isinstance(mode, OverlapMode):
        raise ValueError(f"{name} takes a poptorch.OverlapMode, not {mode!r}.")
    if isinstance(tensors, tuple | list):
        return type(tensors)(_overlapped(name, operator, part, mode) for part in tensors)
    if isinstance(tensors, dict):
        return {key: _overlapped(name, operator, part, mode) for key, part in tensors.items()}
    _check_tensor(name, tensors)
    return operator(tensors, mode.value)


def _check_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise Error(f"{name} must take a torch.tensor argument. {type(tensor)} is not supported.")
