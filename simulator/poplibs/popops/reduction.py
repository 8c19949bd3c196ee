"""popops.reduce: sums, products and extremes over dimensions of a tensor, in one, two or three stages.

The tensor is seen as [outputs, terms]. One stage adds all terms of an output in one vertex; from 16 terms on, a first
stage leaves partial results for groups of terms spread over tiles, from 125 terms on two such stages come before the
last (published-numbers 7.4). Where neighbouring outputs are neighbours in memory a vertex works on runs of outputs
(strided form); where the terms of one output are neighbours, on one output each (continuous form), on the tile where
the terms begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.machine.cycles.partial_reduction import stage_depths
from simulator.poplar.debug_context import Context
from simulator.poplar.errors import index_error, poplar_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Execute, LibraryGroup, Program, Sequence
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF, Type
from simulator.poplibs.debug import operation
from simulator.poplibs.popops import reduction_stage
from simulator.poplibs.popops.operators import wide
from simulator.runtime.kernels import register


class Operation(Enum):
    ADD = "ADD"
    SQUARE_ADD = "SQUARE_ADD"
    MUL = "MUL"
    MIN = "MIN"
    MAX = "MAX"
    LOGICAL_AND = "LOGICAL_AND"
    LOGICAL_OR = "LOGICAL_OR"


@dataclass(frozen=True)
class ReduceParams:
    """What to reduce with. (Scaling and updating in place are other operations here: use mul and add.)"""

    op: Operation = Operation.ADD


def reduce(
    graph: Graph,
    in_: Tensor,
    *arguments: Any,
) -> Tensor:
    """reduce(graph, in, [outType,] dims, params, prog, debugContext="") -> the reduced tensor, dims removed.

    `params` is a ReduceParams or an Operation. Halves are accumulated in float and rounded once per stage."""
    rest = list(arguments)
    out_type = rest.pop(0) if isinstance(rest[0], Type) else in_.elementType()
    dims, params, prog = rest[:3]
    context = rest[3] if len(rest) > 3 else ""
    op = params.op if isinstance(params, ReduceParams) else Operation(params)
    return _reduce(graph, in_, out_type, tuple(dims), op.value, prog, context)


def _reduce(
    graph: Graph, tensor: Tensor, out_type: Type, dims: tuple[int, ...], op: str, prog: Sequence, context: Context
) -> Tensor:
    kept = [axis for axis in range(tensor.rank()) if axis not in dims]
    if len(set(dims)) != len(dims) or not all(0 <= d < tensor.rank() for d in dims):
        raise index_error(f"reduce: {list(dims)} are not dimensions of a tensor of shape {tensor.shape()}.")
    shape = [tensor.dim(axis) for axis in kept]
    outputs = int(np.prod(shape, dtype=np.int64))
    terms = tensor.numElements() // max(outputs, 1)
    if tensor.numElements() == 0:
        raise poplar_error(f"reduce: a tensor of shape {tensor.shape()} has nothing to reduce.")
    call = operation(graph, context, "popops", "reduce", **{"in": tensor}, dims=list(dims), op=op)
    matrix = tensor.dimShuffle([*kept, *dims]).reshape([outputs, terms])
    programs: list[Program] = []
    depths = [*stage_depths(terms), 1]
    stage_op = op
    for stage, groups in enumerate(depths):
        last = stage == len(depths) - 1
        type_ = out_type if last else _partial_type(matrix.elementType(), op)
        label = f"Reduce/ReduceStage{stage + 1}" if len(depths) > 1 else "Reduce"
        cs, matrix = reduction_stage.add_stage(graph, matrix, groups, type_, stage_op, (call, label))
        programs.append(Execute(cs))
        stage_op = "ADD" if op == "SQUARE_ADD" else op
    out = matrix.reshape(shape)
    prog.add(LibraryGroup(programs, "popops.reduce", [tensor], [out], {"op": op, "dims": dims}))
    return out


def _partial_type(type_: Type, op: str) -> Type:
    return FLOAT if type_ is HALF and op in ("ADD", "SQUARE_ADD", "MUL") else type_


_NUMPY: dict[str, Any] = {
    "ADD": np.add,
    "SQUARE_ADD": np.add,
    "MUL": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
}


def reduced(op: str, values: npt.NDArray[Any], axis: int | tuple[int, ...]) -> npt.NDArray[Any]:
    """The reduction in NumPy, halves in float32."""
    values = wide(values)
    if op == "SQUARE_ADD":
        values = values * values
    dtype = None if op in ("LOGICAL_AND", "LOGICAL_OR") else values.dtype
    return np.asarray(_NUMPY[op].reduce(values, axis=axis, dtype=dtype))


@register("popops.reduce")
def _reduce_kernel(
    outputs: list[npt.NDArray[Any]], inputs: SequenceOf[npt.NDArray[Any]], attributes: Mapping[str, Any]
) -> None:
    result = reduced(attributes["op"], inputs[0], tuple(attributes["dims"]))
    store(outputs[0], result.reshape(outputs[0].shape))
