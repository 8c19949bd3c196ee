"""Groups of options: Training, Precision, Jit, Distributed, and what goes to the compiler (_Popart)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from simulator.frontends.poptorch.enums import HalfFloatCastingBehavior, MeanReductionStrategy, ReductionType
from simulator.frontends.poptorch.errors import OptionError
from simulator.frontends.poptorch.option_group import (
    OptionGroup,
    checked_bool,
    checked_count,
    checked_member,
    checked_text,
    setter,
)


class TrainingOptions(OptionGroup):
    """`Options.Training`."""

    path = "Training."

    def __init__(self) -> None:
        super().__init__(
            gradient_accumulation=1,
            accumulation_and_replication_reduction_type=ReductionType.Mean,
            meanAccumulationAndReplicationReductionStrategy=MeanReductionStrategy.Post,
            automatic_loss_scaling=False,
            convolution_dithering=False,
        )

    @setter
    def gradientAccumulation(self, gradient_accumulation: int) -> None:
        """Micro-batches whose gradients are reduced before one update of the weights."""
        self.set(gradient_accumulation=checked_count("Training.gradientAccumulation", gradient_accumulation))

    @setter
    def accumulationAndReplicationReductionType(self, reduction_type: ReductionType) -> None:
        """Mean or sum of the gradients of micro-batches and replicas."""
        name = "Training.accumulationAndReplicationReductionType"
        if checked_member(name, ReductionType, reduction_type) is ReductionType.NoReduction:
            raise OptionError(f"{name} must be set to poptorch.ReductionType.Mean or poptorch.ReductionType.Sum.")
        self.set(accumulation_and_replication_reduction_type=reduction_type)

    @setter
    def setMeanAccumulationAndReplicationReductionStrategy(
        self, mean_reduction_strategy: MeanReductionStrategy
    ) -> None:
        """When a mean of gradients is divided."""
        name = "Training.setMeanAccumulationAndReplicationReductionStrategy"
        strategy = checked_member(name, MeanReductionStrategy, mean_reduction_strategy)
        self.set(meanAccumulationAndReplicationReductionStrategy=strategy)

    @setter
    def setAutomaticLossScaling(self, enabled: bool) -> None:
        """Let the loss scaling follow the float16 gradients: it is halved after a step in which one of them is large,
        else doubled."""
        self.set(automatic_loss_scaling=checked_bool("Training.setAutomaticLossScaling", enabled))

    @setter
    def setConvolutionDithering(self, enabled: bool) -> None:
        """Begin convolutions on different tiles."""
        self.set(convolution_dithering=checked_bool("Training.setConvolutionDithering", enabled))


class PrecisionOptions(OptionGroup):
    """`Options.Precision`. `partials_type` is "float32", "float16", or None: that of the operands."""

    path = "Precision."

    def __init__(self) -> None:
        super().__init__(
            half_float_casting=HalfFloatCastingBehavior.Default,
            floating_point_exceptions=False,
            stochastic_rounding=False,
            partials_type=None,
        )

    @setter
    def halfFloatCasting(self, half_float_casting: HalfFloatCastingBehavior) -> None:
        """The type of an operator that reads float16 and float32: PyTorch's."""
        behaviour = checked_member("Precision.halfFloatCasting", HalfFloatCastingBehavior, half_float_casting)
        if behaviour is HalfFloatCastingBehavior.FloatDowncastToHalf:
            raise OptionError(
                "Precision.halfFloatCasting(FloatDowncastToHalf) needs torch.jit.trace, which PopTorch 3 does not use; "
                "convert the float32 operand with .half()."
            )
        self.set(half_float_casting=behaviour)

    @setter
    def runningStatisticsAlwaysFloat(self, value: bool) -> None:
        """Store running means and variances of batch norms as float32."""
        self.createOrSet(running_statistics_always_float=checked_bool("Precision.runningStatisticsAlwaysFloat", value))

    @setter
    def enableFloatingPointExceptions(self, enabled: bool) -> None:
        """Stop where the device divides by zero, overflows or makes a NaN."""
        self.set(floating_point_exceptions=checked_bool("Precision.enableFloatingPointExceptions", enabled))

    @setter
    def enableStochasticRounding(self, enabled: bool) -> None:
        """Round to float16 up or down at random."""
        self.set(stochastic_rounding=checked_bool("Precision.enableStochasticRounding", enabled))

    @setter
    def setPartialsType(self, dtype: Any) -> None:
        """Type in which products and convolutions sum."""
        if dtype not in (torch.float32, torch.float16):
            raise OptionError(f"Precision.setPartialsType takes torch.float or torch.half, not {dtype!r}.")
        self.set(partials_type="float32" if dtype == torch.float32 else "float16")

    @setter
    def autocastEnabled(self, autocast_enabled: bool) -> None:
        """Refused where True: types are those of the module."""
        if checked_bool("Precision.autocastEnabled", autocast_enabled):
            _refuse_autocast("autocastEnabled")

    @setter
    def autocastPolicy(self, autocast_policy: object) -> None:
        """Refused."""
        _refuse_autocast("autocastPolicy")


