"""PoplarExecutor: a user's module that runs on the simulated IPU. A state machine: new, compiled, on a device.

    new --compile--> compiled --attach, load--> on a device --detach--> compiled

Weights stay on the device between calls; the module's own tensors fetch them when they are read (device_values).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from simulator.base.errors import poplar_error
from simulator.frontends.fitting import memory_error_text
from simulator.frontends.lowering.shards import ipus_of
from simulator.frontends.poptorch import exported, performance
from simulator.frontends.poptorch.beside_torch.attempt import Place
from simulator.frontends.poptorch.beside_torch.comparison import CallResults
from simulator.frontends.poptorch.beside_torch.first_step import checked_first_step
from simulator.frontends.poptorch.beside_torch.optimizer_step import UsersOptimizer
from simulator.frontends.poptorch.compiled_model import (
    ModelRequest,
    capture_model,
    compile_model,
    settings_of,
)
from simulator.frontends.poptorch.devices import Connection, attached_device, connection_for, ipus_to_reserve
from simulator.frontends.poptorch.enums import ConnectionType
from simulator.frontends.poptorch.environment import check_of_first_step
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.host_inputs import input_groups, send_inputs, take_written_inputs
from simulator.frontends.poptorch.index_checks import IndexChecks
from simulator.frontends.poptorch.logging import device_logger, logger
from simulator.frontends.poptorch.micro_batches import BoundArguments, bind, result_tensor
from simulator.frontends.poptorch.model_states import NOT_COMPILED, Compiled, NotCompiled, OnDevice, on_device
from simulator.frontends.poptorch.optimizers.description import AttributeWatch
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.profiling import Channel, core_call, instrumented, traced
from simulator.frontends.poptorch.weights.device_values import DeviceValues
from simulator.frontends.poptorch.weights.host_weights import watch
from simulator.frontends.session.executable_cache import ExecutableCache
from simulator.frontends.session.progress import compilation_progress
from simulator.poplibs.popops.slices.index_watch import listening


class PoplarExecutor:
    """What trainingModel and inferenceModel return. Call it with the arguments of the module's forward: tensors whose
    first dimension holds the micro-batches of all iterations, replicas and accumulation steps."""

    def __init__(
        self,
        model: Any,
        options: Options,
        training: bool,
        optimizer: Any = None,
        unwrap: Callable[..., Any] | None = None,
    ) -> None:
        self._user_model = model
        watch(model.parameters())
        self._options = options
        self._input_groups = input_groups(options)
        self._training = training
        self._unwrap = unwrap  #: forgets that the module is being trained
        self.channel = Channel(f"poptorch.{'trainingModel' if training else 'inferenceModel'}")  #: of the host trace
        self._values = DeviceValues(model, options, self.channel, optimizer)
        self._watch = AttributeWatch(options)
        self._state: NotCompiled | Compiled = NotCompiled()
        self._indices = IndexChecks()
        self._cycles = 0
        self._seed = int(options.random_seed) if options.exists("random_seed") else int(torch.initial_seed())
        self._times: performance.RunTimes | performance.NoRun = performance.NoRun()
        self._asked: ModelRequest | None = None
        self._is_checked = False

    # Running

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one step. Raises Error where the module or its arguments cannot run on the IPU."""
        arguments = bind(self._user_model.forward, args, kwargs)
        if self._options.connection_type == ConnectionType.Never:
            raise Error(
                "Trying to run a model on an offline device (ConnectionType.Never): use model.compile(inputs) instead "
                "of model(inputs)"
            )
        state = self._attached(self._compiled_for(arguments))
        with self._checked(state, arguments), self.channel.tracepoint("modelExecution"):
            try:
                return self._run(state, arguments)
            except poplar_error as error:
                raise Error(str(error)) from error

    def _checked(self, state: OnDevice, arguments: BoundArguments) -> AbstractContextManager[None]:
        """Compare what runs while this is open, the first step, with eager torch where POPVISION_CHECK says so."""
        if self._is_checked or not check_of_first_step():
            return nullcontext()
        self._is_checked = True
        program = state.program
        self._values.send_changed()
        optimizer = None
        if self._values.described is not None:
            names = {id(parameter): name for name, parameter in self._user_model.named_parameters()}
            states = program.first_states()
            optimizer = UsersOptimizer(self._values.optimizer, self._values.described, names, states)
        place = Place(state.connection.target, self._input_groups, self._seed, optimizer)
        request = self._asked or self._request(arguments)

        def results() -> CallResults:
            return CallResults(program.outputs, program.fetch_weights())

        return checked_first_step(request, place, results, self.channel)

    def _run(self, state: OnDevice, arguments: BoundArguments) -> Any:
        program = state.program
        self._values.send_changed()
        send_inputs(program, arguments.tensors(), self._input_groups)
        before = program.engine.getTimeStamp()
        with core_call("execute"), listening(self._indices):
            buffers = program.run(self._run_name())
        after = program.engine.getTimeStamp()
        self._cycles = after.device_cycles - before.device_cycles
        self._times = performance.RunTimes(program.interface, self._cycles / after.clock_hz)
        if self._options.log_cycle_count:
            device_logger.debug("Total number of IPU cycles: %d", self._cycles)
        if self._training or state.model.captured.program.updates:
            self._values.note_trained()
        take_written_inputs(program, arguments.tensors(), self._input_groups)
        return _result(state, buffers)

    @instrumented
    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments without running."""
        state = self._compiled_for(bind(self._user_model.forward, args, kwargs))
        if self._options.connection_type == ConnectionType.Always:
            self._attached(state)

    @traced
    def compileAndExport(
        self, filename: str | os.PathLike[str], *args: Any, export_model: bool = True, **kwargs: Any
    ) -> None:
        """Compile for these arguments and write the executable, with the model unless `export_model` says no, to a
        file. Needs no device."""
        self._compiled_for(bind(self._user_model.forward, args, kwargs))
        self.save(filename, export_model)

    def save(self, filename: str | os.PathLike[str], export_model: bool = True) -> None:
        """Write the compiled model to a file. Raises Error before compilation, and where it cannot be written."""
        state = self._need_compiled()
        self._values.optimizer_states.bring()
        model = self._user_model if export_model else None
        settings = (self._options, self._values.optimizer) if export_model else (None, None)
        contents = exported.Exported(state.model, state.signature, self._training, model, *settings)
        with self.channel.tracepoint("saveExecutableToFile"), core_call("saveExecutableToFile"):
            exported.write(contents, filename)

    @traced
    def loadExecutable(self, filename: str | os.PathLike[str]) -> None:
        """Take the executable from a file in place of a compilation. Raises Error where the model is compiled already,
        and for a file of another model or kind."""
        if self.isCompiled():
            raise Error("The model is compiled already; load an executable before its first call.")
        found = exported.read(filename, self._user_model)
        if found.training is not self._training:
            kinds = {True: "training", False: "inference"}
            raise Error(
                f"{filename} holds a model for {kinds[found.training]}, this one is for {kinds[self._training]}."
            )
        if self._training:
            self._values.describe(self._values.optimizer)
        self._options.freeze()
        connection = self._connection_for(ipus_of(found.compiled.captured.program))
        self._state = Compiled(found.compiled, found.signature, connection)
        self._values.compiled_with(found.compiled.captured.data)

    def _compiled_for(self, arguments: BoundArguments) -> Compiled:
        """The model compiled for these arguments, now if it is not."""
        state = self._state
        if isinstance(state, NotCompiled):
            return self._compile(arguments)
        if arguments.signature() != state.signature:
            raise Error(
                f"The model was compiled for {_described(state.signature)} and cannot take "
                f"{_described(arguments.signature())}; wrap the module again to compile it for them."
            )
        return state

    def _compile(self, arguments: BoundArguments) -> Compiled:
        self._options.freeze()
        request = self._asked = self._request(arguments)
        show = self._options.show_compilation_progress_bar
        with self.channel.tracepoint("modelCompilation"), compilation_progress(show) as progress:
            progress(3, 100)
            with self.channel.tracepoint("graphPreprocessing"):
                captured = capture_model(request)
            for remark in captured.remarks:
                logger.warning(remark)
            connection = self._connection_for(ipus_of(captured.program))
            try:
                with core_call("compileWithManualTracing"):
                    model = compile_model(request, captured, connection.target, progress, self._cache())
            except BaseException:
                connection.detach()
                raise
        self._state = state = Compiled(model, arguments.signature(), connection)
        self._values.compiled_with(model.captured.data)
        return state

    def _cache(self) -> ExecutableCache | None:
        """The folder of executables that the options name."""
        if self._options.cache_path is None:
            return None
        if self._options.uses_ipu_model:
            logger.warning("enableExecutableCaching doesn't work with the IPU model")
            return None
        return ExecutableCache(Path(self._options.cache_path), ".popef", logger.warning)

    def _request(self, arguments: BoundArguments) -> ModelRequest:
        if self._training:
            self._watch.check(self._values.optimizer)
            self._values.describe(self._values.optimizer)
            if not self._values.are_trained():
                logger.warning("The optimizer has none of the module's weights: no step changes them.")
        recorded = self._options.recorded_only()
        if recorded:
            logger.warning("Options without effect on the simulated IPU (docs/poptorch.md): %s", ", ".join(recorded))
        return ModelRequest(
            self._user_model,
            arguments,
            self._training,
            settings_of(self._user_model, self._options, self._training, self._values.described),
            self._values.described,
            self._run_name(),
            dict(self._options._Popart.engine_options),
            self._options.execution_strategy,
            tuple(self._options.source_location_excludes),
            self._options.module_namescope_enabled,
            recorded,
            max(self._input_groups) + 1,
        )

    # Weights

    @instrumented
    def copyWeightsToHost(self) -> None:
        """Copy the weights on the device into the module. Raises Error before the first run."""
        self._need_on_device()
        self._values.weights.bring_to_host()

    @instrumented
    def copyWeightsToDevice(self) -> None:
        """Send the module's weights to the device. Raises Error before the first run."""
        self._need_on_device()
        self._values.send_weights()

    def copyNamedBuffersToDevice(self) -> None:
        """Send what the host wrote to the buffers that Options.updatableNamedBuffers names; a call of the model does so
        too. Raises Error before the first run, and for a name that the module has no tensor of."""
        self._need_on_device()
        for name in self._options.updatable_named_buffers:
            if name not in self._values.weights.tensors:
                raise Error(f"Options.updatableNamedBuffers names {name!r}, which the module does not have.")
        with core_call("copyNamedBuffersToDevice"):
            self._values.send_changed()

    @instrumented
    def setOptimizer(self, optimizer: Any) -> None:
        """Use another optimizer's values from the next run on; a value that was compiled in cannot change."""
        if not self._training:
            raise Error("Optimizer can only be set on a training model.")
        self._watch.check(optimizer)
        self._values.describe(optimizer)

    # Device

    def attachToDevice(self) -> None:
        """Attach again after detachFromDevice. Raises Error where the model is attached, or not compiled."""
        if self.isAttachedToDevice():
            raise Error("Device is already attached")
        self._attached(self._need_compiled())

    def detachFromDevice(self) -> None:
        """Read weights and optimizer states back and give the device up; the next call attaches again."""
        if not self._need_compiled().is_attached:
            raise Error("Device is not attached")
        state = self._need_on_device()
        self._values.bring_to_host()
        self._seed = state.program.fetch_seed()
        with core_call("detachFromDevice"):
            state.program.close()
            self._values.leave()
            state.connection.detach()
            self._state = state.without_device()

    def isAttachedToDevice(self) -> bool:
        return isinstance(self._state, Compiled) and self._state.is_attached

    def isCompiled(self) -> bool:
        return isinstance(self._state, Compiled)

    @instrumented
    def destroy(self) -> None:
        """Give up device and program; the module keeps its weights."""
        self._values.forget()
        state = self._state
        if isinstance(state, OnDevice):
            state.program.close()
        if isinstance(state, Compiled):
            state.connection.detach()
        if self._unwrap is not None:
            self._unwrap(self._user_model, None)
        self._state = NotCompiled()

    def _connection_for(self, ipus: int) -> Connection:
        options = self._options
        return connection_for(options, ipus_to_reserve(ipus, options.replication_factor, options.auto_round_num_ipus))

    def _attached(self, compiled: Compiled) -> OnDevice:
        """The model on its device, attached and loaded now if it is not."""
        with nullcontext() if compiled.is_attached else core_call("attachToDevice"):
            device = attached_device(compiled.connection)
        if isinstance(compiled, OnDevice):
            return compiled
        with self.channel.tracepoint("loadExecutable"), core_call("loadEngineAndConnectStreams"):
            program = compiled.model.program()
            try:
                program.load(device)
            except poplar_error as error:
                program.close()
                raise Error(memory_error_text(error)) from error
        self._state = state = on_device(compiled, program)
        self._values.attach(program)
        program.send_seed(self._seed)
        return state

    def _need_compiled(self) -> Compiled:
        if isinstance(self._state, NotCompiled):
            raise Error(NOT_COMPILED)
        return self._state

    def _need_on_device(self) -> OnDevice:
        if not isinstance(self._state, OnDevice):
            raise Error(NOT_COMPILED)
        return self._state

    # What the user may ask

    @property
    def options(self) -> Options:
        return self._options

    @property
    def model(self) -> Any:
        """The user's module."""
        return self._user_model

    @property
    def rng_state(self) -> list[int]:
        """The seed of the device's random draws. Raises Error before the model runs."""
        program = self._need_on_device().program
        with core_call("getRngState"):
            return [program.fetch_seed()]

    @rng_state.setter
    def rng_state(self, state: list[int]) -> None:
        program = self._need_on_device().program
        with core_call("setRngState"):
            program.send_seed(int(state[0]))

    def getTensorNames(self) -> list[str]:
        """Names of the tensors that anchorTensor takes. Raises Error before compilation."""
        return list(self._need_compiled().model.interface.tensor_names)

    def getAnchoredTensor(self, short_name: str) -> Any:
        """What the last run sent of an anchored tensor."""
        program = self._need_on_device().program
        if short_name not in program.interface.observed:
            raise Error(f"No tensor is anchored as {short_name!r}; Options.anchorTensor names one.")
        return torch.from_numpy(program.observed(short_name).copy()).squeeze(0)

    def getPerfCounters(self) -> dict[str, list[list[float]]]:
        """Seconds of simulated device time at which each tensor of the last run was handed over, by "input",
        "input_complete", "output" and "output_complete" (performance)."""
        return self._times.counters()

    def getLatency(self) -> performance.Latency:
        """(least, largest, mean) seconds of simulated device time of one step, from its inputs to its outputs."""
        return self._times.latency()

    def getComputeLatency(self) -> performance.Latency:
        """The same: transfers are a part of a step's time."""
        return self.getLatency()

    def getHostIpuLatency(self) -> performance.Latency:
        """Zeros: transfers from the host are a part of a step's time."""
        return performance.NO_LATENCY

    def getIpuHostLatency(self) -> performance.Latency:
        """Zeros: transfers to the host are a part of a step's time."""
        return performance.NO_LATENCY

    def cycleCount(self) -> int:
        """Simulated cycles of the last run. Raises Error without Options.logCycleCount."""
        if not self._options.log_cycle_count:
            raise Error("Cycle count logging is disabled. Set option logCycleCount to True to enable.")
        return self._cycles

    def compilationTime(self) -> float:
        """Seconds that the compilation took. Raises Error before compilation."""
        return self._need_compiled().model.seconds

    def __repr__(self) -> str:
        """The user's module, as it describes itself."""
        return repr(self._user_model)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the module's: state_dict, parameters, train, ..."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._user_model, name)

    def _run_name(self) -> str:
        if self._options.exists("model_name"):
            return str(self._options.model_name)
        return "training" if self._training else "inference"


def _result(state: OnDevice, buffers: list[Any]) -> Any:
    """What forward returns, from the buffers of its outputs."""
    outputs = state.program.interface.outputs
    tensors = [result_tensor(one, buffer) for one, buffer in zip(outputs, buffers, strict=True)]
    return state.model.captured.restore(tensors)


def _described(signature: tuple[Any, ...]) -> str:
    parts = [
        f"{str(kind).removeprefix('torch.')}{list(shape)}" if shape != "value" else kind for shape, kind in signature
    ]
    return "(" + ", ".join(parts) + ")"
