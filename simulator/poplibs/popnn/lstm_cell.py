"""One step of popnn.lstm, forward and backward, and the parameters of a layer."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from simulator.base.types import Type
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.popnn.nonlinearity import (
    NonLinearityType,
    nonLinearity,
    nonLinearityInPlace,
    nonLinearityInputGradient,
)
from simulator.poplibs.popnn.recurrent import RecurrentOptions, RecurrentProducts, check_sizes, flatten_units
from simulator.programming.graph import Graph


class BasicLstmCellUnit(Enum):
    BASIC_LSTM_CELL_FORGET_GATE = 0
    BASIC_LSTM_CELL_INPUT_GATE = 1
    BASIC_LSTM_CELL_CANDIDATE = 2
    BASIC_LSTM_CELL_OUTPUT_GATE = 3


UNITS = tuple(BasicLstmCellUnit)
_FORGET, _INPUT, _CANDIDATE, _OUTPUT = UNITS


def getDefaultBasicLstmCellOrder() -> list[BasicLstmCellUnit]:
    """Forget gate, input gate, candidate, output gate."""
    return list(UNITS)


@dataclass
class LstmParams:
    """Sizes and functions of a layer; `layerSizes` is [in, out]. Raises `poplibs_error` for other layers."""

    dataType: Type
    batchSize: int
    timeSteps: int
    layerSizes: SequenceOf[int]
    activation: NonLinearityType = NonLinearityType.TANH
    recurrentActivation: NonLinearityType = NonLinearityType.SIGMOID
    outputFullSequence: bool = field(default=True, kw_only=True)
    calcInputGradients: bool = field(default=True, kw_only=True)
    cellOrder: list[BasicLstmCellUnit] = field(default_factory=getDefaultBasicLstmCellOrder, kw_only=True)

    def __post_init__(self) -> None:
        check_sizes("LstmParams", self.layerSizes, self.batchSize, self.timeSteps)


class LstmState(NamedTuple):
    """The last output and cell state, each [batch, out], or their gradients."""

    output: Tensor
    cellState: Tensor

    def getAsTensor(self) -> Tensor:
        """Both, [2, batch, out]."""
        return concat([self.output.expand([0]), self.cellState.expand([0])])


class LstmWeights(NamedTuple):
    """The weights of a layer, or their gradients."""

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


class Layer(RecurrentProducts):
    """The products and the steps of a layer in one of its passes."""

    def __init__(
        self,
        graph: Graph,
        params: LstmParams,
        weights: LstmWeights,
        options: RecurrentOptions,
        cache: PlanningCache | None,
        call: DebugInfo,
    ) -> None:
        super().__init__(graph, params.dataType, options, cache, call)
        self.params, self.biases = params, weights.biases
        self.input_weights, self.output_weights = map(flatten_units, (weights.inputWeights, weights.outputWeights))

    def weighted(self, rows: Tensor, prog: Sequence) -> Tensor:
        """Inputs of one step, or of several, times the weights of all units."""
        return self.multiply(rows, self.input_weights, "fwd/weightedInput", "", prog)

    def units(self, flat: Tensor) -> list[Tensor]:
        """[batch, 4 * out] -> forget gate, input gate, candidate, output gate, each [batch, out]."""
        out = self.params.layerSizes[1]
        order = self.params.cellOrder
        return [flat.slice(order.index(u) * out, (order.index(u) + 1) * out, 1) for u in UNITS]

    def step(
        self, weighted: Tensor, output: Tensor, cell: Tensor, prog: Sequence
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """(the values that the backward pass needs, the cell state afterwards, the output)."""
        graph, params = self.graph, self.params
        total = self.multiply(output, self.output_weights, "fwd/weightedOutput", "", prog)
        popops.addInPlace(graph, total, weighted, prog, (self.call, "fwd/weighted"))
        popops.addInPlace(graph, total, self.biases.flatten(), prog, (self.call, "fwd/biases"))
        forget, take, candidate, give = self.units(total)
        gates = concat([forget, take, give])
        nonLinearityInPlace(graph, params.recurrentActivation, gates, prog, (self.call, "fwd/gates"))
        nonLinearityInPlace(graph, params.activation, candidate, prog, (self.call, "fwd/candidate"))
        after = popops.mul(graph, forget, cell, prog, (self.call, "fwd/forget"))
        new = popops.mul(graph, take, candidate, prog, (self.call, "fwd/input"))
        popops.addInPlace(graph, after, new, prog, (self.call, "fwd/cell"))
        active = nonLinearity(graph, params.activation, after, prog, (self.call, "fwd/activation"))
        out = popops.mul(graph, give, active, prog, (self.call, "fwd/output"))
        intermediates = [forget, take, candidate, give, active, cell]
        return intermediates if params.outputFullSequence else [*intermediates, out], after, out

    def back(self, intermediates: Tensor, out_slope: Tensor, cell_slope: Tensor, prog: Sequence) -> Tensor:
        """The gradients of the four units before their functions, [4, batch, out] in the order of the weights.
        `cell_slope` becomes the gradient of the cell state before the step."""
        graph, params, call = self.graph, self.params, self.call
        forget, take, candidate, give, active, before = (intermediates[i] for i in range(6))

        def through(kind: NonLinearityType, act: Tensor, slope: Tensor, name: str) -> Tensor:
            return nonLinearityInputGradient(graph, kind, act, slope, prog, (call, f"bwd/{name}"))

        def times(a: Tensor, b: Tensor, name: str) -> Tensor:
            return popops.mul(graph, a, b, prog, (call, f"bwd/{name}"))

        by_output = through(params.activation, active, times(give, out_slope, "active"), "activation")
        popops.addInPlace(graph, cell_slope, by_output, prog, (call, "bwd/cell"))
        found = {
            _OUTPUT: through(params.recurrentActivation, give, times(active, out_slope, "output"), "outputGate"),
            _FORGET: through(params.recurrentActivation, forget, times(before, cell_slope, "forget"), "forgetGate"),
            _INPUT: through(params.recurrentActivation, take, times(candidate, cell_slope, "input"), "inputGate"),
            _CANDIDATE: through(params.activation, candidate, times(take, cell_slope, "candidate"), "candidate"),
        }
        popops.mulInPlace(graph, cell_slope, forget, prog, (call, "bwd/cell"))
        return concat([found[unit].expand([0]) for unit in params.cellOrder])
