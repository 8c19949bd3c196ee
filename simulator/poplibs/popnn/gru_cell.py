"""One step of popnn.gru, forward and backward, and the parameters of a layer."""

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
    nonLinearityInPlace,
    nonLinearityInputGradient,
)
from simulator.poplibs.popnn.recurrent import RecurrentOptions, RecurrentProducts, check_sizes, flatten_units
from simulator.poplibs.poputil.exceptions import poplibs_error


class BasicGruCellUnit(Enum):
    BASIC_GRU_CELL_RESET_GATE = 0
    BASIC_GRU_CELL_UPDATE_GATE = 1
    BASIC_GRU_CELL_CANDIDATE = 2


UNITS = tuple(BasicGruCellUnit)
_RESET, _UPDATE, _CANDIDATE = UNITS


def getDefaultBasicGruCellOrder() -> list[BasicGruCellUnit]:
    """Reset gate, update gate, candidate."""
    return list(UNITS)


@dataclass
class GruParams:
    """Sizes and functions of a layer; `layerSizes` is [in, out]. With `resetAfter` the reset gate multiplies the
    candidate's product with the last output, else the last output before that product.

    Raises `poplibs_error` for other layers, and for a cell order that does not name each unit once."""

    dataType: Type
    batchSize: int
    timeSteps: int
    layerSizes: SequenceOf[int]
    outputFullSequence: bool = field(default=True, kw_only=True)
    calcInputGradients: bool = field(default=True, kw_only=True)
    cellOrder: list[BasicGruCellUnit] = field(default_factory=getDefaultBasicGruCellOrder, kw_only=True)
    resetAfter: bool = field(default=False, kw_only=True)
    activation: NonLinearityType = field(default=NonLinearityType.TANH, kw_only=True)
    recurrentActivation: NonLinearityType = field(default=NonLinearityType.SIGMOID, kw_only=True)

    def __post_init__(self) -> None:
        check_sizes("GruParams", self.layerSizes, self.batchSize, self.timeSteps)
        if len(self.cellOrder) != len(UNITS) or set(self.cellOrder) != set(UNITS):
            names = [getattr(unit, "name", unit) for unit in self.cellOrder]
            raise poplibs_error(f"GruParams: cellOrder {names} must name each of the {len(UNITS)} units once.")

    def biases_shape(self) -> list[int]:
        """[3, out]; with `resetAfter` [3, 2, out], biases of the input's product and of the last output's."""
        return [len(UNITS), 2, self.layerSizes[1]] if self.resetAfter else [len(UNITS), self.layerSizes[1]]


class GruWeights(NamedTuple):
    """The weights of a layer, or their gradients."""

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


