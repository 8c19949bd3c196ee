"""What a tensor must be to choose the way of a program."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import control_program_error
from simulator.base.types import BOOL, INT, UNSIGNED_INT, Type
from simulator.graph.tensor import Tensor, require_valid

#: Types that a predicate may have (0 = false), and those of the value that a Switch looks at.
PREDICATE_TYPES = (BOOL, INT, UNSIGNED_INT)
CONTROL_TYPES = (INT, UNSIGNED_INT)


def check_scalar(tensor: Any, what: str, types: tuple[Type, ...]) -> Tensor:
    """The tensor; raises `control_program_error` unless it is a scalar of one of the types. `what` names the program
    and its argument."""
    names = ", ".join(type_.name for type_ in types)
    if not isinstance(tensor, Tensor):
        raise control_program_error(f"{what} must be a scalar tensor of type {names}, got {tensor!r}.")
    require_valid(tensor)
    if tensor.rank():
        raise control_program_error(
            f"{what} must be a scalar, but the tensor has shape {tensor.shape()}; reduce it, or take reshape([]) of a "
            "tensor of one element."
        )
    if tensor.elementType() not in types:
        raise control_program_error(f"{what} has type {tensor.elementType().name}; the type must be one of {names}.")
    return tensor
