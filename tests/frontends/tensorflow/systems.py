"""Systems for tests: an IPU, or an IPU Model."""

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


def use_model(ipus: int = 1, tiles: int = 4) -> None:
    """An IPU Model of so many IPUs with so many tiles each, where TF_POPLAR_FLAGS ask for one."""
    configuration = IPUConfig()
    configuration.auto_select_ipus = ipus
    configuration.ipu_model.tiles_per_ipu = tiles
    configuration.configure_ipu_system()
