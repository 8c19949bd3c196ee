"""IPUConfig: what is checked when it is assigned, what when the system is configured, and what its options do."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration.enumerations import (
    DeviceConnectionType,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from simulator.frontends.tensorflow.configuration.ipu_config import (
    IPUConfig,
    configure_ipu_system,
    get_ipu_config,
    reset_ipu_configuration,
)
from simulator.frontends.tensorflow.configuration.options import ConfigurationError, Effect
from simulator.poplar import FloatingPointBehaviour


@pytest.fixture(autouse=True)
def own_system(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.delenv("TF_POPLAR_FLAGS", raising=False)
    yield
    reset_ipu_configuration()


def test_values_are_checked_on_assignment() -> None:
    config = IPUConfig()
    assert config.device_connection.type is DeviceConnectionType.ALWAYS
    with pytest.raises(ValueError, match=r"^'auto_select_ipu' is not a valid attribute of this config. Did you mean"):
        config.auto_select_ipu = 1
    with pytest.raises(ValueError, match=r"^'typ' is not a valid.*Did you mean 'device_connection.type'\?$"):
        config.device_connection.typ = DeviceConnectionType.NEVER
    with pytest.raises(ValueError, match=r"^'zzz' is not a valid attribute of this config.$"):
        print(config.zzz)
    message = r"^Trying to set device_connection.type to NEVER, but it must be of type DeviceConnectionType$"
    with pytest.raises(TypeError, match=message):
        config.device_connection.type = "NEVER"
    with pytest.raises(
        TypeError, match=r"^Trying to set floating_point_behaviour.inv to 1, but it must be of type bool$"
    ):
        config.floating_point_behaviour.inv = 1
    with pytest.raises(ConfigurationError, match=r"^device_connection is a category and cannot be assigned to\.$"):
        config.device_connection = IPUConfig().device_connection
    assert not hasattr(config, "zzz")


@pytest.mark.parametrize("value", [2, [1], (1,)])
def test_numbers_of_ipus_are_a_number_or_a_list(value: Any) -> None:
    config = IPUConfig()
    config.auto_select_ipus = value
    config.select_ipus = value
    for wrong in (True, [True], 1.0, "1", {1}):
        with pytest.raises(TypeError, match=r"typing.Union\[int, typing.List\[int\], typing.Tuple\[int, ...\]\]$"):
            config.auto_select_ipus = wrong
    assert config.auto_select_ipus == value


def test_metadata_tell_of_each_attribute() -> None:
    config = IPUConfig()
    version = config.get_attribute_metadata("device_connection.version")
    assert (version.name, version.type, version.default) == ("device_connection.version", "str", "")
    assert version.__doc__ == "'ipu1', 'ipu2' or 'ipu21': needed where no device is attached."
    with pytest.raises(TypeError, match=r"Trying to set device_connection.version to 1"):
        version.check_type(1)
    fast = config.get_attribute_metadata("optimizations.enable_fast_math")
    assert fast.deprecated
    assert "optimizations.math.fast" in str(fast.deprecated_msg)
    category = config.experimental.get_attribute_metadata("multi_replica_distribution")
    assert (category.name, category.type) == ("experimental.multi_replica_distribution", None)
    with pytest.raises(ValueError, match=r"^Could not get attribute metadata for 'norms.zzz': 'zzz' is not a valid"):
        config.get_attribute_metadata("norms.zzz")


def test_a_deprecated_attribute_warns(caplog: pytest.LogCaptureFixture) -> None:
    tf.get_logger().propagate = True
    IPUConfig().optimizations.enable_fast_math = True
    assert "optimizations.enable_fast_math has been deprecated: 'enable_fast_math' has been moved" in caplog.text


def test_every_attribute_says_what_it_does_and_has_a_default_of_its_type() -> None:
    config, names = IPUConfig(), []
    for name, option, value in config.walk():
        assert value == option.default
        assert option.text
        config.get_attribute_metadata(name).check_type(value)
        names.append(name)
    assert len(names) == len(set(names)) == 56
    assert "experimental.multi_replica_distribution.process_count" in names


def test_options_of_one_configuration_are_its_own() -> None:
    one, other = IPUConfig(), IPUConfig()
    one.compilation_poplar_options["debug.instrument"] = "true"
    one.device_connection.version = "ipu1"
    assert other.compilation_poplar_options == {}
    assert other.device_connection.version == ""
    same = copy.deepcopy(one)
    assert same == one
    same.io_tiles.num_io_tiles = 32
    assert same != one


def changed(**values: Any) -> IPUConfig:
    config = IPUConfig()
    for name, value in values.items():
        *categories, last = name.split("__")
        owner: Any = config
        for category in categories:
            owner = getattr(owner, category)
        setattr(owner, last, value)
    return config


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        (
            changed(device_connection__type=DeviceConnectionType.NEVER),
            ValueError,
            "device_connection.version must be set when device_connection.type is DeviceConnectionType.NEVER or "
            "DeviceConnectionType.PRE_COMPILE",
        ),
        (
            changed(device_connection__type=DeviceConnectionType.PRE_COMPILE),
            ValueError,
            "device_connection.version must be set when",
        ),
        (
            changed(auto_select_ipus=1, select_ipus=0),
            ConfigurationError,
            "Only one of `auto_select_ipus` and `select_ipus` can be set.",
        ),
        (changed(select_ipus=[1, 1]), ValueError, "All MultiIPU indices in `select_ipus` must be unique."),
        (changed(auto_select_ipus=[1, 1]), ConfigurationError, "has one TensorFlow device here, /device:IPU:0, not 2"),
        (changed(auto_select_ipus=0), ConfigurationError, "a device has at least one IPU"),
        (changed(io_tiles__place_ops_on_io_tiles=True), ValueError, "Cannot place ops on I/O tiles when"),
        (
            changed(norms__experimental__distributed_batch_norm_replica_group_size=0),
            ValueError,
            "distributed_batch_norm_replica_group_size must be at least 1.",
        ),
        (
            changed(experimental__multi_replica_distribution__process_count=2),
            ConfigurationError,
            "IPUConfig.experimental.multi_replica_distribution.process_count cannot be 2 here",
        ),
        (
            changed(compilation_poplar_options={"debug.instrument": True}),
            TypeError,
            "has the option 'debug.instrument' with the value True; give strings",
        ),
        (
            changed(auto_select_ipus=3),
            tf.errors.FailedPreconditionError,
            "could not find an IPU device with 3 IPUs for the TensorFlow virtual device /device:IPU:0",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(config: IPUConfig, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        config.configure_ipu_system()
    with pytest.raises(RuntimeError, match="No IPU devices configured"):
        get_ipu_config()


def test_a_second_configuration_resets_the_first(caplog: pytest.LogCaptureFixture) -> None:
    tf.get_logger().propagate = True
    first, second = changed(select_ipus=0), changed(select_ipus=1)
    first.configure_ipu_system()
    first.configure_ipu_system()
    assert "Resetting" not in caplog.text
    with pytest.raises(tf.errors.FailedPreconditionError, match="has already been set in this process"):
        configure_ipu_system(second, reset_configuration=False)
    configure_ipu_system(second)
    assert "Resetting existing IPU configuration before applying new configuration" in caplog.text
    assert get_ipu_config() == [second]
    assert system.current().connection.request.device_id == 1
    with pytest.raises(TypeError, match="must be an IpuOptions instance"):
        configure_ipu_system({"auto_select_ipus": 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is no CPU"):
        first.configure_ipu_system("/device:IPU:0")


def request_of(config: IPUConfig) -> system.SystemRequest:
    config.configure_ipu_system()
    return system.current().request


def test_options_reach_poplar_and_poplibs() -> None:
    request = request_of(
        changed(
            compilation_poplar_options={"debug.instrument": "true"},
            convolutions__poplar_options={"partialsType": "half"},
            matmuls__poplar_options={"availableMemoryProportion": "0.1"},
            norms__use_stable_statistics=True,
            floating_point_behaviour__esr=StochasticRoundingBehaviour.ON,
            floating_point_behaviour__nanoo=True,
        )
    )
    assert request.engine_options == {
        "exchange.streamBufferOverlap": "hostRearrangeOnly",
        "exchange.enablePrefetch": "true",
        "debug.instrument": "true",
    }
    assert request.precision.library_options == {
        "convolution": {"partialsType": "half"},
        "matmul": {"availableMemoryProportion": "0.1"},
    }
    assert request.precision.stable_norms
    assert request.precision.floating_point == FloatingPointBehaviour(False, False, False, True, True)
    assert request.without_effect == {}
    request = request_of(changed(optimizations__prefetch_data_streams=False, floating_point_behaviour__set_all=True))
    assert request.engine_options == {}
    assert request.precision.floating_point == FloatingPointBehaviour()


def test_options_without_effect_are_recorded() -> None:
    request = request_of(changed(allow_recompute=True, selection_order=SelectionOrder.HOOF))
    assert request.without_effect == {"allow_recompute": "True", "selection_order": "SelectionOrder.HOOF"}
    works = {name for name, option, _ in IPUConfig().walk() if option.effect is Effect.WORKS}
    assert not works & set(request.without_effect)


def run(computation: Any, *values: Any) -> Any:
    """Results of a function on the device of the configured system."""
    specifications = [tf.TensorSpec(np.shape(one), tf.as_dtype(np.asarray(one).dtype)) for one in values]
    captured = capture_function(tf.function(computation).get_concrete_function(*specifications))
    shapes = [np.shape(one) for one in values[:1]]
    return system.CompiledFunction(captured, shapes).run([np.asarray(one) for one in values])[0]


def test_floating_point_exceptions_stop_the_program_as_an_internal_error() -> None:
    zero, one = np.zeros(2, np.float32), np.ones(2, np.float32)
    changed(select_ipus=0).configure_ipu_system()
    assert np.isinf(run(tf.divide, one, zero)).all()
    changed(select_ipus=0, floating_point_behaviour__div0=True).configure_ipu_system()
    with pytest.raises(
        tf.errors.InternalError, match=r"^\[Poplar\]\[Execute engine\] \w+: \[Recovery action: IPU_RESET\]"
    ):
        run(tf.divide, one, zero)
    np.testing.assert_array_equal(run(tf.divide, one, one), one)
    changed(select_ipus=0, floating_point_behaviour__inv=True).configure_ipu_system()
    assert np.isinf(run(tf.divide, one, zero)).all(), "a division by zero is no invalid operation"


def test_unknown_options_of_poplibs_are_refused_by_poplibs() -> None:
    square = np.ones((2, 2), np.float32)
    changed(matmuls__poplar_options={"availableMemory": "0.1"}).configure_ipu_system()
    with pytest.raises(Exception, match="availableMemory"):
        run(tf.matmul, square, square)
