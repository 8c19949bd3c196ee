"""What each public name of PopTorch does here, beside the options. docs/poptorch.md is written from this."""

from __future__ import annotations

from simulator.frontends.poptorch.option_table import Effect, Entry
from simulator.frontends.poptorch.refused import WAYS_AROUND
from simulator.frontends.poptorch.strategies import PhasedExecution

_MODELS = "test_models.py::"
_EFFECTS = "test_poptorch_option_effects.py::"
_NAMES = "test_poptorch_names.py::"
_BLOCKS = "test_poptorch_blocks.py::"
_STRATEGIES = "test_strategies.py::"
_OPERATORS = "test_own_operators.py::"
_OPTIMIZERS = "test_poptorch_optimizers.py::"
_LOADER = "test_poptorch_data_loader.py::"

_WORKS = {
    "trainingModel": ("trains a module on the device", _MODELS + "test_losses_and_weights_are_those_of_torch"),
    "inferenceModel": ("runs a module on the device", _MODELS + "test_inference_sees_what_training_learnt"),
    "load": ("the model of a file, compiled", _MODELS + "test_an_exported_model_runs_without_compilation"),
    "PoplarExecutor.compileAndExport": (
        "writes the compiled model to a file; so does save, and loadExecutable reads it",
        _MODELS + "test_an_exported_model_runs_without_compilation",
    ),
    "PoplarExecutor": ("what both return", _MODELS + "test_a_model_detaches_and_attaches_again"),
    "PoplarExecutor.setOptimizer": (
        "other values of variables, without a compilation",
        _MODELS + "test_another_rate_needs_no_compilation",
    ),
    "PoplarExecutor.getPerfCounters": (
        "seconds of each transfer, of simulated time; so are the four latencies",
        _MODELS + "test_counters_share_the_cycles_of_a_run",
    ),
    "PoplarExecutor.getAnchoredTensor": (
        "what the last run sent of an anchored tensor",
        _EFFECTS + "test_an_anchored_tensor_comes_back",
    ),
    "PoplarExecutor.copyNamedBuffersToDevice": (
        "sends named buffers",
        _EFFECTS + "test_buffers_that_the_host_writes_reach_the_device",
    ),
    "Options": ("see the table of options", "test_poptorch_options.py::test_setters_chain_and_are_read_back"),
    "TensorLocationSettings": (
        "argument of Options.TensorLocations, whose effect is recorded only",
        "test_poptorch_options.py::test_copies_share_nothing",
    ),
    "ConfigFileError": (
        "a line for Options.loadFromFile cannot be read",
        "test_poptorch_options.py::test_a_bad_line_is_named",
    ),
    "DataLoader": ("batches of what one call takes", _LOADER + "test_a_batch_has_what_one_call_takes"),
    "AsynchronousDataAccessor": (
        "loads ahead, in another process",
        _LOADER + "test_another_process_loads_the_same_batches",
    ),
    "Block": (
        "marks operators for a strategy",
        _BLOCKS + "test_operators_inside_a_block_are_marked_and_others_are_not",
    ),
    "BeginBlock": ("marks a module and what follows", _BLOCKS + "test_begin_block_lasts_until_the_next"),
    "BlockFunction": ("marks a function", _BLOCKS + "test_functions_may_be_blocks"),
    "removeBlocks": ("takes the marks of BeginBlock off", _BLOCKS + "test_begin_block_lasts_until_the_next"),
    "Stage": ("blocks on one IPU", _BLOCKS + "test_a_strategy_with_stages_chooses_the_ipu"),
    "AutoStage": ("stages of blocks that no strategy names", _BLOCKS + "test_the_next_stage_where_stages_count_up"),
    "PipelinedExecution": (
        "stages at the same time, each with another micro-batch; what backward passes read is stashed",
        _STRATEGIES + "test_a_pipeline_trains_as_pytorch_does",
    ),
    "ShardedExecution": ("stages one after the other", _EFFECTS + "test_blocks_take_ipus"),
    "NameScope": ("prefix of operators' names", _EFFECTS + "test_operators_are_named_after_modules_and_scopes"),
    "identity_loss": ("marks the loss", _OPERATORS + "test_identity_loss_reduces_as_it_is_told"),
    "nop": ("an identity", _OPERATORS + "test_identities_pass_values_and_gradients_and_stay_in_the_graph"),
    "ipu_print_tensor": (
        "prints a tensor on standard error at run time; PyTorch on the host prints nothing",
        _OPERATORS + "test_identities_pass_values_and_gradients_and_stay_in_the_graph",
    ),
    "set_available_memory": (
        "bounds the temporary memory of the operator before it",
        _OPERATORS + "test_identities_pass_values_and_gradients_and_stay_in_the_graph",
    ),
    "isRunningOnIpu": (
        "whether forward is captured for the device",
        _EFFECTS + "test_a_module_sees_that_it_runs_on_the_ipu",
    ),
    "ipuHardwareIsAvailable": ("True: the simulated system has IPUs", _NAMES + "test_the_simulated_system_has_ipus"),
    "ipuHardwareVersion": ("2, or what POPVISION_TARGET says", _NAMES + "test_the_simulated_system_has_ipus"),
    "logger": ("the logger of PopTorch's lines", _NAMES + "test_log_lines_have_poptorchs_form"),
    "setLogLevel": ("which lines are written", _NAMES + "test_levels_choose_what_is_written"),
    "profiling": ("Channel(name).tracepoint(label) and .instrument(...)", _NAMES + "test_channels_are_in_the_trace"),
    "optim": ("SGD, Adam, AdamW, RMSprop, LAMB", _OPTIMIZERS + "test_on_the_host_they_step_as_pytorch_does"),
    "enums": (
        "the enumerations, with PopTorch's numbers",
        "test_poptorch_options.py::test_defaults_are_those_of_poptorch",
    ),
    "Error": ("any failure of a model", _NAMES + "test_errors_name_poptorchs_module"),
    "RecoverableError": (
        "never raised here: simulated hardware does not fail",
        _NAMES + "test_errors_name_poptorchs_module",
    ),
    "UnrecoverableError": (
        "never raised here: simulated hardware does not fail",
        _NAMES + "test_errors_name_poptorchs_module",
    ),
}

