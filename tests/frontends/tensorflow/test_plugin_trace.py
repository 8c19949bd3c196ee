"""Channels and labels of a TensorFlow program in the host trace, those of TensorFlow's IPU plug-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from popvision.opened.trace import OpenedTrace

ROOT = Path(__file__).parents[3]

PROGRAM = """
import tensorflow as tf
from tensorflow.python.ipu import config, ipu_compiler, scopes
tf.compat.v1.disable_v2_behavior()
options = config.IPUConfig()
options.auto_select_ipus = 1
options.configure_ipu_system()
with tf.device("cpu"):
    x = tf.compat.v1.placeholder(tf.float32, [2, 2])
with scopes.ipu_scope("/device:IPU:0"):
    out = ipu_compiler.compile(lambda v: tf.matmul(v, v), [x])
with tf.compat.v1.Session() as session:
    for _ in range(2):
        session.run(out, {x: [[1, 0], [0, 1]]})
"""


KERAS_PROGRAM = """
import numpy as np, tensorflow as tf
from tensorflow.python import ipu
options = ipu.config.IPUConfig()
options.auto_select_ipus = 1
options.configure_ipu_system()
strategy = ipu.ipu_strategy.IPUStrategyV1()
layers = [tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)]
with strategy.scope():
    model = tf.keras.Sequential(layers, name="small")
    model.compile("sgd", "mse", steps_per_execution=2)
x, y = np.ones((8, 3), np.float32), np.ones((8, 2), np.float32)
model.fit(x, y, batch_size=2, epochs=2, verbose=0)
model.evaluate(x, y, batch_size=2, verbose=0)
model.predict(x, batch_size=2, verbose=0)
host = tf.keras.Sequential(layers[:1] + [tf.keras.layers.Dense(2)], name="host")
host.predict(x, verbose=0)
for _ in range(3):
    strategy.run(tf.function(lambda v: v + v), [tf.constant([1.0])])
"""


def counts(program: str, folder: Path) -> dict[str, dict[str, int]]:
    """The number of events of each label, by channel, of a program in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'compat'}{os.pathsep}{ROOT}",
        "PVTI_OPTIONS": json.dumps({"directory": str(folder)}),
    }
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(
        command, env=environment, cwd=folder, check=False, timeout=600, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    (path,) = folder.glob("*.pvti")
    found: dict[str, dict[str, int]] = {}
    for row in OpenedTrace(path).statistics().itertuples():
        found.setdefault(str(row.channel), {})[str(row.label)] = int(row.count)
    return found


def test_the_plug_in_is_in_the_trace(tmp_path: Path) -> None:
    assert counts(PROGRAM, tmp_path)["tensorflow_plugin"] == {
        "PoplarGraphConstruction": 1,
        "PoplarEngineConstruction": 1,
        "engine_.load(device_)": 1,
        "engine_.run(0)": 2,
    }


def test_keras_and_the_strategy_are_in_the_trace(tmp_path: Path) -> None:
    """A model outside the scope runs on the host and leaves no event."""
    found = counts(KERAS_PROGRAM, tmp_path)
    assert found["Keras"] == {"small.fit()": 1, "small.evaluate()": 1, "small.predict()": 1}
    assert found["TensorFlow"] == {"IPUStrategyV1.run": 3, "_call_for_each_replica": 3}
