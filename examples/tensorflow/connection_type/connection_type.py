"""When is the IPU attached? Adds three vectors on an IPU, in the functional API of the first SDKs.

It is a program of TensorFlow 1: its graph is built before the system is configured, and a session runs it."""

import argparse
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.python.ipu import ipu_compiler, scopes, utils


def sums(a, b, c):
    return (a + b) + (a + c)


def chosen_type(types: list[str]) -> str:
    parser = argparse.ArgumentParser(add_help=False)
    optional = parser.add_argument_group("optional arguments")
    optional.add_argument("-h", "--help", action="help", help="show this help message and exit")
    optional.add_argument("--connection_type", choices=types, default="ALWAYS", help="Specify connection type")
    return str(parser.parse_args().connection_type)


def configure(connection_type: str) -> None:
    options = utils.create_ipu_config()
    options = utils.auto_select_ipus(options, 1)
    options = utils.set_ipu_connection_type(options, utils.DeviceConnectionType[connection_type], 1)
    utils.configure_ipu_system(options)


def main(types: list[str], configure_system: Callable[[str], None]) -> None:
    connection_type = chosen_type(types)
    values = {"a": [1, 1], "b": [0, 1], "c": [1, 5]}
    with tf.device("cpu"):
        places = [tf.compat.v1.placeholder(np.float32, [2], name=name) for name in values]
    with scopes.ipu_scope("/device:IPU:0"):
        results = ipu_compiler.compile(sums, places)
    configure_system(connection_type)
    with tf.compat.v1.Session() as session:
        try:
            print(session.run(results, dict(zip(places, values.values(), strict=True))))
        except tf.errors.InvalidArgumentError as error:
            if connection_type == "NEVER" and "configured for compilation only" in error.message:
                print("Compiled")
            else:
                print(f"ERROR: {error.message}")
        except tf.errors.OpError as error:
            print(f"ERROR: {error.message}")


if __name__ == "__main__":
    main(["ALWAYS", "ON_DEMAND", "NEVER"], configure)
