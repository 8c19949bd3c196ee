"""popnn.calcLoss: cross entropy of softmax probabilities, and its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles.described import described
from simulator.machine.cycles.nonlinearity import loss_transform
from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Copy, Execute, LibraryGroup, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF, UNSIGNED_INT
from simulator.poplibs import popops
from simulator.poplibs.debug import operation
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil import clone_mapped, mapTensorLinearly
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

I8 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class LossType(Enum):
    CROSS_ENTROPY_LOSS = "CROSS_ENTROPY_LOSS"


#: least probability whose logarithm is taken
SMALLEST = {"float": np.float32(1.17549435e-38), "half": np.float32(6.103515625e-05)}


def calcLoss(
    graph: Graph,
    modelOutputs: Tensor,
    expected: Tensor,
    loss: Tensor,
    deltas: Tensor,
    lossType: LossType,
    debugContext: Context = "",
) -> Sequence:
    """A program that sets `loss` ([batch]) to -log of the probability given to the expected class, and `deltas`
    ([batch, classes]) to the gradient of the sum of losses by the input of the softmax: probability - one-hot.

    `modelOutputs` are softmax probabilities, FLOAT or HALF, [batch, classes]; `expected` UNSIGNED_INT classes, [batch].
    """
    _check(modelOutputs, expected, loss, deltas)
    assert lossType is LossType.CROSS_ENTROPY_LOSS
    call = operation(graph, debugContext, "popnn", "calcLoss", lossType=lossType.value, modelOutputs=modelOutputs)
    prog = Sequence()
    one_hot = graph.addVariable(modelOutputs.elementType(), modelOutputs.shape(), (call, "Loss/oneHot"))
    mapTensorLinearly(graph, one_hot)
    popops.encodeOneHot(graph, expected, one_hot, prog, (call, "Loss"))
    terms = clone_mapped(graph, modelOutputs, modelOutputs.elementType(), (call, "Loss/transformed"))
    dtype = short_name(modelOutputs.elementType())
    cs = graph.addComputeSet((call, "Loss/LossCrossEntropyTransform"))
    operands = {"probs": modelOutputs, "expected": one_hot, "deltas": deltas}
    # The terms decide the tiles; deltas are written beside them and moved on where they are mapped elsewhere.
    place_elementwise(
        graph, cs, Forms(_vertex(dtype, True), _vertex(dtype, False)), ("transformed", terms), operands, {}
    )
    prog.add(
        LibraryGroup([Execute(cs)], "popnn.cross_entropy", [modelOutputs, one_hot], [terms, deltas], {"dtype": dtype})
    )
    sums = popops.reduce(graph, terms, [1], popops.Operation.ADD, prog, (call, "Loss"))
    prog.add(Copy(sums, loss))
    return prog


def _check(probabilities: Tensor, expected: Tensor, loss: Tensor, deltas: Tensor) -> None:
    if probabilities.elementType() not in (FLOAT, HALF) or expected.elementType() is not UNSIGNED_INT:
        raise type_error(
            f"calcLoss: outputs hold {probabilities.elementType()} and expected {expected.elementType()}; "
            "FLOAT or HALF and UNSIGNED_INT are needed."
        )
    shape = probabilities.shape()
    if len(shape) != 2 or expected.shape() != shape[:1] or loss.shape() != shape[:1] or deltas.shape() != shape:
        raise graph_connection_error(
            f"calcLoss: outputs {shape}, expected {expected.shape()}, loss {loss.shape()} and deltas {deltas.shape()} "
            "must be [batch, classes], [batch], [batch] and [batch, classes]."
        )


def transform(dtype: str, probs: Array, expected: Array, terms: Array, deltas: Array) -> None:
    """terms = -expected * log(probs), deltas = probs - expected, in float32, rounded once."""
    p, y = wide(probs), wide(expected)
    store(terms, -y * np.log(np.maximum(p, SMALLEST[dtype])))
    store(deltas, p - y)


@register("popnn.cross_entropy")
def _kernel(outputs: list[Array], inputs: list[Array], attributes: Mapping[str, Any]) -> None:
    transform(attributes["dtype"], inputs[0], inputs[1], outputs[0], outputs[1])


@lru_cache(maxsize=8)
def _vertex(dtype: str, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.6", loss_transform)
        flops = flop_counts.cross_entropy(elements["transformed"])
        if flat:
            # One worker vertex does the whole run of its tile.
            return BlockCosts(loss_transform(dtype, elements["transformed"]), "exact", source, flops)
        edges = block.edges["transformed"]
        spent = sum_rows(loss_transform(dtype, row_lengths(edges)), edges)
        return BlockCosts(spent, "exact", source, flops)

    def compute(vertex: Any) -> None:
        columns = (vertex.probs, vertex.expected, vertex.transformed, vertex.deltas)
        for probs, expected, terms, deltas in zip(*([[c] for c in columns] if flat else columns), strict=True):
            transform(dtype, np.asarray(probs), np.asarray(expected), terms, deltas)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("probs", kind, "in", None, "one_ptr", 8),
        FieldSpec("expected", kind, "in", None, "one_ptr", 8),
        FieldSpec("deltas", kind, "out", None, "one_ptr", 8),
        FieldSpec("transformed", kind, "out", None, "one_ptr", 8),
    )
    suffix = "" if flat else "2D"
    return VertexType(
        f"popnn::LossCrossEntropyTransform{suffix}<{dtype}>", "worker", fields, costs, compute, doc="terms of the loss"
    )
