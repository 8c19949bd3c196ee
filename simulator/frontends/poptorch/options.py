"""poptorch.Options: how a model is compiled and run. Setters check their arguments, chain, and fail once a model or a
DataLoader uses the options."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from simulator.frontends.poptorch import environment
from simulator.frontends.poptorch.enums import CommGroupType, ConnectionType, OutputMode, SyncPattern
from simulator.frontends.poptorch.errors import ConfigFileError as ConfigFileError
from simulator.frontends.poptorch.errors import OptionError
from simulator.frontends.poptorch.logging import logger
from simulator.frontends.poptorch.option_files import apply_json, apply_lines
from simulator.frontends.poptorch.option_group import (
    OptionGroup,
    checked_bool,
    checked_count,
    checked_member,
    checked_text,
    setter,
)
from simulator.frontends.poptorch.option_groups import (
    DistributedOptions,
    JitOptions,
    PopartOptions,
    PrecisionOptions,
    TrainingOptions,
)
from simulator.frontends.poptorch.option_table import OPTIONS, Effect
from simulator.frontends.poptorch.strategies import ExecutionStrategy, PipelinedExecution
from simulator.frontends.poptorch.tensor_locations import TensorLocationOptions

#: number of `useOfflineIpuTarget` -> target
_VERSIONS = {1: "ipu1", 2: "ipu2", 21: "ipu21"}
#: engine options that enableProfiling sets
_PROFILING = ("debug.allowOutOfMemory", "autoReport.directory", "autoReport.all")


class Anchor(NamedTuple):
    """A tensor that comes back to the host. `output_mode` None: as the model's outputs."""

    long_name: str
    output_mode: OutputMode | None
    output_return_period: int


