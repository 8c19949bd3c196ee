"""popnn.calcLoss and calcAccuracy: losses of classified rows, their gradients, and the number of correct rows."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from simulator.base.errors import graph_connection_error, poplar_error, type_error
from simulator.base.types import FLOAT, HALF, INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, Parameter, match, operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popnn.extremes import extremes
from simulator.poplibs.popnn.loss_vertices import SCALES, accuracy_vertex, loss_vertex
from simulator.poplibs.popops.one_hot import MASKED_LABEL_CODE
from simulator.poplibs.poputil import clone_mapped, mapTensorLinearly
from simulator.poplibs.type_names import short_name


class LossType(Enum):
    SUM_SQUARED_LOSS = "SUM_SQUARED_LOSS"
    CROSS_ENTROPY_LOSS = "CROSS_ENTROPY_LOSS"


_LAST = (Parameter("lossType", LossType), Parameter("debugContext", default=""))
_SCALED = (Parameter("deltasScale", Tensor), Parameter("modelOutputScaling", Tensor))
_COUNT = (Parameter("numCorrect", Tensor),)
_FORMS = (_LAST, (*_COUNT, *_LAST), (*_SCALED, *_LAST), (*_SCALED, *_COUNT, *_LAST))


def calcLoss(
    graph: Graph, modelOutputs: Tensor, expected: Tensor, loss: Tensor, deltas: Tensor, *arguments: Any, **named: Any
) -> Sequence:
    """A program that sets `loss` ([batch]) to the loss of each row, and `deltas` ([batch, classes]) to the gradient of
    their sum: (..., [deltasScale, modelOutputScaling,] [numCorrect,] lossType, debugContext="").

    `modelOutputs` are FLOAT or HALF, [batch, classes]; `expected` are UNSIGNED_INT or INT classes, [batch].

    - CROSS_ENTROPY_LOSS: modelOutputs are softmax probabilities times `modelOutputScaling` (one element of their type,
      default 1); loss = -log(probability of the expected class), deltas = deltasScale * (probability - one-hot), the
      gradient by the input of the softmax. Rows labelled MASKED_LABEL_CODE get 0.
    - SUM_SQUARED_LOSS: half the sum of squares of modelOutputs - one-hot, which is `deltas`; it takes no scales.

    `numCorrect`: see `calcAccuracy`. Raises `type_error`, `graph_connection_error`, `poplar_error`."""
    given = match("calcLoss", _FORMS, arguments, named)
    kind: LossType = given["lossType"]
    _check(modelOutputs, expected, loss, deltas)
    call = operation(graph, given["debugContext"], "popnn", "calcLoss", lossType=kind.value, modelOutputs=modelOutputs)
    prog = Sequence()
    name = "CrossEntropy" if kind is LossType.CROSS_ENTROPY_LOSS else "SumSquared"
    one_hot = graph.addVariable(modelOutputs.elementType(), modelOutputs.shape(), (call, f"Loss{name}/OneHotEncoded"))
    mapTensorLinearly(graph, one_hot)
    popops.encodeOneHot(graph, expected, one_hot, prog, (call, f"Loss{name}"))
    scales = _scales(graph, name, modelOutputs, given, call)
    terms = clone_mapped(graph, modelOutputs, modelOutputs.elementType(), (call, f"Loss{name}/Transformed"))
    dtype = short_name(modelOutputs.elementType())
    cs = graph.addComputeSet((call, f"Loss{name}/on_tile_transform"))
    operands = {"probs": modelOutputs, "expected": one_hot, "deltas": deltas}
    # The mapping of the terms decides the tiles. Deltas are written there, then copied where they are mapped elsewhere.
    forms = Forms(loss_vertex(name, dtype, True), loss_vertex(name, dtype, False))
    place_elementwise(graph, cs, forms, ("transformed", terms), operands, scales)
    read = [modelOutputs, one_hot, *scales.values()]
    prog.add(LibraryGroup([Execute(cs)], "popnn.loss", read, [terms, deltas], {"dtype": dtype, "name": name}))
    if name == "CrossEntropy":
        _mask(graph, expected, deltas, prog, call)
    sums = popops.reduce(graph, terms, [1], popops.Operation.ADD, prog, (call, f"Loss{name}/reduce_loss"))
    prog.add(Copy(sums, loss, False, call))
    if "numCorrect" in given:
        prog.add(calcAccuracy(graph, modelOutputs, expected, given["numCorrect"], call))
    return prog


def calcAccuracy(
    graph: Graph, modelOutputs: Tensor, expected: Tensor, numCorrect: Tensor, debugContext: Context = ""
) -> Sequence:
    """A program that adds to `numCorrect`, one UNSIGNED_INT, the number of rows of `modelOutputs` ([batch, classes])
    whose largest element is at the index in `expected`. Rows labelled MASKED_LABEL_CODE do not count. Like PopLibs'
    vertex it adds: write 0 first to start a new count."""
    if numCorrect.numElements() != 1 or numCorrect.elementType() is not UNSIGNED_INT:
        raise graph_connection_error(
            f"calcAccuracy: numCorrect is {numCorrect.elementType()}{numCorrect.shape()}; it must be one UNSIGNED_INT."
        )
    if modelOutputs.rank() != 2 or expected.shape() != modelOutputs.shape()[:1]:
        raise graph_connection_error(
            f"calcAccuracy: {expected.shape()} labels do not fit outputs of shape {modelOutputs.shape()}; one for each "
            "row is needed."
        )
    _check_labels("calcAccuracy", expected)
    call = operation(graph, debugContext, "popnn", "calcAccuracy", modelOutputs=modelOutputs, expected=expected)
    prog = Sequence()
    name = graph.addDebugInfo((call, "Accuracy"), LAYER)
    places = extremes(graph, modelOutputs, expected.elementType(), True, prog, name)[1]
    cs = graph.addComputeSet((name, "CalcAccuracy"))
    edges = {
        "maxPerBatch": _one_vector(places),
        "expected": _one_vector(expected),
        "numCorrect": _one_vector(numCorrect.flatten()),
    }
    tile = next(t for t, intervals in enumerate(graph.getTileMapping(numCorrect)) if intervals)
    graph.addVertices(cs, accuracy_vertex(short_name(expected.elementType())), np.array([tile]), edges)
    read = [places, expected, numCorrect]
    prog.add(LibraryGroup([Execute(cs)], "popnn.accuracy", read, [numCorrect]))
    return prog


def _one_vector(tensor: Tensor) -> Any:
    """The edge of one vertex to the whole of a tensor."""
    starts, lengths = tensor.regions()
    return vector_edges(starts, lengths, np.array([0, len(starts)], np.int64))


def _scales(graph: Graph, name: str, outputs: Tensor, given: dict[str, Any], call: Any) -> dict[str, Tensor]:
    """The scales of a cross entropy: those given, else ones."""
    if name == "SumSquared":
        if "deltasScale" in given:
            raise poplar_error(
                "calcLoss: SUM_SQUARED_LOSS takes no scales; leave deltasScale and modelOutputScaling out."
            )
        return {}
    found = {}
    for scale in SCALES:
        tensor = given.get(scale)
        if tensor is None:
            tensor = graph.addConstant(outputs.elementType(), [1], 1.0, (call, scale))
            graph.setTileMapping(tensor, 0)
        if tensor.numElements() != 1 or tensor.elementType() is not outputs.elementType():
            raise graph_connection_error(
                f"calcLoss: {scale} is {tensor.elementType()}{tensor.shape()}; it must be one {outputs.elementType()}."
            )
        found[scale] = tensor.flatten()
    return found


def _mask(graph: Graph, expected: Tensor, deltas: Tensor, prog: Sequence, call: Any) -> None:
    """Set the deltas of masked rows to 0."""
    code = MASKED_LABEL_CODE if expected.elementType() is UNSIGNED_INT else -1
    masked = graph.addConstant(expected.elementType(), [], code, call)
    graph.setTileMapping(masked, 0)
    unmasked = popops.neq(graph, expected, masked, prog, call)
    factor = popops.cast(graph, unmasked, deltas.elementType(), prog, call)
    popops.mulInPlace(graph, deltas, factor.expand([1]), prog, call)


def _check(probabilities: Tensor, expected: Tensor, loss: Tensor, deltas: Tensor) -> None:
    if probabilities.elementType() not in (FLOAT, HALF):
        raise type_error(f"calcLoss: outputs hold {probabilities.elementType()}; FLOAT or HALF is needed.")
    _check_labels("calcLoss", expected)
    shape = probabilities.shape()
    if len(shape) != 2 or expected.shape() != shape[:1] or loss.shape() != shape[:1] or deltas.shape() != shape:
        raise graph_connection_error(
            f"calcLoss: outputs {shape}, expected {expected.shape()}, loss {loss.shape()} and deltas {deltas.shape()} "
            "must be [batch, classes], [batch], [batch] and [batch, classes]."
        )


def _check_labels(api: str, expected: Tensor) -> None:
    if expected.elementType() not in (UNSIGNED_INT, INT):
        raise type_error(f"{api}: expected holds {expected.elementType()}; UNSIGNED_INT or INT is needed.")
