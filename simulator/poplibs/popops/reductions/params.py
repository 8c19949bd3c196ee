"""The parameters of a reduction: operation, scale, update, and the options of popops.reduce."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import gcd, prod
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import invalid_option, type_error
from simulator.base.types import BOOL, FLOAT, HALF, Type
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = dict[str, str] | None


class Operation(Enum):
    ADD = "ADD"
    SQUARE_ADD = "SQUARE_ADD"
    MUL = "MUL"
    MIN = "MIN"
    MAX = "MAX"
    LOGICAL_AND = "LOGICAL_AND"
    LOGICAL_OR = "LOGICAL_OR"
    LOG_ADD = "LOG_ADD"  #: log(exp(a) + exp(b))


@dataclass(frozen=True, eq=False)
class ReduceParams:
    """ReduceParams(op, update=False, scale): the reduction, multiplied by `scale` (a FLOAT tensor of one element) and,
    with `update`, added to the output. Only ADD and SQUARE_ADD take scale and update."""

    op: Operation = Operation.ADD
    update: bool = False
    scale: Tensor | None = None

    @property
    def useScale(self) -> bool:
        return self.scale is not None


@dataclass(frozen=True, eq=False)
class SingleReduceOp:
    """One of several reductions: `SingleReduceOp(in, dims, params, outType=None, debugName="")`."""

    in_: Tensor
    dims: list[int]
    params: ReduceParams | Operation = field(default_factory=ReduceParams)
    outType: Type | None = None
    debugName: str = ""


@dataclass(frozen=True)
class Accumulation:
    """The types of values exchanged between tiles ("" = chosen by the operation) and of the sum within a vertex."""

    inter_tile: str = ""
    in_vertex: str = "float"


class Combination(NamedTuple):
    """The properties of one operation."""

    combine: Any  #: the ufunc that combines two values
    vertex: str  #: the name in its vertex types
    in_float: bool = False  #: computed in float for halves; the result of floats may be half, and of halves float
    types: Literal["numbers", "floats", "bool"] = "numbers"
    compiled: bool = False  #: its generic vertex is compiled C++ instead of assembly


COMBINATIONS = {
    Operation.ADD: Combination(np.add, "ReduceAdd", in_float=True),
    Operation.SQUARE_ADD: Combination(np.add, "ReduceSquareAdd", in_float=True),
    Operation.MUL: Combination(np.multiply, "ReduceMul", in_float=True),
    Operation.MIN: Combination(np.minimum, "ReduceMin"),
    Operation.MAX: Combination(np.maximum, "ReduceMax"),
    Operation.LOGICAL_AND: Combination(np.logical_and, "ReduceAnd", types="bool", compiled=True),
    Operation.LOGICAL_OR: Combination(np.logical_or, "ReduceOr", types="bool", compiled=True),
    Operation.LOG_ADD: Combination(np.logaddexp, "ReduceLogAdd", in_float=True, types="floats", compiled=True),
}


def combination_of(op: str) -> Combination:
    """The properties of the operation of this name."""
    return COMBINATIONS[Operation[op]]


def checked_params(params: Any, in_type: Type, out_type: Type) -> ReduceParams:
    """An Operation or ReduceParams as ReduceParams. Raises `poplibs_error` for combinations that do not exist,
    `type_error` for types."""
    found = ReduceParams(params) if isinstance(params, Operation) else params
    if not isinstance(found, ReduceParams) or not isinstance(found.op, Operation):
        raise poplibs_error(f"reduce: {params!r} is neither ReduceParams nor an Operation.")
    op, combination = found.op.name, COMBINATIONS[found.op]
    if (found.update or found.scale is not None) and op not in ("ADD", "SQUARE_ADD"):
        raise poplibs_error(f"reduce: {op} takes no scale and no update; only ADD and SQUARE_ADD do.")
    if found.scale is not None and (found.scale.numElements() != 1 or found.scale.elementType() is not FLOAT):
        raise poplibs_error(
            f"reduce: the scale holds {found.scale.elementType()} of shape {found.scale.shape()}; one FLOAT is needed."
        )
    floating = in_type in (FLOAT, HALF) and out_type in (FLOAT, HALF)
    if in_type is not out_type and not (floating and combination.in_float):
        raise type_error(f"reduce: {op} of {in_type} cannot be {out_type}; cast the result.")
    logical = combination.types == "bool"
    if logical != (in_type is BOOL) or (combination.types == "floats" and not floating):
        raise type_error(f"reduce: there is no {op} of {in_type}.")
    return found


def chosen_accumulation(options: Options) -> Accumulation:
    """accumType.interTile and accumType.inVertex. Raises `invalid_option` for other options."""
    given = {"accumType.interTile": "", "accumType.inVertex": "float"}
    for name, value in (options or {}).items():
        if name not in given or value not in ("float", "half"):
            raise invalid_option(
                f"reduce has no option {name} = '{value}'; it has accumType.interTile and accumType.inVertex (float, "
                "half)."
            )
        given[name] = value
    return Accumulation(given["accumType.interTile"], given["accumType.inVertex"])


def partial_type(type_: Type, op: str, accumulation: Accumulation) -> Type:
    """The type of partial results: FLOAT for sums and products of halves, unless an option says otherwise."""
    if type_ in (FLOAT, HALF) and accumulation.inter_tile:
        return FLOAT if accumulation.inter_tile == "float" else HALF
    return FLOAT if type_ is HALF and combination_of(op).in_float else type_


#: From so many elements on, the order of memory is looked at.
_LARGE = 1 << 14
#: elements of a short row, and how many of these become a long one at most
_SHORT, _ROWS_TOGETHER = 256, 64


def reduce_array(op: str, values: AnyArray, axis: int | tuple[int, ...], in_half: bool = False) -> AnyArray:
    """The reduction in NumPy, of halves in float32 unless `in_half`."""
    if not in_half:
        values = wide(values)
    if op == "SQUARE_ADD":
        values = values * values
    if op == "LOG_ADD" and not isinstance(axis, int):
        remaining = [values.shape[a] for a in range(values.ndim) if a not in axis]
        values = np.moveaxis(values, axis, range(len(axis))).reshape(-1, *remaining)
        axis = 0
    combination = combination_of(op)
    dtype = None if combination.types == "bool" else values.dtype
    folded = _folded(combination.combine, values, axis, dtype) if values.size > _LARGE and not in_half else None
    return np.asarray(combination.combine.reduce(values, axis=axis, dtype=dtype)) if folded is None else folded


def _folded(combine: np.ufunc, values: AnyArray, axis: int | tuple[int, ...], dtype: Any) -> AnyArray | None:
    """The reduction of short rows in memory, as of all positions of few channels: of long rows that hold many of them
    first, since NumPy takes as long to begin a row as for dozens of elements. None for other reductions."""
    reduced = {a % values.ndim for a in ((axis,) if isinstance(axis, int) else axis)}
    order = sorted(range(values.ndim), key=lambda a: -abs(values.strides[a]))
    outer, inner = order[: len(reduced)], order[len(reduced) :]
    if set(outer) != reduced or not (sorted_values := values.transpose(order)).flags.c_contiguous:
        return None
    rows, width = prod(values.shape[a] for a in outer), prod(values.shape[a] for a in inner)
    together = gcd(rows, _ROWS_TOGETHER)
    if width > _SHORT or together < 4 or rows <= 4 * together:
        return None
    partial = combine.reduce(sorted_values.reshape(rows // together, together * width), axis=0, dtype=dtype)
    result = combine.reduce(partial.reshape(together, width), axis=0, dtype=dtype)
    kept = sorted(inner)
    return np.asarray(result.reshape([values.shape[a] for a in inner]).transpose([inner.index(a) for a in kept]))


def scaled_and_updated(result: AnyArray, scale: Any, before: AnyArray | None) -> AnyArray:
    """A reduction times its scale, added to the previous output."""
    if scale is not None:
        result = wide(np.asarray(result)) * np.asarray(scale, np.float32).reshape(())
    return np.asarray(result if before is None else wide(np.asarray(before)) + result)
