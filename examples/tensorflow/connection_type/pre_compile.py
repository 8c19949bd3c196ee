"""connection_type.py with the fourth type, in the functional API of SDK 1.4 to 2.0."""

import connection_type
from tensorflow.python.ipu import utils


def configure(kind: str) -> None:
    options = utils.create_ipu_config()
    options = utils.auto_select_ipus(options, 1)
    options = utils.set_ipu_connection_type(
        options, utils.DeviceConnectionType[kind], ipu_version="ipu2", enable_remote_buffers=True
    )
    utils.configure_ipu_system(options)


if __name__ == "__main__":
    connection_type.main([kind.name for kind in utils.DeviceConnectionType], configure)
