"""IPUConfig and the functions that put one into force: from options to a request to the system."""

from __future__ import annotations

import copy
from typing import Any

import tensorflow as tf

from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.session.connection import ConnectionType
from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.configuration.categories import Configuration
from simulator.frontends.tensorflow.configuration.enumerations import StochasticRoundingBehaviour
from simulator.frontends.tensorflow.configuration.options import Effect
from simulator.frontends.tensorflow.flags import read_flags
from simulator.frontends.tensorflow.system import ModelRequest, SystemRequest
from simulator.poplar import FloatingPointBehaviour

_current: list[IPUConfig] = []


class IPUConfig(Configuration):
    """The configuration of the IPU system, in force after `configure_ipu_system()`."""

    def configure_ipu_system(self, device: str = "cpu") -> None:
        """Put the configuration into force; type ALWAYS attaches the device now. `device` is TensorFlow's and must be
        a CPU. Raises ValueError and ConfigurationError for options that do not go together, and what attaching
        raises."""
        configure_ipu_system(self, device)


def configure_ipu_system(config: IPUConfig, device: str = "cpu", reset_configuration: bool = True) -> None:
    """Put a configuration into force. One that was in force before is reset, with a warning, unless
    `reset_configuration` says no: then tf.errors.FailedPreconditionError is raised. Raises as
    `IPUConfig.configure_ipu_system`, and TypeError for another object."""
    if not isinstance(config, IPUConfig):
        raise TypeError("`config` must be an IpuOptions instance.")
    if "cpu" not in device.lower():
        raise ValueError(f"The device {device!r} is no CPU of TensorFlow; configure_ipu_system runs on 'cpu'.")
    if _current:
        if _current[0] == config:
            return
        if not reset_configuration:
            raise tf.errors.FailedPreconditionError(
                None, None, "IPU system configuration has already been set in this process."
            )
        tf.get_logger().warning("Resetting existing IPU configuration before applying new configuration")
        reset_ipu_configuration()
    flags = read_flags()
    config.check(flags.use_ipu_model)
    in_force = copy.deepcopy(config)
    system.configure(_request(in_force, flags.ipu_model_tiles))
    _current.append(in_force)


def reset_ipu_configuration() -> None:
    """Give the device back; the system can be configured anew."""
    _current.clear()
    system.reset()


def get_ipu_config(session: Any = None) -> list[IPUConfig]:
    """A copy of the configuration in force, one per device. Raises RuntimeError where there is none. `session` is
    taken as TensorFlow takes it, and not needed."""
    if not _current:
        raise RuntimeError("No IPU devices configured.")
    return [copy.deepcopy(_current[0])]


def _request(config: IPUConfig, model_tiles: int) -> SystemRequest:
    """What the system is asked for. Raises TypeError for options that are no strings."""
    connection, model = config.device_connection, config.ipu_model
    return SystemRequest(
        ConnectionType(connection.type.value),
        config.sizes[0] if config.sizes else 1,
        config.devices[0] if config.devices else None,
        connection.version,
        connection.enable_remote_buffers,
        engine_options(config),
        _precision(config),
        {name: str(value) for name, option, value in config.walk() if _is_recorded(option, value)},
        {name: str(value) for name, option, value in config.walk() if value != option.default},
        config.serialization_output_folder,
        ModelRequest(model.version, model.tiles_per_ipu or max(0, model_tiles), model.compile_ipu_code),
    )


def _is_recorded(option: Any, value: Any) -> bool:
    return option.effect is Effect.RECORDED and value != option.default


def engine_options(config: IPUConfig) -> dict[str, str]:
    """Options of Poplar's Engine, as TensorFlow's driver sets them."""
    options = {}
    if config.optimizations.prefetch_data_streams:
        on_host = config.experimental.always_rearrange_copies_on_the_host
        options["exchange.streamBufferOverlap"] = "none" if on_host else "hostRearrangeOnly"
        options["exchange.enablePrefetch"] = "true"
    return options | _texts("compilation_poplar_options", config.compilation_poplar_options)


def _texts(name: str, options: dict[Any, Any]) -> dict[str, str]:
    for option, value in options.items():
        if not isinstance(option, str) or not isinstance(value, str):
            raise TypeError(f"IPUConfig.{name} has the option {option!r} with the value {value!r}; give strings.")
    return dict(options)


def _precision(config: IPUConfig) -> Precision:
    flags = config.floating_point_behaviour
    if isinstance(flags.esr, bool):
        tf.get_logger().warning(
            "Deprecated use of setting floating_point_behaviour.esr with bool. Please replace bool with appropriate "
            "StochasticRoundingBehaviour value."
        )
    rounds = flags.esr not in (StochasticRoundingBehaviour.OFF, False)
    every = flags.set_all
    behaviour = FloatingPointBehaviour(
        flags.inv or every, flags.div0 or every, flags.oflo or every, rounds or every, flags.nanoo or every
    )
    libraries = {
        "convolution": _texts("convolutions.poplar_options", config.convolutions.poplar_options),
        "matmul": _texts("matmuls.poplar_options", config.matmuls.poplar_options),
        "slice": _texts("slices.poplar_options", config.slices.poplar_options),
    }
    return Precision(
        stable_norms=config.norms.use_stable_statistics,
        floating_point=behaviour if behaviour.word() else None,
        library_options={name: options for name, options in libraries.items() if options},
    )
