"""connection_type.py with IPUConfig, the configuration from SDK 2.1 on."""

import connection_type
import tensorflow as tf
from tensorflow.python.ipu import config

tf.compat.v1.disable_v2_behavior()


def configure(kind: str) -> None:
    options = config.IPUConfig()
    options.auto_select_ipus = 1
    options.device_connection.type = config.DeviceConnectionType[kind]
    if kind in ("NEVER", "PRE_COMPILE"):
        options.device_connection.version = "ipu2"
    options.configure_ipu_system()


if __name__ == "__main__":
    connection_type.main([kind.name for kind in config.DeviceConnectionType], configure)
