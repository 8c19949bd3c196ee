"""The factor of all gradients: a number that is compiled in, one that the host sends, or one that follows gradients.

The last is PopART's automatic loss scaling with its default settings (automaticlossscaling.cpp, lossscaleupdatex.cpp,
AutomaticLossScalingSettings): after each step the factor is halved where more than SHARE of the elements of float16
gradients reach EDGE, else doubled. It begins at the optimizer's loss scaling. Each tracked gradient costs a comparison
of its elements and a reduction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.lowered import Settings
from simulator.poplar import FLOAT, HALF, Tensor
from simulator.poplar import program as programs
from simulator.poplibs import gcl, popops

e = popops.expr
EDGE = 0.0625 * 65504.0  #: binEdgeLocation times the largest float16
SHARE = 1e-7  #: thresholdUpperCountProportion
RATE, FACTOR = "loss_scaling", "lossScaleUpdateFactor"
_ADD = popops.ReduceParams(popops.Operation.ADD)


class NoHalfGradientsError(poplar_error):
    """Automatic loss scaling of a module without float16 gradients."""


@dataclass
class LossScaling:
    """Sets `at.loss_scaling`, and changes it after each step where the settings say so."""

    at: Building
    settings: Settings
    rates: dict[str, Tensor] = field(default_factory=dict)
    states: dict[str, Tensor] = field(default_factory=dict)
    _large: dict[int, Tensor] = field(default_factory=dict)  #: counts of large elements, by IPU
    _seen: set[int] = field(default_factory=set)  #: variables of the tracked gradients
    _elements: int = 0  #: of the tracked gradients of a micro-batch

    def begin(self, before: programs.Sequence) -> None:
        """Make the factor of a step, which the step begins with."""
        self.at.loss_scaling = self.settings.loss_scaling
        if not (self.settings.loss_scaling_varies or self.settings.automatic_loss_scaling):
            return
        self._before = before
        self.at.loss_scaling = self.rates[RATE] = self.at.scalar(RATE)
        if self.settings.automatic_loss_scaling:
            self.states[FACTOR] = self.at.scalar(FACTOR)
            with self.at.part("lossScaling", "Mul"):
                both = [self.rates[RATE], self.states[FACTOR]]
                self.at.loss_scaling = popops.map(self.at.top, e._1 * e._2, both, before, "finalLossScale")

    def slope(self, loss_type: str, shape: tuple[int, ...], share: float) -> Tensor:
        """The gradient of the loss: the factor times `share`."""
        factor = self.at.loss_scaling
        if isinstance(factor, float):
            return self.at.constant(loss_type, shape, factor * share, "lossScaling")
        filled = self.at.constant(loss_type, shape, share, "lossShare")
        factor = self.at.cast(self.at.here(factor), loss_type, "lossScaling")
        return popops.mul(self.at.graph, filled, factor, self.at.program, self.at.name("lossScaling"))

    def track(self, slope: Tensor) -> None:
        """Count the large elements of a gradient, where the operator at hand stands. Views of what was counted, as an
        operator gives them that moves elements only, are left out."""
        variables = set(slope.view.variables())
        if slope.elementType() != HALF or not slope.numElements() or variables <= self._seen:
            return
        self._seen |= variables
        graph, program, ipu = self.at.graph, self.at.program, self.at.spot.ipu
        if ipu not in self._large:
            self._large[ipu] = graph.addVariable(FLOAT, [1], f"autoLossScaleStats{ipu}")
            graph.setTileMapping(self._large[ipu], 0)
            popops.zero(graph, self._large[ipu], self._before, "autoLossScaleStats/zero")
        is_large = e.Cast(e.Gte(e.Abs(e._1), e.Const(EDGE)), FLOAT)
        large = popops.map(graph, is_large, [slope.flatten()], program, self.at.name("isLarge"))
        count = popops.reduce(graph, large, FLOAT, [0], _ADD, program, self.at.name("count"))
        popops.addInPlace(graph, self._large[ipu], count.reshape([1]), program, self.at.name("add"))
        self._elements += slope.numElements()

    def end(self) -> None:
        """Halve or double the factor for the next step."""
        if FACTOR not in self.states:
            return
        if not self._large:
            raise NoHalfGradientsError(
                "[AutomaticLossScale transform] No tracked gradient tensors of type fp16 were found. Training."
                "setAutomaticLossScaling needs a module with float16 weights: call .half() on it, or leave the option "
                "out."
            )
        at, settings = self.at, self.settings
        with at.part("lossScaling", "LossScaleUpdate"):
            total, *others = self._large.values()
            for other in others:
                popops.addInPlace(at.graph, total, other, at.program, "summedHistograms")
            if settings.replicas > 1:
                gcl.allReduceInPlaceCrossReplica(at.graph, total, gcl.CollectiveOperator.ADD, at.program, "stats")
            allowed = SHARE * self._elements * settings.accumulation * settings.replicas
            step = e.Select(e.Const(0.5), e.Const(2.0), e.Gt(e._2, e.Const(allowed)))
            both = [self.states[FACTOR].reshape([1]), total]
            popops.mapInPlace(at.graph, e._1 * step, both, at.program, "lossScaleUpdate")
