"""Softmax along the last dimension, its gradient and its logarithm, made of popops' operations in PopLibs' order.

exp(x) / sum(exp(x)) takes four steps: exponentials, their sum in FLOAT, its inverse, the product. The stable forms
subtract the largest element of each row first. SOFTMAX_SCALED multiplies all elements by 16384, so that halves use
their range.
"""

from __future__ import annotations

from math import log
from typing import Any

from simulator.base.errors import graph_connection_error, type_error
from simulator.base.types import FLOAT, HALF
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import operation

#: PopLibs' SOFTMAX_SCALING
SCALING = 16384.0


def apply(graph: Graph, kind: str, t: Tensor, prog: Sequence, name: Any) -> Tensor:
    """The softmax of `kind` as a new tensor."""
    last = _last(t)
    if kind == "SOFTMAX":
        out = popops.exp(graph, t, prog, name)
    else:
        out = popops.sub(graph, t, _largest(graph, t, prog, name), prog, name)
        if kind == "SOFTMAX_SCALED":
            popops.addInPlace(graph, out, log(SCALING), prog, name)
        popops.expInPlace(graph, out, prog, name)
    _divide_by_sum(graph, kind, out, last, prog, name)
    return out


def apply_in_place(graph: Graph, kind: str, t: Tensor, prog: Sequence, name: Any) -> None:
    """The softmax of `kind` in place."""
    last = _last(t)
    if kind != "SOFTMAX":
        popops.subInPlace(graph, t, _largest(graph, t, prog, name), prog, name)
        if kind == "SOFTMAX_SCALED":
            popops.addInPlace(graph, t, log(SCALING), prog, name)
    popops.expInPlace(graph, t, prog, name)
    _divide_by_sum(graph, kind, t, last, prog, name)


def input_gradient(graph: Graph, out: Tensor, outGradient: Tensor, prog: Sequence, name: Any) -> Tensor:
    """y g - y sum(y g) for outputs y and their gradient g."""
    last = _last(out)
    slope = popops.mul(graph, out, outGradient, prog, name)
    total = popops.reduce(graph, slope, [last], popops.Operation.ADD, prog, name).expand([last])
    popops.subInPlace(graph, slope, popops.mul(graph, out, total, prog, name), prog, name)
    return slope


def logSoftmax(graph: Graph, t: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A new tensor with the logarithm of the softmax along the last dimension, computed without the softmax: each row
    less its largest element, less the logarithm of the sum of its exponentials."""
    name = (_call(graph, "logSoftmax", t, debugContext), "LogSoftmax")
    out = popops.sub(graph, t, _largest(graph, t, prog, name), prog, name)
    _less_log_sum(graph, out, prog, name)
    return out


def logSoftmaxInPlace(graph: Graph, t: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """`logSoftmax` in place."""
    name = (_call(graph, "logSoftmaxInPlace", t, debugContext), "LogSoftmax")
    popops.subInPlace(graph, t, _largest(graph, t, prog, name), prog, name)
    _less_log_sum(graph, t, prog, name)


def _call(graph: Graph, api: str, t: Tensor, context: Context) -> Any:
    if t.elementType() not in (FLOAT, HALF):
        raise type_error(f"{api} takes FLOAT or HALF, not {t.elementType()}.")
    _last(t)
    return operation(graph, context, "popnn", api, t=t)


def _last(t: Tensor) -> int:
    if t.rank() < 1:
        raise graph_connection_error(f"SOFTMAX needs a tensor of at least one dimension, not shape {t.shape()}.")
    return t.rank() - 1


def _largest(graph: Graph, t: Tensor, prog: Sequence, name: Any) -> Tensor:
    """The largest element of each row; the last dimension stays, with size 1."""
    return popops.reduce(graph, t, [_last(t)], popops.Operation.MAX, prog, name).expand([_last(t)])


def _divide_by_sum(graph: Graph, kind: str, t: Tensor, last: int, prog: Sequence, name: Any) -> None:
    total = popops.reduce(graph, t, FLOAT, [last], popops.Operation.ADD, prog, name)
    popops.invInPlace(graph, total, prog, name)
    if kind == "SOFTMAX_SCALED":
        popops.mulInPlace(graph, total, SCALING, prog, name)
    if t.elementType() is not FLOAT:
        total = popops.cast(graph, total, t.elementType(), prog, name)
    popops.mulInPlace(graph, t, total.expand([last]), prog, (name[0], f"{name[1]}/invScale"))


def _less_log_sum(graph: Graph, t: Tensor, prog: Sequence, name: Any) -> None:
    last = _last(t)
    terms = popops.exp(graph, t, prog, name)
    total = popops.reduce(graph, terms, FLOAT, [last], popops.Operation.ADD, prog, name)
    popops.logInPlace(graph, total, prog, name)
    if t.elementType() is not FLOAT:
        total = popops.cast(graph, total, t.elementType(), prog, name)
    popops.subInPlace(graph, t, total.expand([last]), prog, name)
