"""Operators that compute nothing: PopTorch's marks for memory and overlap, checkpoints, prints; and those around
gradients that the user's program computes in its own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.frontends.captured import Body
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplar.program import FloatFormat, PrintTensor, PrintTensorFmt

Back = Callable[..., dict[str, Tensor]]


def _slope_of(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
    return {"x": slopes[0]}


@lowers(
    "popvision.loss.default",
    "poptorch.nop.default",
    "poptorch.recomputation_checkpoint.default",
    "poptorch.set_available_memory.default",
    "poptorch.set_overlap_for_input.default",
    "poptorch.set_overlap_for_output.default",
    kind="Nop",
    call="none",
    own_backward=True,
)
def marked(at: Building, x: Tensor, **_: Any) -> tuple[Tensor, Back]:
    return x, _slope_of


@lowers("poptorch.ipu_print_tensor.default", kind="PrintTensor", call="program::PrintTensor", own_backward=True)
def print_tensor(
    at: Building,
    x: Tensor,
    title: str,
    print_gradient: bool,
    summarise_threshold: int,
    edge_items: int,
    max_line_width: int,
    digits: int,
    float_format: str,
    separator: str,
    open_bracket: str,
    close_bracket: str,
) -> tuple[Tensor, Back]:
    format_ = PrintTensorFmt(
        summarise_threshold,
        edge_items,
        max_line_width,
        digits,
        FloatFormat(float_format),
        separator,
        open_bracket,
        close_bracket,
    )
    at.program.add(PrintTensor(title, x, format_, at.name("print")))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        if print_gradient:
            at.program.add(PrintTensor(f"{title}_gradient", slopes[0], format_, at.name("print")))
        return {"x": slopes[0]}

    return x, backward


@lowers("popvision.passed.default", kind="Nop", call="none", own_backward=True)
def passed(at: Building, values: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], Back]:
    """The border of a module whose gradients hooks see."""

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Any]:
        return {"values": slopes}

    return tuple(values), backward


@lowers("popvision.differentiated.default", kind="Function", call="program::Sequence", own_backward=True)
def differentiated(
    at: Building, inputs: Sequence[Tensor], outs: Sequence[Tensor], backward: Body
) -> tuple[tuple[Tensor, ...], Back]:
    """What forward of a torch.autograd.Function gave; the body of its backward gives the gradients of `inputs`."""

    def back(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Any]:
        filled = [
            slope if slope is not None else at.constant(out.elementType(), out.shape(), 0, "zeros")
            for slope, out in zip(slopes, outs, strict=True)
        ]
        made = at.build_body(backward, at.without_loss_scaling(filled))
        return {"inputs": at.with_loss_scaling(made), "outs": [None] * len(outs)}

    return tuple(outs), back


@lowers("popvision.rewritten.default", kind="Identity", call="none", own_backward=True)
def rewritten(at: Building, old: Tensor, new: Tensor) -> tuple[Tensor, Back]:
    """The values of `new`; their gradient is that of `old`."""

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"old": slopes[0]}

    return new, backward
