"""A module compiled for a device: capture, lowering, compilation or the cache, in the order in which they run.

Everything that takes long is inside `CompiledModel.create`; a run later only copies arrays.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch.nn.parameter import UninitializedParameter
from torch.utils.hooks import RemovableHandle

from simulator.base.errors import poplar_error
from simulator.engine.options import resolve
from simulator.frontends.capture.modules import CapturedModule, capture
from simulator.frontends.fitting import memory_error_text
from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.lowering.interface_text import from_json, to_json
from simulator.frontends.lowering.lowered import Interface, Observed, Outputs, Settings
from simulator.frontends.lowering.optimizers import update_rule
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.optimizer import Optimizer
from simulator.frontends.poptorch.blocks import capturing
from simulator.frontends.poptorch.documents.operator_names import name_operators
from simulator.frontends.poptorch.enums import OutputMode, ReductionType
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.micro_batches import BoundArguments
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.strategies import ExecutionStrategy
from simulator.frontends.poptorch.weights.host_weights import plain_tensors
from simulator.frontends.poptorch.weights.replica_groups import one_row_of_each, weight_groups
from simulator.frontends.session.device_program import DeviceProgram
from simulator.frontends.session.executable_cache import ExecutableCache, executable_key
from simulator.poplar import Executable, Target, compileGraph

#: what PopART asks of every engine
ENGINE_OPTIONS = {"exchange.streamBufferOverlap": "hostRearrangeOnly", "exchange.enablePrefetch": "true"}

_OUTPUTS = {
    OutputMode.Final: Outputs.FINAL,
    OutputMode.All: Outputs.ALL,
    OutputMode.EveryN: Outputs.EVERY_N,
    OutputMode.Sum: Outputs.SUM,
}

_before_compilation: OrderedDict[int, Callable[[], Any]] = OrderedDict()
_after_compilation: OrderedDict[int, Callable[[], Any]] = OrderedDict()


def registerPreCompileHook(hook: Callable[[], Any]) -> RemovableHandle:
    """Call a function before each compilation of a model. Raises RuntimeError for what cannot be called."""
    return _registered("Pre-compile", _before_compilation, hook)


def registerPostCompileHook(hook: Callable[[], Any]) -> RemovableHandle:
    """Call a function after each compilation of a model. Raises RuntimeError for what cannot be called."""
    return _registered("Post-compile", _after_compilation, hook)


def _registered(name: str, hooks: OrderedDict[int, Callable[[], Any]], hook: Callable[[], Any]) -> RemovableHandle:
    if not callable(hook):
        raise RuntimeError(f"{name} hook must be callable")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


@dataclass(frozen=True)
class ModelRequest:
    """What a model is compiled for."""

    module: Any
    arguments: BoundArguments
    training: bool
    settings: Settings
    optimizer: Optimizer | None  #: for training
    name: str  #: of the engine: its report's folder
    engine_options: Mapping[str, Any]
    strategy: ExecutionStrategy
    excluded_sources: tuple[str, ...] = ()
    names_modules: bool = True  #: operators are named after their modules
    recorded_options: Mapping[str, str] = field(default_factory=dict)  #: without effect here, for the report
    input_groups: int | None = None  #: groups of replicas that get different inputs; None: each replica

    def micro_batches(self) -> int:
        groups = self.settings.replicas if self.input_groups is None else self.input_groups
        return self.settings.iterations * self.settings.accumulation * groups


@dataclass
class CompiledModel:
    """An executable with its interface and the captured module that it came from."""

    captured: CapturedModule
    executable: Executable
    interface: Interface
    options: Mapping[str, Any]
    seconds: float  #: that capture, lowering and compilation took

    def program(self) -> DeviceProgram:
        """A new engine for it."""
        return DeviceProgram(self.executable, self.interface, self.options)


def settings_of(module: Any, options: Options, training: bool, optimizer: Optimizer | None) -> Settings:
    """What lowering needs of the options, and of the groups of the module's weights."""
    default = OutputMode.Final if training else OutputMode.All
    mode = default if options.output_mode is OutputMode.Default else options.output_mode
    precision = Precision(
        "half" if options.Precision.partials_type == "float16" else "float",
        dict(options.available_memory_proportion),
        options.Precision.stochastic_rounding,
        options.Precision.floating_point_exceptions,
        options.stable_norm,
    )
    means = options.Training.accumulation_and_replication_reduction_type is ReductionType.Mean
    return Settings(
        iterations=options.device_iterations,
        accumulation=options.Training.gradient_accumulation if training else 1,
        replicas=options.replication_factor,
        outputs=_OUTPUTS[mode],
        period=options.output_return_period,
        loss_scaling=optimizer.loss_scaling.value if optimizer is not None else 1.0,
        loss_scaling_varies=optimizer is not None and not optimizer.loss_scaling.is_constant,
        automatic_loss_scaling=training and options.Training.automatic_loss_scaling,
        accumulator_type=optimizer.accumulator_type if optimizer is not None else "",
        mean_over_accumulation=means,
        mean_over_replicas=means,
        precision=precision,
        observed=tuple(
            Observed(name, one.long_name, _OUTPUTS[one.output_mode or mode], one.output_return_period)
            for name, one in options.anchored_tensors.items()
        ),
        synthetic_data=options.synthetic_data,
        pipelined=options.execution_strategy.is_pipelined,
        weight_groups=weight_groups(module, options.replication_factor),
    )


