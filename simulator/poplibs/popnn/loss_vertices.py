"""The vertex types of popnn's losses, over a run or over rows, and their kernel over a whole tensor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import classes
from simulator.machine.cycles.described import described, described_as
from simulator.machine.cycles.nonlinearity import loss_transform
from simulator.poplibs.popnn.extremes import ESTIMATORS
from simulator.poplibs.popops.one_hot import MASKED_LABEL_CODE
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.runtime.values.kernels import register

#: lower bound of a probability before its logarithm
SMALLEST = {"float": np.float32(1.17549435e-38), "half": np.float32(6.103515625e-05)}
#: the scales of a cross entropy
SCALES = ("deltasScale", "modelOutputScaling")


def cross_entropy(
    dtype: str, probs: AnyArray, expected: AnyArray, scales: list[Any], terms: AnyArray, deltas: AnyArray
) -> None:
    """terms = -expected * (log(probs) - log(s)), deltas = d / s * (probs - expected * s), for the scale s of the
    outputs and d of the gradient, in float32, rounded once."""
    p, y = wide(probs), wide(expected)
    d, s = (np.float32(np.asarray(scale).reshape(())) for scale in scales)
    store(terms, -y * (np.log(np.maximum(p, SMALLEST[dtype])) - np.log(s)))
    store(deltas, d / s * (p - y * s))


def sum_squared(
    dtype: str, probs: AnyArray, expected: AnyArray, scales: list[Any], terms: AnyArray, deltas: AnyArray
) -> None:
    """terms = half the square of deltas = probs - expected, in float32, rounded once."""
    difference = wide(probs) - wide(expected)
    store(terms, np.float32(0.5) * difference * difference)
    store(deltas, difference)


_TRANSFORMS: dict[str, Any] = {"CrossEntropy": cross_entropy, "SumSquared": sum_squared}


@register("popnn.loss")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    probs, expected, *scales = inputs
    transform = _TRANSFORMS[attributes["name"]]
    transform(attributes["dtype"], probs, expected, scales, outputs[0], outputs[1])


@lru_cache(maxsize=16)
def loss_vertex(name: str, dtype: str, flat: bool) -> VertexType:
    """The vertex type of a loss, "CrossEntropy" or "SumSquared"."""
    is_softmax = name == "CrossEntropy"

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["transformed"]
        flops = flop_counts.cross_entropy(n) if is_softmax else flop_counts.sum_squared(n)
        source = described("7.6", loss_transform)
        if flat:
            # One worker vertex computes the whole run of its tile.
            return BlockCosts(loss_transform(dtype, n, is_softmax), "exact", source, flops)
        edges = block.edges["transformed"]
        spent = sum_rows(loss_transform(dtype, row_lengths(edges), is_softmax), edges)
        return BlockCosts(spent, "exact", source, flops)

    def compute(vertex: Any) -> None:
        columns = (vertex.probs, vertex.expected, vertex.transformed, vertex.deltas)
        scales = [getattr(vertex, scale) for scale in SCALES] if is_softmax else []
        for probs, expected, terms, deltas in zip(*([[c] for c in columns] if flat else columns), strict=True):
            _TRANSFORMS[name](dtype, np.asarray(probs), np.asarray(expected), scales, terms, deltas)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("probs", kind, "in", None, "one_ptr", 8),
        FieldSpec("expected", kind, "in", None, "one_ptr", 8),
        FieldSpec("deltas", kind, "out", None, "one_ptr", 8),
        FieldSpec("transformed", kind, "out", None, "one_ptr", 8),
        *(FieldSpec(scale, "scalar", "in", None, "one_ptr", 4) for scale in (SCALES if is_softmax else ())),
    )
    suffix = "" if flat else "2D"
    return VertexType(
        f"popnn::Loss{name}Transform{suffix}<{dtype}>", "worker", fields, costs, compute, doc="terms of the loss"
    )


def hits(places: AnyArray, expected: AnyArray) -> int:
    """The number of rows whose largest element is at the expected index; masked labels never count."""
    labels = expected.astype(np.int64) & MASKED_LABEL_CODE
    return int(((places.astype(np.int64) == labels) & (labels != MASKED_LABEL_CODE)).sum())


@register("popnn.accuracy")
def _accuracy_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    outputs[0][...] = inputs[2] + np.uint32(hits(inputs[0], inputs[1]))


@lru_cache(maxsize=4)
def accuracy_vertex(label: str) -> VertexType:
    """Adds the number of hits to a count."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent = classes.accuracy(elements["expected"])
        return BlockCosts(spent, "exact", described_as(ESTIMATORS, classes.accuracy), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        vertex.numCorrect[...] += np.uint32(hits(np.asarray(vertex.maxPerBatch), np.asarray(vertex.expected)))

    fields = (
        FieldSpec("maxPerBatch", "vector", "in", None, "span", 4),
        FieldSpec("expected", "vector", "in", None, "one_ptr", 4),
        FieldSpec("numCorrect", "vector", "inout", None, "one_ptr", 4),
    )
    return VertexType(f"popnn::CalcAccuracy<{label}>", "worker", fields, costs, compute, doc="counts hits")