def _refuse_autocast(name: str) -> None:
    raise NotImplementedError(
        f"Precision.{name} is not simulated: an operator has the types of its operands; use module.half() or "
        "tensor.half() (docs/poptorch.md)."
    )


class JitOptions(OptionGroup):
    """`Options.Jit`."""

    path = "Jit."

    def __init__(self) -> None:
        super().__init__(trace_model=False)

    @setter
    def traceModel(self, trace_model: bool) -> None:
        """Capture by torch.jit.trace."""
        self.set(trace_model=checked_bool("Jit.traceModel", trace_model))


class DistributedOptions(OptionGroup):
    """`Options.Distributed`: this process among those that share a data set."""

    path = "Distributed."

    def __init__(self) -> None:
        super().__init__(num_distributed_processes=1, distributed_process_id=0)
        self._configure_from("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")

    @setter
    def disable(self) -> None:
        """One process, whatever the environment says."""
        self.set(num_distributed_processes=1, distributed_process_id=0)

    @setter
    def setEnvVarNames(self, var_num_processes: str, var_process_id: str) -> None:
        """Read both numbers from environment variables; OpenMPI's are read at first."""
        name = "Distributed.setEnvVarNames"
        self._configure_from(checked_text(name, var_num_processes), checked_text(name, var_process_id))

    @setter
    def configureProcessId(self, process_id: int, num_processes: int) -> None:
        """This process and the number of all."""
        self._configure(process_id, num_processes)

    @property
    def processId(self) -> int:
        """This process, from 0 on."""
        return int(self.distributed_process_id)

    @property
    def numProcesses(self) -> int:
        """Number of processes."""
        return int(self.num_distributed_processes)

    def _configure_from(self, processes: str, process: str) -> None:
        try:
            numbers = int(os.environ.get(process, "0")), int(os.environ.get(processes, "1"))
        except ValueError:
            raise OptionError(
                f"{process} and {processes} hold {os.environ.get(process)!r} and {os.environ.get(processes)!r}; both "
                "are integers."
            ) from None
        self._configure(*numbers)

    def _configure(self, process: int, processes: int) -> None:
        count = checked_count("Distributed.configureProcessId's number of processes", processes)
        checked_count("Distributed.configureProcessId's process", process, least=0)
        if process >= count:
            raise OptionError(f"Process {process} is not one of {count}; they count from 0.")
        self.set(num_distributed_processes=count, distributed_process_id=process)


class PopartOptions(OptionGroup):
    """`Options._Popart`: options of PopART's session. `options` has them by name."""

    path = "_Popart."

    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, Any] = {}

    @setter
    def set(self, key: str, value: Any) -> None:  # type: ignore[override]
        """One of PopART's session options; "engineOptions" go to the Engine."""
        if key == "engineOptions":
            self.setEngineOptions(value)
        else:
            self.options[checked_text("_Popart.set's name", key)] = value

    @setter
    def setEngineOptions(self, engine_options: Mapping[str, str]) -> None:
        """Options of the Engine, in place of those given before."""
        is_text = isinstance(engine_options, Mapping) and all(
            isinstance(part, str) for pair in engine_options.items() for part in pair
        )
        if not is_text:
            raise OptionError(f"_Popart.setEngineOptions takes a dict of strings, not {engine_options!r}.")
        self.options["engineOptions"] = dict(engine_options)

    @setter
    def setPatterns(self, patterns: Mapping[str, bool], level: int = 2) -> None:
        """Transformations of PopART's compiler."""
        if not isinstance(patterns, Mapping):
            raise OptionError(f"_Popart.setPatterns takes a dict of names to True or False, not {patterns!r}.")
        checked_count("_Popart.setPatterns' level", level, least=0)
        self.options["patterns"], self.options["patterns_level"] = dict(patterns), level

    @property
    def engine_options(self) -> dict[str, str]:
        """Options of the Engine."""
        return dict(self.options.get("engineOptions", {}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"
