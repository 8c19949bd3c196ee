"""When is the IPU attached? Adds three vectors on an IPU that is connected in one of four ways."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow.python.ipu import config, ipu_compiler, scopes

tf.compat.v1.disable_v2_behavior()


def sums(a, b, c):
    return (a + b) + (a + c)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--connection_type",
        choices=[one.name for one in config.DeviceConnectionType],
        default="ALWAYS",
        help="Specify connection type",
    )
    chosen = config.DeviceConnectionType[parser.parse_args().connection_type]
    values = {"a": [1, 1], "b": [0, 1], "c": [1, 5]}
    with tf.device("cpu"):
        places = [tf.compat.v1.placeholder(np.float32, [2], name=name) for name in values]
    with scopes.ipu_scope("/device:IPU:0"):
        results = ipu_compiler.compile(sums, places)

    options = config.IPUConfig()
    options.auto_select_ipus = 1
    options.device_connection.type = chosen
    if chosen.name in ("NEVER", "PRE_COMPILE"):
        options.device_connection.version = "ipu2"
    options.configure_ipu_system()

    with tf.compat.v1.Session() as session:
        try:
            print(session.run(results, dict(zip(places, values.values(), strict=True))))
        except tf.errors.InvalidArgumentError as error:
            if chosen.name != "NEVER" or "configured for compilation only" not in error.message:
                raise
            print("Compiled")


if __name__ == "__main__":
    main()
