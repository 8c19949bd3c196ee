"""What each option does here: it works, is recorded only, or is refused. docs/poptorch.md is written from this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Effect(Enum):
    WORKS = "works"
    RECORDED = "recorded only"  #: checked and written to the report; the model cannot have its effect
    REFUSED = "refused"  #: a value other than the default raises, in a sentence that names the option


@dataclass(frozen=True)
class Entry:
    """`text`: what it does, or why it does nothing or is refused. `test` is a function in tests/frontends/poptorch,
    "file::function"."""

    effect: Effect
    text: str
    test: str = ""


_MODELS = "test_models.py::"
_EFFECTS = "test_poptorch_option_effects.py::"
_OPTIONS = "test_poptorch_options.py::"
_LOADER = "test_poptorch_data_loader.py::"

#: setter -> what it does, its test
_WORKS = {
    "deviceIterations": ("steps of one call", _MODELS + "test_losses_and_weights_are_those_of_torch"),
    "replicationFactor": (
        "copies of the model that share a batch; their gradients are all-reduced",
        _EFFECTS + "test_gradients_of_replicas_and_micro_batches_are_reduced",
    ),
    "inputReplicaGrouping": (
        "replicas of a group get the same inputs",
        _EFFECTS + "test_replicas_of_a_group_get_the_same_inputs",
    ),
    "outputMode": ("which iterations stream their outputs to the host", _MODELS + "test_output_modes"),
    "anchorTensor": ("streams a tensor of the program to the host", _EFFECTS + "test_an_anchored_tensor_comes_back"),
    "setExecutionStrategy": (
        "IPUs and stages of blocks",
        _EFFECTS + "test_blocks_take_ipus",
    ),
    "updatableNamedBuffers": (
        "buffers that copyNamedBuffersToDevice sends; a call sends every buffer that the host wrote",
        _EFFECTS + "test_buffers_that_the_host_writes_reach_the_device",
    ),
    "randomSeed": ("seeds the device's random numbers and PyTorch's", _EFFECTS + "test_a_seed_repeats_random_draws"),
    "enableSyntheticData": (
        "leaves out transfers with the host",
        _EFFECTS + "test_synthetic_data_leaves_out_transfers",
    ),
    "connectionType": ("when the device is attached", _EFFECTS + "test_a_device_is_attached_when_the_connection_says"),
    "useIpuModel": (
        "the IPU Model in place of simulated hardware",
        _EFFECTS + "test_the_ipu_model_in_place_of_hardware",
    ),
    "useIpuId": ("one device and no other", _EFFECTS + "test_one_device_is_taken_by_its_id"),
    "useOfflineIpuTarget": ("compiles without a device", _EFFECTS + "test_an_offline_target_compiles_and_does_not_run"),
    "autoRoundNumIPUs": (
        "takes the next power of two of IPUs",
        _EFFECTS + "test_a_number_of_ipus_that_is_no_power_of_two",
    ),
    "setAvailableMemoryProportion": (
        "temporary memory of the planners of convolutions and products",
        _EFFECTS + "test_memory_proportions_reach_the_planner",
    ),
    "modelName": ("folder of the report", _EFFECTS + "test_reports_lie_in_the_models_folder"),
    "enableExecutableCaching": (
        "folder of compiled programs",
        _MODELS + "test_the_second_model_takes_the_cached_executable",
    ),
    "enableProfiling": (
        "sets autoReport.all, autoReport.directory and debug.allowOutOfMemory of the Engine",
        _EFFECTS + "test_reports_lie_in_the_models_folder",
    ),
    "logCycleCount": ("cycles of each run for cycleCount()", _EFFECTS + "test_cycles_are_counted_and_logged"),
    "showCompilationProgressBar": ("bar on standard error", _EFFECTS + "test_the_bar_is_shown_unless_it_is_turned_off"),
    "relaxOptimizerAttributesChecks": (
        "level of warnings on unknown attributes of optimizers",
        _EFFECTS + "test_unknown_attributes_of_an_optimizer",
    ),
    "disableModuleNamescope": (
        "leaves module paths out of names",
        _EFFECTS + "test_operators_are_named_after_modules_and_scopes",
    ),
    "sourceLocationExcludes": ("files that are not the user's", _EFFECTS + "test_excluded_files_are_not_the_users"),
    "appendToLocationExcludes": (
        "more files that are not the user's",
        _EFFECTS + "test_excluded_files_are_not_the_users",
    ),
    "Training.gradientAccumulation": (
        "micro-batches of one update",
        _MODELS + "test_accumulated_gradients_are_those_of_the_whole_batch",
    ),
    "Training.accumulationAndReplicationReductionType": (
        "mean or sum of gradients",
        _EFFECTS + "test_gradients_of_replicas_and_micro_batches_are_reduced",
    ),
    "Training.setAutomaticLossScaling": (
        "halves the loss scaling after a step in which an element of a float16 gradient reaches 4,094, else doubles it",
        "training/test_loss_scaling.py::test_the_scaling_follows_the_gradients",
    ),
    "Precision.enableFloatingPointExceptions": (
        "stops where a NaN or infinity is made",
        _EFFECTS + "test_floating_point_exceptions_stop_the_program",
    ),
    "Precision.enableStochasticRounding": (
        "rounding to float16",
        _EFFECTS + "test_stochastic_rounding_rounds_up_and_down",
    ),
    "enableStableNorm": (
        "variances of norms from differences to the mean, without cancellation",
        _EFFECTS + "test_stable_norms_of_numbers_far_from_zero",
    ),
    "Precision.setPartialsType": (
        "type in which products and convolutions sum",
        _EFFECTS + "test_partials_may_be_halves",
    ),
    "Precision.halfFloatCasting": (
        "halves among floats become floats; FloatDowncastToHalf needs torch.jit.trace and is refused",
        _OPTIONS + "test_wrong_values_are_refused_by_one_sentence",
    ),
    "Distributed.disable": ("one process", _OPTIONS + "test_processes_come_from_openmpi"),
    "Distributed.setEnvVarNames": (
        "share of a data set that a DataLoader reads",
        _OPTIONS + "test_processes_come_from_openmpi",
    ),
    "Distributed.configureProcessId": (
        "share of a data set that a DataLoader reads",
        _LOADER + "test_processes_share_a_data_set",
    ),
    "_Popart.setEngineOptions": ("options of the Engine", _EFFECTS + "test_the_engine_takes_options"),
}

_ON_CHIP = "every tensor of the simulated model lies in tile memory"

_RECORDED = {
    "broadcastBuffers": "each replica has buffers of its own; the host gets those of the first",
    "syncPattern": "the model lets only those IPUs wait that exchange data",
    "logDir": "PopTorch's log files tell of its compiler, which is another here",
    "maxRepeatLogs": "no log line is repeated",
    "Jit.traceModel": "modules are captured by torch.export always",
    "Precision.runningStatisticsAlwaysFloat": "running statistics have the type of the module's buffers",
    "Training.setMeanAccumulationAndReplicationReductionStrategy": "the sum of gradients is divided once, after all",
    "Training.setConvolutionDithering": "convolutions take the tiles that their plan names",
    "TensorLocations.numIOTiles": "every tile computes; host transfers do not overlap computation",
    "TensorLocations.setActivationLocation": _ON_CHIP,
    "TensorLocations.setWeightLocation": _ON_CHIP,
    "TensorLocations.setOptimizerLocation": _ON_CHIP,
    "TensorLocations.setAccumulatorLocation": _ON_CHIP,
    "_Popart.set": "options of PopART's compiler, which is another here; engineOptions work",
    "_Popart.setPatterns": "transformations of PopART's compiler, which is another here",
}

_REFUSED = {
    "Precision.autocastEnabled": "types are those of the operands; use .half()",
    "Precision.autocastPolicy": "types are those of the operands; use .half()",
}

#: full name of a setter -> what it does here
OPTIONS: dict[str, Entry] = {
    **{name: Entry(Effect.WORKS, text, test) for name, (text, test) in _WORKS.items()},
    **{name: Entry(Effect.RECORDED, reason) for name, reason in _RECORDED.items()},
    **{name: Entry(Effect.REFUSED, instead) for name, instead in _REFUSED.items()},
}