class Options(OptionGroup):
    """Options of one model or DataLoader. Values are attributes under PopTorch's names (`device_iterations`)."""

    def __init__(self) -> None:
        self.Jit = JitOptions()
        self._Popart = PopartOptions()
        self.Precision = PrecisionOptions()
        self.Training = TrainingOptions()
        self.Distributed = DistributedOptions()
        self.TensorLocations = TensorLocationOptions()
        super().__init__(
            replication_factor=1,
            input_group_size=1,
            input_group_type=CommGroupType.Consecutive,
            broadcast_buffers=True,
            device_iterations=1,
            log_dir=".",
            auto_round_num_ipus=False,
            anchored_tensors={},
            output_mode=OutputMode.Default,
            output_return_period=1,
            connection_type=ConnectionType.Always,
            sync_pattern=SyncPattern.Full,
            available_memory_proportion={},
            updatable_named_buffers=[],
            execution_strategy=PipelinedExecution(),
            max_repeat_logs=None,
            show_compilation_progress_bar=True,
            relax_optimizer_checks=False,
            module_namescope_enabled=True,
            source_location_excludes=[],
            synthetic_data=False,
            log_cycle_count=False,
            stable_norm=False,
            cache_path=None,
        )
        if environment.cache_folder():
            logger.info("POPTORCH_CACHE_DIR is set: setting cache path to %s", environment.cache_folder())
            self.enableExecutableCaching(environment.cache_folder())
        if environment.default_options():
            apply_json(self, environment.default_options(), "POPTORCH_DEFAULT_OPTIONS")

    @property
    def groups(self) -> tuple[OptionGroup, ...]:
        """The groups in these options."""
        return self.Jit, self._Popart, self.Precision, self.Training, self.Distributed, self.TensorLocations

    # What runs

    @setter
    def deviceIterations(self, device_iterations: int) -> None:
        """Steps of one call of the model."""
        self.set(device_iterations=checked_count("deviceIterations", device_iterations))

    @setter
    def replicationFactor(self, replication_factor: int) -> None:
        """Copies of the model, each on IPUs of its own, that share a batch."""
        self.set(replication_factor=checked_count("replicationFactor", replication_factor))

    @setter
    def inputReplicaGrouping(
        self, input_group_size: int, input_group_type: CommGroupType = CommGroupType.Consecutive
    ) -> None:
        """Replicas that get the same inputs."""
        kind = checked_member("inputReplicaGrouping", CommGroupType, input_group_type)
        if kind not in (CommGroupType.Consecutive, CommGroupType.Orthogonal):
            raise OptionError("inputReplicaGrouping takes CommGroupType.Consecutive or CommGroupType.Orthogonal.")
        self.set(input_group_size=checked_count("inputReplicaGrouping", input_group_size), input_group_type=kind)

    @setter
    def outputMode(self, output_mode: OutputMode, output_return_period: int | None = None) -> None:
        """Which iterations return outputs. The period is for EveryN."""
        mode = checked_member("outputMode", OutputMode, output_mode)
        period = 1
        if mode is OutputMode.EveryN:
            if output_return_period is None:
                raise OptionError("EveryN anchor must have output_return_period set to valid positive integer")
            period = checked_count("outputMode's output_return_period", output_return_period)
        elif output_return_period:
            logger.info("Anchor return period argument ignored with output_mode set to %s", mode)
        self.set(output_mode=mode, output_return_period=period)

    def defaultOutputMode(self) -> bool:
        """Whether `outputMode` was not called."""
        return bool(self.output_mode is OutputMode.Default)

    @setter
    def anchorTensor(
        self,
        short_name: str,
        long_name: str,
        output_mode: OutputMode | None = None,
        output_return_period: int | None = 1,
    ) -> None:
        """Bring a tensor of the program back; `getAnchoredTensor(short_name)` reads it."""
        checked_text("anchorTensor's short name", short_name)
        checked_text("anchorTensor's long name", long_name)
        mode = None if output_mode is None else checked_member("anchorTensor", OutputMode, output_mode)
        period = 1
        if mode is OutputMode.EveryN:
            period = checked_count("anchorTensor's output_return_period", output_return_period)
        self.set(anchored_tensors={**self.anchored_tensors, short_name: Anchor(long_name, mode, period)})

    @setter
    def setExecutionStrategy(self, strategy: ExecutionStrategy) -> None:
        """How blocks of the module share IPUs."""
        if not isinstance(strategy, ExecutionStrategy):
            raise OptionError(f"setExecutionStrategy takes a strategy such as PipelinedExecution, not {strategy!r}.")
        self.set(execution_strategy=strategy)

    @setter
    def broadcastBuffers(self, broadcast_buffers: bool = True) -> None:
        """Every replica's buffers are those of the first."""
        self.set(broadcast_buffers=checked_bool("broadcastBuffers", broadcast_buffers))

    @setter
    def updatableNamedBuffers(self, buffers: Sequence[str]) -> None:
        """Buffers that `PoplarExecutor.copyNamedBuffersToDevice` sends to the device."""
        if isinstance(buffers, str) or not all(isinstance(name, str) for name in buffers):
            raise OptionError(f"updatableNamedBuffers takes a list of names, not {buffers!r}.")
        self.set(updatable_named_buffers=list(buffers))

    @setter
    def randomSeed(self, random_seed: int) -> None:
        """Seed of the device's random numbers, and of PyTorch's."""
        if not isinstance(random_seed, int) or isinstance(random_seed, bool):
            raise OptionError(f"randomSeed takes an integer, not {random_seed!r}.")
        torch.manual_seed(random_seed)
        self.createOrSet(random_seed=random_seed)

    @setter
    def enableStableNorm(self, enabled: bool) -> None:
        """Compute variances of norms from differences to the mean."""
        self.set(stable_norm=checked_bool("enableStableNorm", enabled))

    @setter
    def enableSyntheticData(self, enabled: bool) -> None:
        """Leave out transfers with the host; inputs are random."""
        self.set(synthetic_data=checked_bool("enableSyntheticData", enabled))

    # Where it runs

    @setter
    def connectionType(self, connection_type: ConnectionType) -> None:
        """When the device is attached."""
        self.set(connection_type=checked_member("connectionType", ConnectionType, connection_type))

    @setter
    def useIpuModel(self, use_model: bool) -> None:
        """The IPU Model instead of simulated hardware, whatever POPTORCH_IPU_MODEL says."""
        self.createOrSet(use_model=checked_bool("useIpuModel", use_model))

    @setter
    def useIpuId(self, ipu_id: int) -> None:
        """The device with this id and no other."""
        self.createOrSet(ipu_id=checked_count("useIpuId", ipu_id, least=0))

    @setter
    def useOfflineIpuTarget(self, ipu_version: int = 2) -> None:
        """Compile only, without a device: for 1, 2 or 21."""
        if ipu_version not in _VERSIONS or isinstance(ipu_version, bool):
            raise OptionError(f"useOfflineIpuTarget takes {list(_VERSIONS)}, not {ipu_version!r}.")
        self.set(connection_type=ConnectionType.Never)
        self.createOrSet(ipu_version=ipu_version)

    @setter
    def autoRoundNumIPUs(self, auto_round_num_ipus: bool = True) -> None:
        """Take the next power of two of IPUs where a model needs a number that is none."""
        self.set(auto_round_num_ipus=checked_bool("autoRoundNumIPUs", auto_round_num_ipus))

    @setter
    def syncPattern(self, sync_pattern: SyncPattern) -> None:
        """Which IPUs wait for each other."""
        self.set(sync_pattern=checked_member("syncPattern", SyncPattern, sync_pattern))

    @setter
    def setAvailableMemoryProportion(self, available_memory_proportion: Mapping[str, float]) -> None:
        """Temporary memory of convolutions and products by IPU, `{"IPU0": 0.6}`."""
        proportions = {}
        if not isinstance(available_memory_proportion, Mapping):
            raise OptionError(f"setAvailableMemoryProportion takes a dict, not {available_memory_proportion!r}.")
        for key, proportion in available_memory_proportion.items():
            if not isinstance(key, str) or not key.startswith("IPU") or not key[3:].isdecimal():
                raise OptionError(
                    'Available memory proportions are expected to be in a dictionary of {"IPU0": 0.5} where the 0 in '
                    f"IPU is the index of the IPU. Invalid key: {key}"
                )
            is_number = isinstance(proportion, int | float) and not isinstance(proportion, bool)
            if not is_number or not 0 <= proportion <= 1:
                raise OptionError(f"setAvailableMemoryProportion takes 0 to 1 for {key}, not {proportion!r}.")
            proportions[int(key[3:])] = float(proportion)
        self.set(available_memory_proportion=proportions)

    @property
    def uses_ipu_model(self) -> bool:
        """Whether the model runs on the IPU Model, by `useIpuModel` or else the environment."""
        return bool(self.use_model) if self.exists("use_model") else environment.uses_ipu_model()

    @property
    def offline_version(self) -> str:
        """Target of `useOfflineIpuTarget`: "ipu1", "ipu2" or "ipu21"; "ipu2" where it was not called."""
        return _VERSIONS[self.ipu_version] if self.exists("ipu_version") else "ipu2"

    # Files and reports

    @setter
    def modelName(self, name: str) -> None:
        """Folder of the report, in place of "training" or "inference"."""
        self.createOrSet(model_name=checked_text("modelName", name))

    @setter
    def enableExecutableCaching(self, path: str | os.PathLike[str] | None) -> None:
        """Keep compiled programs in a folder, and take them from there; None: do not."""
        if path is not None and not isinstance(path, str | os.PathLike):
            raise OptionError(f"enableExecutableCaching takes a path or None, not {path!r}.")
        self.set(cache_path=None if path is None else os.fspath(path))

    @setter
    def enableProfiling(self, profile_dir: str | os.PathLike[str] | None = None) -> None:
        """Write reports, to the current folder unless one is given."""
        if profile_dir is not None and not isinstance(profile_dir, str | os.PathLike):
            raise OptionError(f"enableProfiling takes a path, not {profile_dir!r}.")
        if any(option in os.environ.get("POPLAR_ENGINE_OPTIONS", "") for option in _PROFILING):
            logger.warning(
                "Profiling setting overriden by environment variable. Check content of POPLAR_ENGINE_OPTIONS."
            )
        folder = "." if profile_dir is None else os.fspath(profile_dir)
        values = dict(zip(_PROFILING, ("true", folder, "true"), strict=True))
        self._Popart.setEngineOptions({**self._Popart.engine_options, **values})

    @setter
    def logDir(self, log_dir: str | os.PathLike[str]) -> None:
        """Folder of log files."""
        if not isinstance(log_dir, str | os.PathLike):
            raise OptionError(f"logDir takes a path, not {log_dir!r}.")
        self.set(log_dir=os.fspath(log_dir))

    @setter
    def maxRepeatLogs(self, max_lines: int | None) -> None:
        """How often a log line may repeat."""
        self.set(max_repeat_logs=None if max_lines is None else checked_count("maxRepeatLogs", max_lines, least=0))

    @setter
    def logCycleCount(self, log_cycle_count: bool) -> None:
        """Count the cycles of each run, for `PoplarExecutor.cycleCount`, and log them at DEBUG."""
        self.set(log_cycle_count=checked_bool("logCycleCount", log_cycle_count))

    @setter
    def showCompilationProgressBar(self, show: bool = True) -> None:
        """Show a bar on standard error while the model compiles."""
        self.set(show_compilation_progress_bar=checked_bool("showCompilationProgressBar", show))

    @setter
    def relaxOptimizerAttributesChecks(self, relax: bool = True) -> None:
        """Log unknown attributes of an optimizer at DEBUG instead of as warnings."""
        self.set(relax_optimizer_checks=checked_bool("relaxOptimizerAttributesChecks", relax))

    @setter
    def disableModuleNamescope(self) -> None:
        """Leave the path of the module out of the operators' names."""
        self.set(module_namescope_enabled=False)

    @setter
    def sourceLocationExcludes(self, excludes: Sequence[str]) -> None:
        """Parts of names of files that an operator's source line is never taken from."""
        self.set(source_location_excludes=_names("sourceLocationExcludes", excludes))

    @setter
    def appendToLocationExcludes(self, *excludes: str) -> None:
        """More of `sourceLocationExcludes`."""
        added = _names("appendToLocationExcludes", excludes)
        self.set(source_location_excludes=[*self.source_location_excludes, *added])

    # The whole

    def loadFromFile(self, filepath: str | os.PathLike[str]) -> Options:
        """Set options from a file of lines such as `deviceIterations(1)`. Raises ConfigFileError."""
        self.refuse_if_frozen()
        apply_lines(self, Path(filepath))
        return self

    def from_json(self, string: str) -> Options:
        """Set options from a JSON object, `{"Precision.enableStochasticRounding": true}`. A list is several
        arguments. Raises OptionError."""
        self.refuse_if_frozen()
        apply_json(self, string, "from_json")
        return self

    def clone(self) -> Options:
        """An unfrozen copy."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memory: dict[int, Any]) -> Options:
        made: Options = object.__new__(type(self))
        memory[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memory) for name, value in self.__dict__.items()})
        made.unfreeze()
        return made

    def freeze(self) -> None:
        """Refuse changes from now on: a model or a DataLoader uses the options."""
        for group in self.groups:
            group.freeze()
        super().freeze()

    def unfreeze(self) -> None:
        """Allow changes again."""
        super().unfreeze()
        for group in self.groups:
            group.unfreeze()

    def recorded_only(self) -> dict[str, str]:
        """Options that were given and have no effect here: name -> "arguments (reason)". A report keeps them."""
        given = {name: text for group in (self, *self.groups) for name, text in group.given.items()}
        recorded = {
            name: f"{text} ({OPTIONS[name].text})"
            for name, text in given.items()
            if OPTIONS[name].effect is Effect.RECORDED
        }
        if reason := self.execution_strategy.without_effect:
            recorded["setExecutionStrategy"] = f"{self.execution_strategy!r} ({reason})"
        return recorded

    def toDict(self) -> dict[str, Any]:
        """All values but those of Jit and Precision by name."""
        merged = {**self._values, **self._Popart.options}
        for group in (self.Training, self.Distributed, self.TensorLocations):
            merged.update(group.toDict())
        return merged

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        groups = ", ".join(f"{group.path[:-1]}={group!r}" for group in self.groups)
        return f"Options({values}, {groups})"


def _names(option: str, names: Sequence[str]) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise OptionError(f"{option} takes strings, not {names!r}.")
    return list(names)
