"""PrintTensor: values of a tensor as text on the host."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from enum import Enum
from typing import Any, overload

from simulator.base.errors import control_program_error
from simulator.base.wrong_arguments import constructor_checks_arguments
from simulator.graph.debug_context import Context, as_context
from simulator.graph.programs.base import Program
from simulator.graph.tensor import Tensor, require_valid


class FloatFormat(Enum):
    Auto = "auto"
    Fixed = "fixed"
    Scientific = "scientific"
    None_ = "none"


@constructor_checks_arguments
@dataclass(frozen=True)
class PrintTensorFmt:
    """How PrintTensor writes numbers and brackets.

    Tensors of more than `summariseThreshold` elements show `edgeItems` at each end of a dimension; lines hold up to
    `maxLineWidth` characters; floats have `digits` digits after the point."""

    summariseThreshold: int = 1000
    edgeItems: int = 3
    maxLineWidth: int = 75
    digits: int = 7
    floatFormat: FloatFormat = FloatFormat.Auto
    sep: str = " "
    open: str = "["
    close: str = "]"


class PrintTensor(Program):
    """Print a tensor on the host when the device reaches this program."""

    @overload
    def __init__(self, title: str, t: Tensor, fmt: PrintTensorFmt = ..., debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, t: Tensor, fmt: PrintTensorFmt = ..., debugContext: Context = "") -> None: ...
    def __init__(
        self,
        *arguments: Any,
        title: str = "",
        t: Tensor | None = None,
        fmt: PrintTensorFmt | None = None,
        debugContext: Context = "",
    ) -> None:
        rest = list(arguments)
        self.title = rest.pop(0) if rest and isinstance(rest[0], str) else title
        shown = rest.pop(0) if rest and isinstance(rest[0], Tensor) else t
        if not isinstance(shown, Tensor):
            raise control_program_error(
                "PrintTensor needs a tensor: PrintTensor(title, tensor) or PrintTensor(tensor)."
            )
        self.tensor = shown
        self.format = rest.pop(0) if rest and isinstance(rest[0], PrintTensorFmt) else fmt or PrintTensorFmt()
        self.debug = as_context(rest.pop(0) if rest else debugContext)
        if rest:
            raise control_program_error(f"PrintTensor: {rest[0]!r} is one argument too many.")
        require_valid(shown)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.tensor,)
