"""A Keras classifier of MNIST digits on one IPU; with --pre_compile its programs are only compiled and saved."""

import argparse

import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu


def create_dataset():
    (images, labels), _ = keras.datasets.mnist.load_data()
    dataset = tf.data.Dataset.from_tensor_slices((images / 255.0, labels))
    dataset = dataset.shuffle(10000).batch(32, drop_remainder=True)
    return dataset.map(lambda image, label: (tf.cast(image, tf.float32), tf.cast(label, tf.int32))).repeat()


def create_model():
    return keras.Sequential(
        [
            keras.layers.Flatten(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


parser = argparse.ArgumentParser()
parser.add_argument("--pre_compile", action="store_true", help="compile for a machine with IPUs, without one")
arguments = parser.parse_args()

cfg = ipu.utils.IPUConfig()
cfg.auto_select_ipus = 1
if arguments.pre_compile:
    cfg.device_connection.type = ipu.utils.DeviceConnectionType.PRE_COMPILE
    cfg.device_connection.version = "ipu2"
    cfg.device_connection.enable_remote_buffers = True
cfg.configure_ipu_system()

strategy = ipu.ipu_strategy.IPUStrategyV1()
with strategy.scope():
    model = create_model()
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(),
        optimizer=keras.optimizers.SGD(),
        metrics=["accuracy"],
        steps_per_execution=10,
    )
    model.fit(create_dataset(), steps_per_epoch=200, verbose=2)