_WORKS |= {
    "for_loop": (
        "calls of a body, each of the results before; unrolled into the graph",
        _OPERATORS + "test_a_loop_calls_its_body_on_its_results",
    ),
    "cond": (
        "results of one of two bodies; both run and torch.where chooses",
        _OPERATORS + "test_a_condition_chooses_between_bodies",
    ),
    "serializedMatMul": (
        "a product in parts, one after the other",
        _OPERATORS + "test_a_product_in_parts_is_the_product",
    ),
    "registerPreCompileHook": (
        "calls a function before each compilation",
        _MODELS + "test_hooks_run_around_a_compilation",
    ),
    "registerPostCompileHook": (
        "calls a function after each compilation",
        _MODELS + "test_hooks_run_around_a_compilation",
    ),
    "ICustomArgParser": (
        "takes tensors out of objects of a class, and puts them in",
        _MODELS + "test_objects_of_the_users_are_arguments_and_results",
    ),
    "registerCustomArgParser": (
        "lets objects of a class be arguments and results",
        _MODELS + "test_objects_of_the_users_are_arguments_and_results",
    ),
}

_RECORDED = {
    "recomputationCheckpoint": "an identity: every activation is stored",
    "set_overlap_for_input": "an identity: host transfers do not overlap computation",
    "set_overlap_for_output": "an identity: host transfers do not overlap computation",
    "Phase": "stages of a phase, with their IPUs",
    **dict.fromkeys(("ParallelPhasedExecution", "SerialPhasedExecution"), PhasedExecution.without_effect),
}

#: name, or class and method -> what it does here
NAMES: dict[str, Entry] = {
    **{name: Entry(Effect.WORKS, text, test) for name, (text, test) in _WORKS.items()},
    **{name: Entry(Effect.RECORDED, reason) for name, reason in _RECORDED.items()},
    **{name: Entry(Effect.REFUSED, instead) for name, instead in WAYS_AROUND.items()},
}
