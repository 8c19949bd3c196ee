"""The functional API: each function sets the attributes of IPUConfig that its document names."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow import refused_names as names
from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration import functional as utils
from simulator.frontends.tensorflow.configuration.enumerations import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
    SyntheticDataCategory,
)
from simulator.frontends.tensorflow.configuration.ipu_config import configure_ipu_system, reset_ipu_configuration
from simulator.frontends.tensorflow.configuration.options import ConfigurationError
from simulator.frontends.tensorflow.flags import running_on_ipu_model, use_synthetic_data_for
from simulator.frontends.tensorflow.graph_mode import ipu_shard
from simulator.poplar import TargetType


@pytest.fixture(autouse=True)
def own_system(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.delenv("TF_POPLAR_FLAGS", raising=False)
    yield
    reset_ipu_configuration()


def changes(options: utils.IpuOptions) -> dict[str, Any]:
    """The options that are not the default ones."""
    return {name: value for name, option, value in options.walk() if value != option.default}


#: a call of the functional API -> the attributes that it changes
CALLS: dict[str, tuple[Callable[[utils.IpuOptions], utils.IpuOptions], dict[str, Any]]] = {
    "auto": (lambda o: utils.auto_select_ipus(o, 2), {"auto_select_ipus": 2}),
    "select": (lambda o: utils.select_ipus(o, [3]), {"select_ipus": [3]}),
    "serialization": (
        lambda o: utils.set_serialization_options(o, output_folder="x"),
        {"serialization_output_folder": "x"},
    ),
    "optimization": (
        lambda o: utils.set_optimization_options(
            o, combine_matmuls=True, gather_simplifier=False, cholesky_block_size=8
        ),
        {
            "optimizations.combine_matmuls": True,
            "optimizations.enable_gather_simplifier": False,
            "optimizations.cholesky_block_size": 8,
            "optimizations.merge_remote_buffers": MergeRemoteBuffersBehaviour.NO_MERGING,
        },
    ),
    "merging, in the oldest form": (
        lambda o: utils.set_optimization_options(o, merge_remote_buffers=True),
        {"optimizations.merge_remote_buffers": MergeRemoteBuffersBehaviour.MERGE},
    ),
    "norms": (lambda o: utils.set_norm_options(o, use_stable_statistics=True), {"norms.use_stable_statistics": True}),
    "transfers": (lambda o: utils.set_transfer_options(o, True), {"old.use_verified_transfers": True}),
    "compilation": (
        lambda o: utils.set_compilation_options(o, {"debug.instrument": "true"}),
        {"compilation_poplar_options": {"debug.instrument": "true"}},
    ),
    "convolution": (
        lambda o: utils.set_convolution_options(utils.set_convolution_options(o, {"a": "1"}), {"b": "2"}),
        {"convolutions.poplar_options": {"a": "1", "b": "2"}},
    ),
    "matmul": (
        lambda o: utils.set_matmul_options(o, {"a": "1"}, clear_pass_type=True),
        {"matmuls.poplar_options": {"a": "1"}, "matmuls.clear_pass_type": True},
    ),
    "pooling": (lambda o: utils.set_pooling_options(o, {"a": "1"}), {"pooling.poplar_options": {"a": "1"}}),
    "reports": (
        lambda o: utils.set_report_options(o, {"a": "1"}, execution_options={"b": "2"}),
        {"profiling.graph_options": {"a": "1"}, "profiling.execution_options": {"b": "2"}},
    ),
    "model": (
        lambda o: utils.set_ipu_model_options(o, compile_ipu_code=False, tiles_per_ipu=16, ipu_model_version="ipu1"),
        {"ipu_model.compile_ipu_code": False, "ipu_model.tiles_per_ipu": 16, "ipu_model.version": "ipu1"},
    ),
    "recomputation": (utils.set_recomputation_options, {"allow_recompute": True}),
    "floating point": (
        lambda o: utils.set_floating_point_behaviour_options(o, div0=False),
        {
            "floating_point_behaviour.inv": True,
            "floating_point_behaviour.oflo": True,
            "floating_point_behaviour.esr": StochasticRoundingBehaviour.ON,
            "floating_point_behaviour.nanoo": True,
        },
    ),
    "io tiles": (
        lambda o: utils.set_io_tile_options(o, 32, place_ops_on_io_tiles=True),
        {"io_tiles.num_io_tiles": 32, "io_tiles.place_ops_on_io_tiles": True},
    ),
    "gcl": (lambda o: utils.set_gcl_options(o, {"a": "1"}), {"gcl_poplar_options": {"a": "1"}}),
    "connection": (
        lambda o: utils.set_ipu_connection_type(o, DeviceConnectionType.ON_DEMAND, 1),
        {"device_connection.type": DeviceConnectionType.ON_DEMAND, "device_connection.version": "ipu1"},
    ),
    "connection, in the second form": (
        lambda o: utils.set_ipu_connection_type(
            o, DeviceConnectionType.PRE_COMPILE, "ipu2", enable_remote_buffers=True
        ),
        {
            "device_connection.type": DeviceConnectionType.PRE_COMPILE,
            "device_connection.version": "ipu2",
            "device_connection.enable_remote_buffers": True,
        },
    ),
    "connection of no type": (lambda o: utils.set_ipu_connection_type(o, None, None), {}),
}


@pytest.mark.parametrize("call", CALLS)
def test_each_function_sets_its_attributes(call: str) -> None:
    function, expected = CALLS[call]
    options = utils.create_ipu_config()
    assert changes(options) == {}
    assert function(options) is options
    assert changes(options) == expected


def test_verification_keys_are_kept_by_their_names() -> None:
    verification = utils.VerificationOptions()
    verification.inputs.key = 1
    verification.infeeds["feed"].key = 3
    options = utils.set_verification_options(utils.create_ipu_config(), verification)
    keys = options.old.verification_keys
    assert keys["inputs"] == (1, -1)
    assert keys["infeeds.feed"] == (3, -1)
    assert keys["checkpoint_in"] == (0, 0)


def test_the_first_function_sets_what_it_is_given() -> None:
    options = utils.create_ipu_config(
        profiling=True,
        profile_execution=True,
        report_directory="reports",
        scheduler_selection="LookAhead",
        disable_graph_outlining=True,
        prefetch_data_streams=False,
        selection_order=SelectionOrder.SNAKE,
    )
    assert changes(options) == {
        "profiling.profiling": True,
        "profiling.profile_execution": ExecutionProfileType.DEVICE_PROFILE,
        "profiling.report_directory": "reports",
        "scheduling.algorithm": SchedulingAlgorithm.LOOK_AHEAD,
        "optimizations.enable_graph_outlining": False,
        "optimizations.prefetch_data_streams": False,
        "selection_order": SelectionOrder.SNAKE,
        "compilation_poplar_options": {
            "autoReport.outputGraphProfile": "true",
            "debug.allowOutOfMemory": "true",
            "autoReport.directory": "reports",
            "autoReport.outputExecutionProfile": "true",
            "debug.computeInstrumentationLevel": "device",
        },
    }


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda o: utils.create_ipu_config(profiling=True, enable_ipu_events=True),
            ConfigurationError,
            "`profiling` and `enable_ipu_events` are mutually exclusive",
        ),
        (
            lambda o: utils.create_ipu_config(profile_execution=True),
            ConfigurationError,
            "`profiling` is required when `profile_execution` is set",
        ),
        (
            lambda o: utils.create_ipu_config(scheduler_selection="Best"),
            TypeError,
            "Could not convert 'Best' to a valid `SchedulingAlgorithm`.",
        ),
        (
            lambda o: utils.auto_select_ipus(utils.select_ipus(o, [0]), 1),
            ConfigurationError,
            "IPU devices have already been configured.",
        ),
        (
            lambda o: utils.auto_select_ipus(o, "1"),
            ConfigurationError,
            "`num_ipus` must be an integer, list or tuple.",
        ),
        (lambda o: utils.select_ipus(o, 0), ConfigurationError, "`indices` must be a list or tuple."),
        (
            lambda o: utils.select_ipus(o, [0, 0]),
            ConfigurationError,
            "All device indices in `indices` must be unique.",
        ),
        (
            lambda o: utils.set_ipu_connection_type(o, DeviceConnectionType.NEVER),
            ConfigurationError,
            "`ipu_version` must be specified when `connection_type` is set to `DeviceConnectionType.NEVER`.",
        ),
        (
            lambda o: utils.set_compilation_options(o, [("a", "b")]),
            ConfigurationError,
            "`compilation_options` must be a dictionary",
        ),
        (lambda o: utils.set_gcl_options(o), TypeError, "`gcl_options` must be a dictionary"),
        (
            lambda o: utils.set_io_tile_options(o, 0, True),
            ValueError,
            "Cannot place ops on I/O tiles when num_io_tiles == 0",
        ),
        (
            lambda o: utils.set_experimental_multi_replica_distribution_options(o, 2, 2),
            ValueError,
            "0 <= process_index < process_count",
        ),
        (
            lambda o: utils.set_verification_options(o, {}),
            ConfigurationError,
            "`verification_options` must be of type VerificationOptions",
        ),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as raised:
        call(utils.create_ipu_config())
    assert str(raised.value) == message


def test_the_options_configure_the_system() -> None:
    options = utils.auto_select_ipus(utils.create_ipu_config(), 2)
    configure_ipu_system(utils.set_ipu_connection_type(options, DeviceConnectionType.NEVER, 1))
    assert utils.get_num_of_ipus_in_device("/device:IPU:0") == 2
    target = system.current().connection.target
    assert (target.getTargetArchString(), target.getTargetType()) == ("ipu1", TargetType.IPU)
    with pytest.raises(ConfigurationError, match="There is no device '/device:IPU:1'"):
        utils.get_num_of_ipus_in_device("/device:IPU:1")


def test_the_ipu_model_takes_the_place_of_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_ipu_model")
    assert running_on_ipu_model()
    options = utils.set_ipu_model_options(utils.create_ipu_config(), tiles_per_ipu=16, ipu_model_version="ipu1")
    configure_ipu_system(options)
    target = system.current().connection.target
    assert (target.getTargetType(), target.getTilesPerIPU()) == (TargetType.IPU_MODEL, 16)
    assert target.getTargetArchString() == "ipu1"
    reset_ipu_configuration()
    with pytest.raises(ConfigurationError, match="can only be specified with `auto_select_ipus`"):
        configure_ipu_system(utils.select_ipus(utils.create_ipu_config(), [0]))


def test_synthetic_data_leaves_out_inputs_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(use_synthetic_data_for(one) for one in SyntheticDataCategory)
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_synthetic_data")
    left_out = [one.name for one in SyntheticDataCategory if use_synthetic_data_for(one)]
    assert left_out == ["Infeed", "Outfeed"]
    with pytest.raises(poplar_error, match=r"'Infeed'.*: give a utils.SyntheticDataCategory"):
        use_synthetic_data_for("Infeed")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: names.extract_all_events([]), "utils.extract_all_events does not work here: there are no events"),
        (lambda: names.export_dataset_to_file(None, "a", 1), "utils.export_dataset_to_file does not work here: "),
        (
            lambda: names.IPUEstimator(None),
            r"IPUEstimator does not work here: TensorFlow has no estimators",
        ),
        (lambda: names.IPURunConfig(), r"ipu_run_config.IPURunConfig does not work here: .*train a Keras model in the"),
        (lambda: names.IPUPipelineEstimator(), "ipu_pipeline_estimator.IPUPipelineEstimator does not work here"),
        (lambda: ipu_shard([0, 1]), r"scopes.ipu_shard\(\[0, 1\]\) does not work here: an operator runs on one IPU"),
        (
            lambda: names.partials_type("half"),
            "scopes.partials_type does not work here: .*; set matmuls.poplar_options",
        ),
    ],
)
def test_names_that_cannot_work_say_so(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(poplar_error, match=message):
        call()
    with ipu_shard(1):
        pass


def test_a_seed_repeats_random_numbers() -> None:
    configure_ipu_system(utils.select_ipus(utils.create_ipu_config(), [0]))
    draws = tf.function(lambda: tf.random.uniform([8])).get_concrete_function()
    function = system.CompiledFunction(capture_function(draws), [(8,)])
    utils.reset_ipu_seed(3)
    first = function.run([])[0].tolist()
    other = function.run([])[0].tolist()
    utils.reset_ipu_seed(3)
    assert function.run([])[0].tolist() == first != other