class Layer(RecurrentProducts):
    """The products and the steps of a layer in one of its passes."""

    def __init__(
        self,
        graph: Graph,
        params: GruParams,
        weights: GruWeights,
        options: RecurrentOptions,
        cache: PlanningCache | None,
        call: DebugInfo,
    ) -> None:
        super().__init__(graph, params.dataType, options, cache, call)
        self.params, self.biases = params, weights.biases
        self.input_weights = flatten_units(weights.inputWeights)
        self.output_weights = {unit: weights.outputWeights[params.cellOrder.index(unit)] for unit in UNITS}

    def units(self, flat: Tensor) -> dict[BasicGruCellUnit, Tensor]:
        """[batch, 3 * out] -> the three units, each [batch, out]."""
        out = self.params.layerSizes[1]
        return {unit: flat.slice(i * out, (i + 1) * out, 1) for i, unit in enumerate(self.params.cellOrder)}

    def beside(self, state: Tensor, flat: Tensor, name: str, prog: Sequence) -> list[Tensor]:
        """[batch, units * out] as tensors [batch, out] on the tiles of the state, so that what follows stays there."""
        out = state.dim(1)
        parts = [self.graph.clone(state, (self.call, name)) for _ in range(flat.dim(1) // out)]
        prog.add(Copy(flat, concat(parts, 1), False, (self.call, name)))
        return parts

    def weights_of(self, units: SequenceOf[BasicGruCellUnit]) -> Tensor:
        """Weights of the last output for some units, [out, units * out]."""
        return concat([self.output_weights[unit] for unit in units], 1)

    def step(self, input: Tensor, output: Tensor, prog: Sequence) -> tuple[list[Tensor], Tensor]:
        """(reset gate, update gate, candidate and, with `resetAfter`, the candidate's product with the last output;
        the new output)."""
        graph, call = self.graph, self.call
        activate = self._candidate_reset_after if self.params.resetAfter else self._candidate_reset_before
        saved = activate(input, output, prog)
        _, update, candidate = saved[:3]
        new = popops.sub(graph, output, candidate, prog, (call, "fwd/output"))
        popops.mulInPlace(graph, new, update, prog, (call, "fwd/output"))
        popops.addInPlace(graph, new, candidate, prog, (call, "fwd/output"))
        return saved, new

    def _candidate_reset_after(self, input: Tensor, output: Tensor, prog: Sequence) -> list[Tensor]:
        graph, params, call = self.graph, self.params, self.call
        product = self.multiply(input, self.input_weights, "fwd/weightedInput", "", prog)
        by_input = concat(self.beside(output, product, "fwd/inputUnits", prog), 1)
        product = self.multiply(output, self.weights_of(params.cellOrder), "fwd/weightedOutput", "", prog)
        by_output = concat(self.beside(output, product, "fwd/outputUnits", prog), 1)
        both = concat([by_input, by_output], 1)
        popops.addInPlace(graph, both, self.biases.dimShuffle([1, 0, 2]).flatten(), prog, (call, "fwd/biases"))
        total, recurrent = self.units(by_input), self.units(by_output)
        gates = concat([total[_RESET], total[_UPDATE]])
        popops.addInPlace(graph, gates, concat([recurrent[_RESET], recurrent[_UPDATE]]), prog, (call, "fwd/gates"))
        nonLinearityInPlace(graph, params.recurrentActivation, gates, prog, (call, "fwd/gates"))
        # the backward pass needs the product itself, so the gate does not multiply it in place
        gated = popops.mul(graph, recurrent[_CANDIDATE], total[_RESET], prog, (call, "fwd/reset"))
        candidate = total[_CANDIDATE]
        popops.addInPlace(graph, candidate, gated, prog, (call, "fwd/candidate"))
        nonLinearityInPlace(graph, params.activation, candidate, prog, (call, "fwd/candidate"))
        return [total[_RESET], total[_UPDATE], candidate, recurrent[_CANDIDATE]]

    def _candidate_reset_before(self, input: Tensor, output: Tensor, prog: Sequence) -> list[Tensor]:
        graph, params, call = self.graph, self.params, self.call
        product = self.multiply(input, self.input_weights, "fwd/weightedInput", "", prog)
        by_input = concat(self.beside(output, product, "fwd/inputUnits", prog), 1)
        popops.addInPlace(graph, by_input, self.biases.flatten(), prog, (call, "fwd/biases"))
        total = self.units(by_input)
        product = self.multiply(output, self.weights_of((_RESET, _UPDATE)), "fwd/weightedOutput", "", prog)
        by_output = concat(self.beside(output, product, "fwd/outputUnits", prog), 1)
        gates = concat([total[_RESET], total[_UPDATE]], 1)
        popops.addInPlace(graph, gates, by_output, prog, (call, "fwd/gates"))
        nonLinearityInPlace(graph, params.recurrentActivation, gates, prog, (call, "fwd/gates"))
        kept = popops.mul(graph, output, total[_RESET], prog, (call, "fwd/reset"))
        product = self.multiply(kept, self.weights_of((_CANDIDATE,)), "fwd/weightedReset", "", prog)
        (recurrent,) = self.beside(output, product, "fwd/resetUnit", prog)
        candidate = total[_CANDIDATE]
        popops.addInPlace(graph, candidate, recurrent, prog, (call, "fwd/candidate"))
        nonLinearityInPlace(graph, params.activation, candidate, prog, (call, "fwd/candidate"))
        return [total[_RESET], total[_UPDATE], candidate]

    def arrange_backward(self, prog: Sequence) -> None:
        """Lay out the weights of the last output for the steps back."""
        batch = self.params.batchSize
        gates = (_RESET, _UPDATE, _CANDIDATE) if self.params.resetAfter else (_RESET, _UPDATE)
        self._gates_back = self.arrange(self.weights_of(gates).transpose(), batch, "bwd/outputWeights", prog)
        if not self.params.resetAfter:
            candidate = self.output_weights[_CANDIDATE].transpose()
            self._candidate_back = self.arrange(candidate, batch, "bwd/candidateWeights", prog)

    def step_back(
        self, intermediates: Tensor, before: Tensor, slope: Tensor, prog: Sequence
    ) -> tuple[list[Tensor], Tensor]:
        """(gradients of reset gate, update gate and candidate before their functions and, with `resetAfter`, of the
        candidate's product with the last output; the gradient of the last output `before`), from the gradient `slope`
        of the new output. `arrange_backward` comes first."""
        graph, params, call = self.graph, self.params, self.call
        update, candidate = intermediates[1], intermediates[2]
        carried = popops.mul(graph, slope, update, prog, (call, "bwd/carried"))
        of_candidate = popops.sub(graph, slope, carried, prog, (call, "bwd/candidate"))
        by_candidate = self._through(params.activation, candidate, of_candidate, "candidate", prog)
        of_update = popops.sub(graph, before, candidate, prog, (call, "bwd/updateGate"))
        popops.mulInPlace(graph, of_update, slope, prog, (call, "bwd/updateGate"))
        by_update = self._through(params.recurrentActivation, update, of_update, "updateGate", prog)
        back = self._reset_after_back if params.resetAfter else self._reset_before_back
        return back(intermediates, before, by_update, by_candidate, carried, prog)

    def _through(self, kind: NonLinearityType, act: Tensor, slope: Tensor, name: str, prog: Sequence) -> Tensor:
        return nonLinearityInputGradient(self.graph, kind, act, slope, prog, (self.call, f"bwd/{name}"))

    def _reset_after_back(
        self, saved: Tensor, before: Tensor, by_update: Tensor, by_candidate: Tensor, carried: Tensor, prog: Sequence
    ) -> tuple[list[Tensor], Tensor]:
        graph, call = self.graph, self.call
        reset, recurrent = saved[0], saved[3]
        of_reset = popops.mul(graph, by_candidate, recurrent, prog, (call, "bwd/resetGate"))
        by_reset = self._through(self.params.recurrentActivation, reset, of_reset, "resetGate", prog)
        by_recurrent = popops.mul(graph, by_candidate, reset, prog, (call, "bwd/recurrent"))
        units = concat([by_reset, by_update, by_recurrent], 1)
        product = self.multiply(units, self._gates_back, "bwd/outputGrad", "TRAINING_BWD", prog)
        (back,) = self.beside(carried, product, "bwd/outputUnits", prog)
        popops.addInPlace(graph, carried, back, prog, (call, "bwd/outputGrad"))
        return [by_reset, by_update, by_candidate, by_recurrent], carried

    def _reset_before_back(
        self, saved: Tensor, before: Tensor, by_update: Tensor, by_candidate: Tensor, carried: Tensor, prog: Sequence
    ) -> tuple[list[Tensor], Tensor]:
        graph, call = self.graph, self.call
        reset = saved[0]
        product = self.multiply(by_candidate, self._candidate_back, "bwd/weightedReset", "TRAINING_BWD", prog)
        (gated,) = self.beside(carried, product, "bwd/resetUnit", prog)
        of_reset = popops.mul(graph, before, gated, prog, (call, "bwd/resetGate"))
        by_reset = self._through(self.params.recurrentActivation, reset, of_reset, "resetGate", prog)
        through_gate = popops.mul(graph, reset, gated, prog, (call, "bwd/reset"))
        popops.addInPlace(graph, carried, through_gate, prog, (call, "bwd/reset"))
        units = concat([by_reset, by_update], 1)
        product = self.multiply(units, self._gates_back, "bwd/outputGrad", "TRAINING_BWD", prog)
        (back,) = self.beside(carried, product, "bwd/outputUnits", prog)
        popops.addInPlace(graph, carried, back, prog, (call, "bwd/outputGrad"))
        return [by_reset, by_update, by_candidate], carried
