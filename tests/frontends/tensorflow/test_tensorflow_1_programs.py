"""A training program of TensorFlow 1 as the driver's documents write it, by its own imports in a process of its own:
queues, variables in the loop, a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import importlib
import json
import pkgutil

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ipu import ipu_compiler, ipu_infeed_queue, ipu_outfeed_queue, loops, scopes, utils

from tensorflow.python import ipu

assert ipu.ops.pipelining_ops.PipelineSchedule.Grouped
for module in pkgutil.walk_packages(ipu.__path__, "tensorflow.python.ipu."):
    importlib.import_module(module.name)
try:
    from tensorflow.compiler.plugin.poplar.ops import gen_sendrecv_ops
except ImportError as error:
    assert "outside_compilation_scope and IPUOutfeedQueue in place of ipu_send_to_host" in str(error)
tf.disable_v2_behavior()
x = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
dataset = tf.data.Dataset.from_tensor_slices({"features": x, "labels": x.sum(1, keepdims=True)})
dataset = dataset.batch(2, drop_remainder=True).repeat()
infeed_queue = ipu_infeed_queue.IPUInfeedQueue(dataset, feed_name="infeed")
outfeed_queue = ipu_outfeed_queue.IPUOutfeedQueue(feed_name="outfeed")


def my_net():
    def body(loss, features, labels):
        with tf.variable_scope("vs", use_resource=True):
            weight = tf.get_variable("weight", [2, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(features, weight) - labels) ** 2)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        outfeed = outfeed_queue.enqueue(loss)
        with tf.control_dependencies([train, outfeed]):
            return tf.identity(loss)

    return loops.repeat(5, body, [0.0], infeed_queue)


with scopes.ipu_scope("/device:IPU:0"):
    res = ipu_compiler.compile(my_net, inputs=[])
dequeued = outfeed_queue.dequeue()
utils.move_variable_initialization_to_cpu()
cfg = utils.auto_select_ipus(utils.create_ipu_config(), 1)
utils.configure_ipu_system(cfg)
with tf.Session() as sess:
    sess.run(infeed_queue.initializer)
    sess.run(tf.global_variables_initializer())
    last = [sess.run(res)[0].item() for _ in range(2)]
    [weight] = sess.run(tf.trainable_variables())
    print(json.dumps([last, sess.run(dequeued).tolist(), weight[:, 0].tolist()]))
"""


def test_the_program_of_the_documents_trains(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "POP"))}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'compat'}", "POPVISION_LOCKS": str(tmp_path / "locks")}
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    last, losses, weight = json.loads(done.stdout)
    x, expected, weights = np.arange(12).reshape(3, 2, 2) / 10, [], np.zeros(2)
    for step in range(10):
        features = x[step % 3]
        error = features @ weights - features.sum(axis=1)
        expected.append((error**2).mean())
        weights -= 0.1 * 2 * error @ features / 2
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(weight, weights, rtol=1e-4)
    np.testing.assert_allclose(last, [expected[4], expected[9]], rtol=1e-4)
