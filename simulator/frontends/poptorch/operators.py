"""PopTorch's own operators as operators of torch, "poptorch::...": PyTorch runs them, and a capture keeps them.

All but `identity_loss` are identities for values and gradients. An operator of torch returns no view of its operand,
so that PyTorch copies; the lowering does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from simulator.frontends.capture.conditions import chosen
from simulator.frontends.capture.grad_modes import name_of, written_tensor
from simulator.frontends.capture.mixed_types import tensors_of
from simulator.frontends.poptorch.enums import MatMulSerializationMode, OverlapMode
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


def serializedMatMul(
    lhs: Any, rhs: Any, mode: MatMulSerializationMode, factor: int = 0, keep_precision: bool = False
) -> Any:
    """The product of two matrices, in `factor` products one after the other, which need less memory at a time. `mode`
    is the dimension that is cut: rows of `lhs`, the dimension that is summed over, or columns of `rhs`.
    `keep_precision` sums parts of halves in float. Raises ValueError where the factor does not divide the dimension."""
    _check_tensor("serializedMatMul", lhs)
    _check_tensor("serializedMatMul", rhs)
    if not isinstance(mode, MatMulSerializationMode):
        raise ValueError(f"serializedMatMul takes a poptorch.MatMulSerializationMode, not {mode!r}.")
    if mode is MatMulSerializationMode.Disabled:
        return torch.matmul(lhs, rhs)
    size = {
        MatMulSerializationMode.InputChannels: lhs.shape[-2],
        MatMulSerializationMode.ReducingDim: lhs.shape[-1],
        MatMulSerializationMode.OutputChannels: rhs.shape[-1],
    }[mode]
    if not isinstance(factor, int) or factor < 1 or size % factor:
        raise ValueError(f"serializedMatMul's factor {factor!r} does not divide the {size} of {mode.name}.")
    part = size // factor
    if mode is MatMulSerializationMode.InputChannels:
        return torch.cat([torch.matmul(rows, rhs) for rows in lhs.split(part, -2)], -2)
    if mode is MatMulSerializationMode.OutputChannels:
        return torch.cat([torch.matmul(lhs, columns) for columns in rhs.split(part, -1)], -1)
    parts = [torch.matmul(one, other) for one, other in zip(lhs.split(part, -1), rhs.split(part, -2), strict=True)]
    total = parts[0].float() if keep_precision else parts[0]
    for product in parts[1:]:
        total = total + product
    return total.to(parts[0].dtype)


def for_loop(count: int, body: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """What `body` gives after `count` calls, each of the results of the one before; `inputs` are the first call's. The
    loop is unrolled into the graph. Raises ValueError for inputs that are no list of tensors, Error for a body whose
    results do not fit its arguments."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"for_loop's count is a whole number, not {count!r}: the program is fixed when compiling.")
    values = _tensor_list("for_loop", "inputs", inputs)
    forms = [(one.shape, one.dtype) for one in values]
    for _ in range(count):
        made = body(*values)
        values = list(made) if isinstance(made, tuple | list) else [made]
        if [(one.shape, one.dtype) for one in values] != forms:
            raise Error(
                "for_loop's body must return as many tensors as it takes, of their shapes and types: it takes "
                f"{_forms(forms)} and returns {_forms([(one.shape, one.dtype) for one in values])}."
            )
    return values


def cond(
    condition: Any,
    then_body: Callable[..., Any],
    then_inputs: Sequence[Any],
    else_body: Callable[..., Any],
    else_inputs: Sequence[Any],
) -> list[Any]:
    """The results of `then_body` where `condition`, one element, is true, else those of `else_body`. Both bodies run on
    the device and their results are chosen from; they must not write to tensors from outside. Raises Error for bodies
    that do, or whose results differ in shape or type."""
    _check_tensor("cond", condition)
    if condition.numel() != 1:
        raise ValueError(f"cond's condition is one element, not a tensor of shape {list(condition.shape)}.")
    sides = []
    for name, body, inputs in (("then", then_body, then_inputs), ("else", else_body, else_inputs)):
        given = [one.clone() for one in _tensor_list("cond", f"{name}_inputs", inputs)]
        with _WritesInside(f"cond's {name}_body", given):
            made = body(*given)
        sides.append(list(made) if isinstance(made, tuple | list) else [made])
    forms = [[(one.shape, one.dtype) for one in side] for side in sides]
    if forms[0] != forms[1]:
        raise Error(
            "cond's bodies must return tensors of the same shapes and types: then_body returns "
            f"{_forms(forms[0])}, else_body {_forms(forms[1])}."
        )
    return list(chosen(condition, sides))


class _WritesInside(torch.overrides.TorchFunctionMode):
    """Refuses writes to tensors that a body neither made nor got."""

    def __init__(self, name: str, given: Sequence[Any]) -> None:
        super().__init__()
        self._name = name
        self._own: dict[int, Any] = {id(one): one for one in given}

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        target = written_tensor(name_of(func), args, kwargs or {})
        if target is not None and id(target) not in self._own:
            raise Error(f"{self._name} writes to a tensor from outside, which runs whatever the condition; return it.")
        made = func(*args, **(kwargs or {}))
        self._own.update((id(one), one) for one in tensors_of(made))
        return made


def _tensor_list(name: str, argument: str, given: Any) -> list[Any]:
    if not isinstance(given, tuple | list):
        raise ValueError(f"poptorch.{name} expects {argument} to be a list of tensors, not {type(given).__name__}.")
    for index, one in enumerate(given):
        if not isinstance(one, torch.Tensor):
            raise ValueError(
                f"poptorch.{name} expects {argument} to be a list of tensors; the one at index {index} is a "
                f"{type(one).__name__}."
            )
    return list(given)


def _forms(forms: Sequence[tuple[Any, Any]]) -> str:
    return ", ".join(f"{str(dtype).removeprefix('torch.')}{list(shape)}" for shape, dtype in forms) or "nothing"


def _check_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise Error(f"{name} must take a torch.tensor argument. {type(tensor)} is not supported.")
