"""popnn: losses with their gradients, accuracy, extremes of rows, by vertices, by the kernel and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    UNSIGNED_INT,
    Graph,
    IPUModel,
    Tensor,
    graph_connection_error,
    poplar_error,
    type_error,
)
from simulator.poplar.program import Sequence
from simulator.poplibs import popnn
from simulator.poplibs.popnn import MASKED_LABEL_CODE, LossType
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph
from tests.poplibs.slow_machine import SlowMachine

RNG = np.random.default_rng(31)
LABELS = np.array([3, 0, MASKED_LABEL_CODE, 4, 1], np.uint32)
PROBABILITIES = RNG.dirichlet(np.ones(5), 5)
PROBABILITIES[3, 4] = 0  # a class of probability 0 that occurs


class Case:
    """Tensors of a loss of five rows of five classes."""

    def __init__(self, type_: Any = FLOAT, label_type: Any = UNSIGNED_INT) -> None:
        self.graph, self.program = small_graph(), Sequence()
        self.outputs = linear(self.graph, type_, [5, 5], "outputs")
        self.expected = linear(self.graph, label_type, [5], "expected")
        self.loss, self.deltas = linear(self.graph, type_, [5], "loss"), linear(self.graph, type_, [5, 5], "deltas")
        self.count = linear(self.graph, UNSIGNED_INT, [], "count")
        self.given: list[tuple[Tensor, Any]] = [(self.expected, LABELS.astype(label_type.dtype))]

    def scalar(self, type_: Any, value: float) -> Tensor:
        tensor = linear(self.graph, type_, [1], f"scale{value}")
        self.given.append((tensor, [value]))
        return tensor

    def run(self, outputs: Any, *arguments: Any, **named: Any) -> list[tuple[Any, Any, Any]]:
        """(loss, deltas, count) by vertices and by kernels."""
        self.program.add(
            popnn.calcLoss(self.graph, self.outputs, self.expected, self.loss, self.deltas, *arguments, **named)
        )
        found = []
        for kernels in (False, True):
            machine = SlowMachine(self.graph, kernels)
            for tensor, values in [*self.given, (self.outputs, outputs), (self.count, 10)]:
                machine.write(tensor, values)
            machine.run(self.program)
            found.append(tuple(machine.read(t) for t in (self.loss, self.deltas, self.count)))
        return found


def one_hot() -> Any:
    return (LABELS[:, None] == np.arange(5)).astype(np.float64)


@pytest.mark.parametrize("label_type", [UNSIGNED_INT, INT], ids=["uint", "int"])
@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
def test_cross_entropy_of_scaled_outputs(type_: Any, label_type: Any) -> None:
    """Outputs 16 times as large, a gradient 3 times as large, a masked row, a class of probability zero."""
    case = Case(type_, label_type)
    deltas_scale, output_scale = case.scalar(type_, 3.0), case.scalar(type_, 16.0)
    given = (16 * PROBABILITIES).astype(type_.dtype)
    found = case.run(given, deltas_scale, output_scale, case.count, LossType.CROSS_ENTROPY_LOSS, "loss")
    p = given.astype(np.float64) / 16
    kept = (LABELS != MASKED_LABEL_CODE)[:, None]
    least = (1.17549435e-38 if type_ is FLOAT else 6.103515625e-05) / 16
    loss = -(one_hot() * np.log(np.maximum(p, least))).sum(1)
    hits = int((p.argmax(1) == LABELS).sum())
    for by_rows, deltas, count in found:
        np.testing.assert_allclose(by_rows, loss, rtol=1e-5 if type_ is FLOAT else 2e-3, atol=1e-3)
        np.testing.assert_allclose(deltas, 3 * kept * (p - one_hot()), atol=1e-5 if type_ is FLOAT else 4e-3)
        assert count == 10 + hits  # the count is added to its old value


def test_every_form_and_the_sum_of_squares() -> None:
    given = PROBABILITIES.astype(np.float32)
    for arguments in ((), ("count",)):
        case = Case()
        found = case.run(given, *[case.count] * len(arguments), LossType.SUM_SQUARED_LOSS, "loss")
        for loss, deltas, count in found:
            np.testing.assert_allclose(loss, 0.5 * ((given - one_hot()) ** 2).sum(1), rtol=1e-5)
            np.testing.assert_allclose(deltas, given - one_hot(), atol=1e-6)
            assert count == 10 + (int((given.argmax(1) == LABELS).sum()) if arguments else 0)
    case = Case()
    plain = case.run(given, lossType=LossType.CROSS_ENTROPY_LOSS, debugContext="loss")
    case = Case()
    ones = {"deltasScale": case.scalar(FLOAT, 1.0), "modelOutputScaling": case.scalar(FLOAT, 1.0)}
    scaled = case.run(given, **ones, lossType=LossType.CROSS_ENTROPY_LOSS)
    for one, other in zip(plain, scaled, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


@given(
    st.integers(1, 5),
    st.sampled_from([1, 2, 31, 33, 191, 400, 1300]),
    st.sampled_from([FLOAT, HALF, INT, UNSIGNED_INT]),
    st.integers(1, 7),
    st.integers(0, 100),
)
def test_largest_and_smallest_of_rows(rows: int, columns: int, type_: Any, tiles: int, seed: int) -> None:
    """Few different values, so that the first of equal elements must win."""
    values = np.random.default_rng(seed).integers(0 if type_ is UNSIGNED_INT else -9, 9, (rows, columns))
    values = values.astype(type_.dtype)
    graph, program = small_graph(tiles), Sequence()
    t = linear(graph, type_, [rows, columns])
    found = [
        popnn.argMax(graph, t, program),
        popnn.argMin(graph, t, program),
        *popnn.maxAndArgMax(graph, t, program),
        *popnn.minAndArgMin(graph, t, program),
    ]
    assert [x.elementType() for x in found] == [UNSIGNED_INT, UNSIGNED_INT, type_, UNSIGNED_INT, type_, UNSIGNED_INT]
    largest, smallest = values.argmax(1), values.argmin(1)
    exact = [largest, smallest, values.max(1), largest, values.min(1), smallest]
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        machine.write(t, values)
        machine.run(program)
        for tensor, wanted in zip(found, exact, strict=True):
            assert np.array_equal(machine.read(tensor), wanted)


def test_rows_are_cut_over_tiles_as_poplibs_cuts_them() -> None:
    """Two rows of 500 on 1,472 tiles: at least 192 elements a tile, so the last six tiles with 166 or 167 elements
    each, cut again at the end of a row. Each worker takes at least 32. One more vertex reduces each row."""
    graph, program = Graph(IPUModel().createDevice()), Sequence()
    t = graph.addVariable(FLOAT, [2, 500], "t")
    graph.setTileMapping(t, 0)
    popnn.argMax(graph, t, program, "a")
    gather, sparse = graph.store.blocks
    sizes = [166, 167, 167, 166, 167, 167]
    assert gather.values["size"].tolist() == sizes
    assert gather.tiles.tolist() == [1471, 1470, 1469, 1468, 1467, 1466]
    assert gather.values["index"].tolist() == [0, 166, 333, 0, 166, 333]
    assert set(gather.values["workerSize"].tolist()) == {32}
    cycles = gather.type.costs(gather, {}, None).cycles
    assert cycles.tolist() == [9 + 6 * (30 + 3 * 31)] * 6
    assert sparse.tiles.tolist() == [1471, 1470]
    elements = {"activations": np.array([18, 18])}
    assert sparse.type.costs(sparse, elements, None).cycles.tolist() == [27 + 3 * 17] * 2
    assert [b.type.name for b in (gather, sparse)] == [
        "popnn::ReduceMaxClassGather<float,uint>",
        "popnn::ReduceMaxClassSparse<float,uint>",
    ]


def test_accuracy_counts_on() -> None:
    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        outputs, expected = linear(graph, HALF, [5, 5]), linear(graph, INT, [5])
        count = linear(graph, UNSIGNED_INT, [1])
        program.add(popnn.calcAccuracy(graph, outputs, expected, count, "a"))
        program.add(popnn.calcAccuracy(graph, outputs, expected, count, "b"))
        inputs = {"o": (outputs, np.eye(5)), "e": (expected, [0, 1, 4, -1, 4]), "c": (count, [7])}
        return inputs, count

    for result in both_ways(build):
        assert result.tolist() == [7 + 2 * 3]


def test_refusals() -> None:
    graph, program = small_graph(), Sequence()
    t, flags = linear(graph, FLOAT, [4, 4]), linear(graph, BOOL, [4, 4])
    labels, loss, count = linear(graph, UNSIGNED_INT, [4]), linear(graph, FLOAT, [4]), linear(graph, UNSIGNED_INT, [1])
    one, two, squared = linear(graph, FLOAT, [1]), linear(graph, FLOAT, [2]), LossType.SUM_SQUARED_LOSS
    with pytest.raises(poplar_error, match="SUM_SQUARED_LOSS takes no scales"):
        popnn.calcLoss(graph, t, labels, loss, t, one, one, squared)
    with pytest.raises(graph_connection_error, match=r"deltasScale is float\[2\]; it must be one float"):
        popnn.calcLoss(graph, t, labels, loss, t, two, one, LossType.CROSS_ENTROPY_LOSS)
    with pytest.raises(type_error, match="calcLoss: expected holds float"):
        popnn.calcLoss(graph, t, loss, loss, t, squared)
    with pytest.raises(type_error, match="calcLoss: outputs hold bool"):
        popnn.calcLoss(graph, flags, labels, loss, t, squared)
    with pytest.raises(graph_connection_error, match="numCorrect is float"):
        popnn.calcAccuracy(graph, t, labels, one)
    with pytest.raises(graph_connection_error, match=r"calcAccuracy: \[1\] labels do not fit"):
        popnn.calcAccuracy(graph, t, count, count)
    with pytest.raises(type_error, match="argmax: bool is neither"):
        popnn.argMax(graph, flags, program)
    with pytest.raises(graph_connection_error, match=r"argmin: shape \[4\] is not"):
        popnn.argMin(graph, loss, program)
    with pytest.raises(poplibs_error, match="calcLoss has no overload for"):
        popnn.calcLoss(graph, t, labels, loss, t, 1.0, squared)
