"""popops.reduce: sums, products and extremes over dimensions of a tensor; popops.allTrue.

The tensor is seen as [outputs, terms]. Where its terms lie decides how many stages there are (`stages`). The last stage
scales, and adds to the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import index_error, poplar_error, type_error
from simulator.base.types import BOOL, FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, LibraryGroup, Program, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.filling import fill
from simulator.poplibs.popops.reductions.params import Accumulation as Accumulation
from simulator.poplibs.popops.reductions.params import Operation as Operation
from simulator.poplibs.popops.reductions.params import (
    Options,
    checked_params,
    chosen_accumulation,
    partial_type,
    reduce_array,
    scaled_and_updated,
)
from simulator.poplibs.popops.reductions.params import ReduceParams as ReduceParams
from simulator.poplibs.popops.reductions.params import SingleReduceOp as SingleReduceOp
from simulator.poplibs.popops.reductions.stage import Stage
from simulator.poplibs.popops.reductions.stages import Stages
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly
from simulator.runtime.values.kernels import register

Params = ReduceParams | Operation
#: reductions of no terms, as PopLibs fills them in; it has none for LOG_ADD
_OF_NOTHING = {
    Operation.ADD: 0,
    Operation.SQUARE_ADD: 0,
    Operation.MUL: 1,
    Operation.MIN: np.inf,
    Operation.MAX: -np.inf,
    Operation.LOGICAL_AND: 1,
    Operation.LOGICAL_OR: 0,
}


@overload
def reduce(
    graph: Graph,
    in_: Tensor,
    outType: Type,
    dims: SequenceOf[int],
    params: Params,
    prog: Sequence | list[ComputeSet],
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
@overload
def reduce(
    graph: Graph,
    in_: Tensor,
    dims: SequenceOf[int],
    params: Params,
    prog: Sequence | list[ComputeSet],
    debugContext: Context = "",
    options: Options = None,
) -> Tensor: ...
def reduce(graph: Graph, in_: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """reduce(graph, in, [outType,] dims, params, prog, debugContext="", options={}) -> the tensor without `dims`.

    `params` is a ReduceParams or an Operation. A list in place of the program holds a compute set for each stage;
    vertices are added to these, and missing ones are made. Halves are accumulated in float and rounded once per stage.
    Options: `accumType.interTile` (float, half), the type of partial results, and `accumType.inVertex` (float, half),
    that of sums within a vertex. Of no elements a sum is 0, a product 1, MIN and MAX of floats are infinite.

    Raises `index_error` for dimensions, `type_error` for types, `poplibs_error` for an update without an output."""
    rest = list(arguments)
    out_type = rest.pop(0) if rest and isinstance(rest[0], Type) else named.pop("outType", in_.elementType())
    given = _arguments(rest, named)
    params = checked_params(given["params"], in_.elementType(), out_type)
    if params.update:
        raise poplibs_error("reduce: an update needs an output; use reduceWithOutput.")
    return _reduce(graph, in_, out_type, None, params, given)


def reduceWithOutput(graph: Graph, in_: Tensor, out: Tensor, *arguments: Any, **named: Any) -> None:
    """reduceWithOutput(graph, in, out, dims, params, prog, debugContext="", options={}): `reduce` into a tensor of the
    reduced shape, which is mapped if it has no mapping yet."""
    given = _arguments(list(arguments), named)
    params = checked_params(given["params"], in_.elementType(), out.elementType())
    _reduce(graph, in_, out.elementType(), out, params, given)


def _arguments(rest: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    if "css" in named:
        named["prog"] = named.pop("css")
    return dict(zip(("dims", "params", "prog", "debugContext", "options"), rest, strict=False)) | named


def reduceMany(
    graph: Graph,
    reductions: SequenceOf[SingleReduceOp],
    outputs: list[Tensor],
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> None:
    """Several reductions side by side, stage by stage in the same compute sets. `outputs` holds a tensor for each, or
    is empty and receives the results."""
    if outputs and len(outputs) != len(reductions):
        raise poplibs_error(f"reduceMany: {len(outputs)} outputs for {len(reductions)} reductions.")
    call = operation(graph, debugContext, "popops", "reduceMany", reductions=len(reductions))
    sets: list[ComputeSet] = []
    made: list[Tensor] = []
    kernels: list[_Kernel] = []
    for i, one in enumerate(reductions):
        out = outputs[i] if outputs else None
        type_ = out.elementType() if out is not None else one.outType or one.in_.elementType()
        params = checked_params(one.params, one.in_.elementType(), type_)
        if params.update and out is None:
            raise poplibs_error(f"reduceMany: reduction {i} updates, but there are no outputs.")
        work = _Work(graph, one.in_, type_, tuple(one.dims), params, chosen_accumulation(options))
        name = (call, one.debugName or "reduceMany")
        if out is not None:
            work.check(out)
        result, kernel = work.build(_contiguous_output(graph, out, params, prog, call), sets, name)
        kernels += [] if kernel is None else [kernel]
        made.append(result)
    if kernels:
        prog.add(_library_group(kernels, [Execute(cs) for cs in sets]))
    for i, result in enumerate(made):
        if outputs and result.flatten() != outputs[i].flatten():
            prog.add(Copy(result, outputs[i], False, (call, "output")))
    if not outputs:
        outputs += made


def _checked_dims(dims: Any) -> tuple[int, ...]:
    """Dimensions as a tuple. Raises `poplibs_error` for what is no list of whole numbers."""
    is_list = isinstance(dims, SequenceOf | np.ndarray | set | range) and not isinstance(dims, str | bytes)
    if not is_list or getattr(dims, "ndim", 1) != 1 or not all(isinstance(one, int | np.integer) for one in dims):
        raise poplibs_error(f"reduce: {' '.join(repr(dims).split()):.60} is not a list of dimensions.")
    return tuple(int(one) for one in dims)


def _reduce(
    graph: Graph, tensor: Tensor, out_type: Type, out: Tensor | None, params: ReduceParams, given: dict[str, Any]
) -> Tensor:
    dims, prog = _checked_dims(given["dims"]), given["prog"]
    accumulation = chosen_accumulation(given.get("options"))
    work = _Work(graph, tensor, out_type, dims, params, accumulation)
    context = given.get("debugContext", "")
    call = operation(graph, context, "popops", "reduce", **{"in": tensor}, dims=list(dims), op=params.op.name)
    if out is not None:
        work.check(out)
    sets: list[ComputeSet] = prog if isinstance(prog, list) else []
    if isinstance(prog, list):
        if out is not None and not out.isContiguous():
            raise poplibs_error("reduceWithOutput: an output that is not contiguous needs a program, not compute sets.")
        return work.build(out, sets, (call, "Reduce"))[0]
    result, kernel = work.build(_contiguous_output(graph, out, params, prog, call), sets, (call, "Reduce"))
    if kernel is not None:
        prog.add(_library_group([kernel], [Execute(cs) for cs in sets]))
    if out is not None and result.flatten() != out.flatten():
        prog.add(Copy(result, out, False, (call, "output")))
    return result


def _contiguous_output(
    graph: Graph, out: Tensor | None, params: ReduceParams, prog: Sequence, call: DebugInfo
) -> Tensor | None:
    """The output itself where it is one run of memory, else a temporary that is copied to it (and from it before an
    update)."""
    if out is None or (out.isContiguous() and out.strided() is not None):
        return out
    inner = graph.addVariable(out.elementType(), out.shape(), (call, "output"))
    mapTensorLinearly(graph, inner)
    if params.update:
        prog.add(Copy(out, inner, False, (call, "output")))
    return inner


@dataclass(frozen=True)
class _Kernel:
    """One reduction for the whole-array kernel."""

    inputs: list[Tensor]
    output: Tensor
    attributes: dict[str, Any]


@dataclass(frozen=True)
class _Work:
    graph: Graph
    tensor: Tensor
    out_type: Type
    dims: tuple[int, ...]
    params: ReduceParams
    accumulation: Accumulation

    @property
    def shape(self) -> list[int]:
        return [self.tensor.dim(axis) for axis in range(self.tensor.rank()) if axis not in self.dims]

    def check(self, out: Tensor) -> None:
        if out.shape() != self.shape:
            raise poplibs_error(f"reduceWithOutput: the output has shape {out.shape()}, the reduction {self.shape}.")

    def build(
        self, out: Tensor | None, sets: list[ComputeSet], name: tuple[DebugInfo, str]
    ) -> tuple[Tensor, _Kernel | None]:
        """Add all stages to the compute sets; returns the result, `out` where given, and its kernel, None where there
        is nothing to do."""
        tensor, dims, op = self.tensor, self.dims, self.params.op.name
        if len(set(dims)) != len(dims) or not all(0 <= d < tensor.rank() for d in dims):
            raise index_error(f"reduce: {list(dims)} are not dimensions of a tensor of shape {tensor.shape()}.")
        if tensor.numElements() == 0:
            return self._build_without_terms(out, sets, name)
        remaining = [axis for axis in range(tensor.rank()) if axis not in dims]
        # An output that exists keeps its order; a new one takes the order of its terms in memory.
        order = _by_memory(tensor, remaining) if out is None else remaining
        shape = [tensor.dim(axis) for axis in order]
        outputs = int(np.prod(shape, dtype=np.int64))
        shuffled = tensor.dimShuffle([*order, *_by_memory(tensor, list(dims))])
        matrix = shuffled.reshape([outputs, tensor.numElements() // max(outputs, 1)])
        accumulation = self.accumulation
        stage = Stage(op, self.params.update, self.params.scale, accumulation.in_vertex == "half")
        partial = partial_type(tensor.elementType(), op, accumulation)
        mapped = out is not None and bool((self.graph.getTileMappingIntervals(out)[2] >= 0).all())
        stages = Stages(self.graph, stage, partial, self.out_type, sets, name)
        flat = stages.build(matrix, None if out is None else out.flatten(), mapped)
        if out is None:
            out = flat.reshape(shape).dimShuffle([order.index(axis) for axis in remaining])
        return out, self._kernel(out)

    def _build_without_terms(
        self, out: Tensor | None, sets: list[ComputeSet], name: tuple[DebugInfo, str]
    ) -> tuple[Tensor, _Kernel | None]:
        """Sums and products of nothing are 0 and 1, extremes of nothing the infinities (as in PopLibs); an update by
        nothing changes nothing."""
        op = self.params.op
        result = self.graph.addVariable(self.out_type, self.shape, name) if out is None else out
        if (self.graph.getTileMappingIntervals(result)[2] < 0).any():
            mapTensorLinearly(self.graph, result)
        if self.params.update or result.numElements() == 0:
            return result, None
        if op is Operation.LOG_ADD or (op in (Operation.MIN, Operation.MAX) and self.out_type not in (FLOAT, HALF)):
            raise poplar_error(
                f"reduce: {op.name} of {self.out_type} has no value for no elements; the tensor has shape "
                f"{self.tensor.shape()}."
            )
        if not sets:
            sets.append(self.graph.addComputeSet((name[0], f"{name[1]}/Fill")))
        value = _OF_NOTHING[op]
        fill(self.graph, result, self.graph.getTileMapping(result), sets[0], value)
        return result, _Kernel([], result, {"value": value})

    def _kernel(self, result: Tensor) -> _Kernel:
        attributes = {
            "op": self.params.op.name,
            "dims": list(self.dims),
            "update": self.params.update,
            "inHalf": self.accumulation.in_vertex == "half",
        }
        scale = [] if self.params.scale is None else [self.params.scale.flatten()]
        before = [result] if self.params.update else []
        return _Kernel([self.tensor, *before, *scale], result, attributes)


def _by_memory(tensor: Tensor, axes: list[int]) -> list[int]:
    """Axes from the one along which neighbours lie farthest apart in memory to the nearest."""
    corner = tensor
    for axis in range(tensor.rank()):
        corner = corner.slice(0, min(corner.dim(axis), 2), axis)

    def distance(axis: int) -> int:
        first, last = (corner.slice(i, i + 1, axis).regions()[0][0] for i in (0, corner.dim(axis) - 1))
        return abs(int(last - first))

    return sorted(axes, key=distance, reverse=True)


def _library_group(kernels: list[_Kernel], programs: list[Program]) -> LibraryGroup:
    attributes = [k.attributes | {"inputs": len(k.inputs)} for k in kernels]
    inputs = [t for k in kernels for t in k.inputs]
    return LibraryGroup(programs, "popops.reduce", inputs, [k.output for k in kernels], {"each": attributes})


@register("popops.reduce")
def _reduce_kernel(outputs: list[AnyArray], inputs: SequenceOf[AnyArray], attributes: Mapping[str, Any]) -> None:
    at = 0
    for out, one in zip(outputs, attributes["each"], strict=True):
        if "value" in one:
            out[...] = one["value"]
            continue
        values, *rest = inputs[at : at + one["inputs"]]
        at += one["inputs"]
        before = rest.pop(0) if one["update"] else None
        result = reduce_array(one["op"], values, tuple(one["dims"]), one["inHalf"]).reshape(out.shape)
        store(out, scaled_and_updated(result, rest[0] if rest else None, before))


def allTrue(graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A BOOL scalar, the logical and of all elements: a predicate for loops and branches.

    Raises `type_error` for a tensor of another type."""
    if A.elementType() is not BOOL:
        raise type_error(f"allTrue: the tensor holds {A.elementType()}; compare it first to get bool.")
    call = operation(graph, debugContext, "popops", "allTrue", A=A)
    return reduce(graph, A.flatten(), [0], ReduceParams(Operation.LOGICAL_AND), prog, call)