def capture_model(request: ModelRequest) -> CapturedModule:
    """The module's operators. Raises Error with the sentence of whatever refused."""
    for hook in list(_before_compilation.values()):
        hook()
    for name, parameter in request.module.named_parameters():
        if isinstance(parameter, UninitializedParameter):
            raise Error(
                f"The weight {name} of a lazy module has no shape yet; call the module once on the host before "
                "wrapping it."
            )
    positional, named = request.arguments.micro_batch(request.micro_batches())
    try:
        rows = one_row_of_each(request.module, request.settings.weight_groups)
        with plain_tensors(request.module), rows, capturing(request.strategy):
            captured = capture(request.module, positional, named, request.training, request.excluded_sources)
        return replace(captured, program=name_operators(captured.program, request.names_modules))
    except poplar_error as error:
        raise Error(str(error)) from error


def compile_model(
    request: ModelRequest,
    captured: CapturedModule,
    target: Target,
    progress: Callable[[int, int], None],
    cache: ExecutableCache | None = None,
) -> CompiledModel:
    """Lower and compile, or take the executable from the cache. Raises Error with the sentence of whatever refused;
    `progress(done, 100)` counts as PopART does."""
    started = time.perf_counter()
    options = {**ENGINE_OPTIONS, **request.engine_options}
    interfaces: list[Interface] = []

    def compile_now() -> Executable:
        progress(6, 100)
        update = None if request.optimizer is None else update_rule(request.optimizer)
        lowered = ModuleLowering(target, captured.program, request.settings, update).lower()
        interfaces.append(lowered.interface)
        if request.recorded_options:
            lowered.graph.addDebugInfo("optionsWithoutEffect", "poptorch", **request.recorded_options)
        progress(40, 100)
        return compileGraph(
            lowered.graph,
            list(lowered.programs),
            options,
            lambda done, of: progress(41 + 59 * done // max(1, of), 100),
            request.name,
        )

    try:
        if cache is None:
            executable = compile_now()
            interface = interfaces[0]
        else:
            kept = resolve(options, os.environ, target).of_compilation()
            hexadecimal = executable_key(target, [repr(part) for part in _identity(request, captured, kept)], {})
            key = str(int(hexadecimal, 16))  # PopART names its files by decimal hashes
            fetched = cache.fetch(key, compile_now, lambda: to_json(interfaces[0]), target)
            executable, interface = fetched.executable, from_json(fetched.notes)
    except poplar_error as error:
        raise Error(memory_error_text(error)) from error
    progress(100, 100)
    for hook in list(_after_compilation.values()):
        hook()
    return CompiledModel(captured, executable, interface, options, time.perf_counter() - started)


def _identity(request: ModelRequest, captured: CapturedModule, options: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an executable depends on besides the target. `options` are those of compilation: one that is in the cache
    writes the reports that each engine asks for."""
    return captured.program, request.settings, request.optimizer, sorted(options.items()), request.name
