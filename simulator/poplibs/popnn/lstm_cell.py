"""One step of popnn.lstm, forward and backward, and the parameters of a layer."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Copy, Sequence
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
        """Inputs of several steps times the weights of all units."""
        return self.multiply(rows, self.input_weights, "fwd/weightedInput", "", prog)

    def product(self, input: Tensor, output: Tensor, prog: Sequence) -> Tensor:
        """The input and the last output of one step times the weights of all units, in one product."""
        rows, weights = concat([input, output], 1), concat([self.input_weights, self.output_weights])
        return self.multiply(rows, weights, "fwd/weighted", "", prog)

    def product_with(self, weighted: Tensor, output: Tensor, prog: Sequence) -> Tensor:
        """The same where the product of the input is there."""
        total = self.multiply(output, self.output_weights, "fwd/weightedOutput", "", prog)
        popops.addInPlace(self.graph, total, weighted, prog, (self.call, "fwd/weighted"))
        return total

    def step(self, total: Tensor, cell: Tensor, prog: Sequence) -> tuple[list[Tensor], Tensor, Tensor]:
        """(the values that the backward pass needs, the cell state afterwards, the output), from the product of all
        units. They are first copied to the tiles that hold the cell state, on which all that follows stays."""
        graph, params = self.graph, self.params
        parts = [graph.clone(cell, (self.call, "fwd/units")) for _ in UNITS]
        units = concat([part.expand([0]) for part in parts])
        prog.add(
            Copy(total.reshape([cell.dim(0), len(UNITS), cell.dim(1)]).dimShuffle([1, 0, 2]), units, False, self.call)
        )
        popops.addInPlace(graph, units, self.biases.expand([1]), prog, (self.call, "fwd/biases"))
        forget, take, candidate, give = (parts[params.cellOrder.index(unit)] for unit in UNITS)
        gates = concat([forget, take, give])
        nonLinearityInPlace(graph, params.recurrentActivation, gates, prog, (self.call, "fwd/gates"))
        nonLinearityInPlace(graph, params.activation, candidate, prog, (self.call, "fwd/candidate"))
        kept_and_new = concat([forget, take]), concat([cell, candidate])
        products = popops.mul(graph, *kept_and_new, prog, (self.call, "fwd/forget"))
        after, new = products.slice(0, cell.dim(0), 0), products.slice(cell.dim(0), 2 * cell.dim(0), 0)
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
