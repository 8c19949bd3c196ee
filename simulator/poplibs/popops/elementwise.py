"""Build element-wise operations: one compute set, with vertices on the tiles that hold the output."""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import graph_connection_error, type_error
from simulator.base.types import BOOL, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.memory_order import broadcast_to, in_memory_order
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops import operators
from simulator.poplibs.popops.broadcast.placement import Broadcast, place_broadcast
from simulator.poplibs.popops.vertices import Form, elementwise_vertex
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import clone_mapped
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

Operand = Tensor | float | int | bool


def _register_kernels() -> None:
    for op in (*operators.UNARY, *operators.BINARY):

        def kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object, op: str = op) -> None:
            operators.evaluate(op, inputs, outputs[0])

        register(f"popops.{op.lower()}", elementwise=True)(kernel)


_register_kernels()


def unary(graph: Graph, op: str, a: Tensor, prog: Sequence, context: Context, in_place: bool) -> Tensor:
    """Append `op` of one tensor to `prog`; returns the result, `a` itself when in place."""
    call = operation(graph, context, "popops", op, A=a, inPlace=in_place)
    out = a if in_place else clone_mapped(graph, a, _result_type(op, a), _name(call, op, "/Out"))
    build(graph, "unary", op, [a], out, prog, call, in_place)
    return out


def binary(
    graph: Graph,
    op: str,
    a: Operand,
    b: Operand,
    prog: Sequence,
    context: Context,
    in_place: bool,
    vector_broadcasts: bool = True,
) -> Tensor:
    """Append `op` of two operands to `prog`. A number becomes a constant of the other operand's type. Different shapes
    are broadcast as in NumPy, by vertices for broadcast vectors unless `vector_broadcasts` is false.

    Raises `graph_connection_error` for shapes that do not fit, `type_error` for types that differ or that the operator
    does not take."""
    a, b = _as_tensors(graph, a, b, op)
    shape = _joint_shape(op, a, b)
    call = operation(graph, context, "popops", op, A=a, B=b, inPlace=in_place)
    if in_place and tuple(a.shape()) != shape:
        if a.numElements() != math.prod(shape):
            raise graph_connection_error(
                f"{op} in place: {b.shape()} does not broadcast into {a.shape()}; swap the operands."
            )
        a = a.reshape(shape)  # `b` has more dimensions of size 1
    model = a if tuple(a.shape()) == shape and a.isParallelWriteable() else b
    if in_place:
        out = a
    elif tuple(model.shape()) == shape:
        out = clone_mapped(graph, model, _result_type(op, a), _name(call, op, "/Out"))
    else:
        out = clone_mapped(graph, broadcast_to(a, shape), _result_type(op, a), _name(call, op, "/Out"))
    if not in_place and op in operators.COMMUTATIVE and tuple(a.shape()) != shape and tuple(b.shape()) == shape:
        a, b = b, a
    scalar = b.numElements() == 1 and out.numElements() > 1 and tuple(a.shape()) == shape
    if scalar:
        build(graph, "scalar", op, [a, b], out, prog, call, in_place)
    else:
        build(graph, "binary", op, [a, b], out, prog, call, in_place, vector_broadcasts)
    return out


def build(
    graph: Graph,
    form: Form,
    op: str,
    operands: list[Tensor],
    out: Tensor,
    prog: Sequence,
    call: DebugInfo,
    in_place: bool,
    vector_broadcasts: bool = True,
) -> None:
    """Add the compute set of one operation to the graph and its program to `prog`."""
    if out.numElements() == 0:
        return
    dtype = short_name(operands[0].elementType())
    shape = tuple(out.shape())
    try:
        forms = Forms(*[elementwise_vertex(form, op, dtype, in_place, flat) for flat in (True, False)])
    except KeyError as error:
        raise type_error(str(error.args[0])) from None
    vectors = operands[:1] if form == "scalar" else operands
    spread = [broadcast_to(t, shape) for t in (vectors[1:] if in_place else vectors)]
    names = ["in2"] if in_place else ["in1", "in2"]
    scalars = {"in2": operands[1]} if form == "scalar" else {}
    cs = graph.addComputeSet(_name(call, op))
    tiles = None
    broadcast = form == "binary" and tuple(operands[0].shape()) == shape and tuple(operands[1].shape()) != shape
    if broadcast and vector_broadcasts:
        tiles = place_broadcast(Broadcast(graph, cs, call, op, out, spread[-1], None if in_place else spread[0]))
    if tiles is None or len(tiles):
        vectors_of = dict(zip(names, spread, strict=False))
        place_elementwise(graph, cs, forms, ("out", out), vectors_of, scalars, only=tiles)
    *given, target = in_memory_order(out, operands)
    prog.add(LibraryGroup([Execute(cs)], f"popops.{op.lower()}", given, [target]))


def _name(call: DebugInfo, op: str, suffix: str = "") -> tuple[DebugInfo, str]:
    """The context of an operation's compute set or output: "<name>/Op/Add"."""
    return call, "Op/" + "".join(word.capitalize() for word in op.split("_")) + suffix


def _result_type(op: str, a: Tensor) -> Type:
    return BOOL if op in operators.BOOLEAN_RESULT else a.elementType()


def _as_tensors(graph: Graph, a: Operand, b: Operand, op: str) -> tuple[Tensor, Tensor]:
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        raise type_error(f"{op}: at least one operand must be a tensor.")
    model = a if isinstance(a, Tensor) else b
    assert isinstance(model, Tensor)
    tensors = [t if isinstance(t, Tensor) else _constant(graph, model, t) for t in (a, b)]
    if tensors[0].elementType() is not tensors[1].elementType():
        raise type_error(
            f"{op}: operands hold {tensors[0].elementType()} and {tensors[1].elementType()}; cast one with popops.cast."
        )
    return tensors[0], tensors[1]


def _constant(graph: Graph, model: Tensor, value: float) -> Tensor:
    constant = graph.addConstant(model.elementType(), [], value)
    graph.setTileMapping(constant, 0)
    return constant


def _joint_shape(op: str, a: Tensor, b: Tensor) -> tuple[int, ...]:
    try:
        return tuple(np.broadcast_shapes(tuple(a.shape()), tuple(b.shape())))
    except ValueError:
        raise graph_connection_error(
            f"{op}: shapes {a.shape()} and {b.shape()} cannot be broadcast together."
        ) from None


def createOutputForElementWiseOp(
    graph: Graph, inputs: SequenceOf[Tensor], outputType: Type, debugContext: Context = ""
) -> Tensor:
    """A mapped tensor for the result of an element-wise operation on inputs of one shape. Its layout is that of the
    input spread over most tiles, of those that hold no element twice (of equal ones that in fewest regions); without
    such an input it is linear.

    Raises `poplibs_error` for no inputs and for inputs of different shapes."""
    if not inputs:
        raise poplibs_error("createOutputForElementWiseOp: there are no inputs.")
    if any(t.shape() != inputs[0].shape() for t in inputs):
        raise poplibs_error(
            f"createOutputForElementWiseOp: shapes {', '.join(str(t.shape()) for t in inputs)} must be equal."
        )
    whole = [t for t in inputs if t.isParallelWriteable()]
    model = max(whole, key=lambda t: (_tiles(graph, t), -len(t.regions()[0])), default=inputs[0])
    return clone_mapped(graph, model, outputType, debugContext)


def _tiles(graph: Graph, t: Tensor) -> int:
    return len(np.unique(graph.getTileMappingIntervals(t)[2]))
