"""Systems of one IPU for tests of graph mode."""

from __future__ import annotations

from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig


def connect(kind: DeviceConnectionType) -> None:
    """An IPU that is attached as `kind` says."""
    configuration = IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.device_connection.type = kind
    configuration.device_connection.version = "ipu2"
    configuration.configure_ipu_system()


def use_model() -> None:
    """An IPU Model of four tiles, where TF_POPLAR_FLAGS ask for one."""
    configuration = IPUConfig()
    configuration.auto_select_ipus = 1
    configuration.ipu_model.tiles_per_ipu = 4
    configuration.configure_ipu_system()
