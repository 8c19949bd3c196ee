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


def test_the_plug_in_is_in_the_trace(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'compat'}{os.pathsep}{ROOT}",
        "PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)}),
    }
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=300, capture_output=True)
    (path,) = tmp_path.glob("*.pvti")
    plugin = OpenedTrace(path).statistics().set_index(["channel", "label"])["count"].loc["tensorflow_plugin"]
    assert plugin.to_dict() == {
        "PoplarGraphConstruction": 1,
        "PoplarEngineConstruction": 1,
        "engine_.load(device_)": 1,
        "engine_.run(0)": 2,
    }
