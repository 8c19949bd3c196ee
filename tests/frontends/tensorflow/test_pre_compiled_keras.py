"""The Keras program of pre-compilation as a user starts it: compiled without a device, then run from the cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/tensorflow/pre_compile/pre_compile_example.py"
SAVED = "A pre-compiled Poplar program has been saved to "
COMPILED = "Compiled cluster using XLA!"


def run(folder: Path, *command: str, **variables: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "POP", "KERAS"))}
    environment |= {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'compat'}",
        "POPVISION_LOCKS": str(folder / "locks"),
        "POPVISION_SYNTHETIC_IMAGES": "3200,100",
        "KERAS_HOME": str(folder / "keras"),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, *command],
        env=environment | variables,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout.splitlines()


def containing(lines: list[str], words: str) -> list[str]:
    return [one for one in lines if words in one]


def test_pre_compiled_programs_are_loaded_by_the_run_on_a_device(tmp_path: Path) -> None:
    cache = tmp_path / "new" / "executables"
    flags = f"--executable_cache_path={cache}"
    lines = run(tmp_path, str(EXAMPLE), "--pre_compile", TF_POPLAR_FLAGS=flags)
    [saved] = containing(lines, SAVED)
    path = Path(saved.rpartition(" ")[2])
    assert re.fullmatch(r"[0-9a-f]+\.poplar_exec", path.name)
    assert list(cache.glob("*.poplar_exec")) == [path]
    assert not containing(lines, "attached to ")
    assert len(containing(lines, "synthetic images")) == 1
    assert "accuracy: 0.0000e+00 - loss: 0.0000e+00" in lines[-1]
    before = path.stat().st_mtime_ns
    lines = run(tmp_path, str(EXAMPLE), TF_POPLAR_FLAGS=flags)
    assert not containing(lines, SAVED)
    assert len(containing(lines, "attached to 1 IPU")) == len(containing(lines, COMPILED)) == 1
    assert list(cache.glob("*.poplar_exec")) == [path]
    assert path.stat().st_mtime_ns == before
    assert float(lines[-1].partition("accuracy: ")[2].split()[0]) > 0.5


_OLD_FORM = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu
from tensorflow.python.keras.datasets import mnist

cfg = ipu.utils.create_ipu_config()
cfg = ipu.utils.auto_select_ipus(cfg, 1)
cfg = ipu.utils.set_ipu_connection_type(
    cfg, connection_type=ipu.utils.DeviceConnectionType.PRE_COMPILE, ipu_version="ipu2", enable_remote_buffers=True)
ipu.utils.configure_ipu_system(cfg)
(images, labels), _ = mnist.load_data()
data = tf.data.Dataset.from_tensor_slices((images / 255.0, labels)).batch(32, drop_remainder=True)
data = data.map(lambda d, l: (tf.cast(d, tf.float32), tf.cast(l, tf.float32))).repeat()
with ipu.ipu_strategy.IPUStrategy().scope():
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(), optimizer=keras.optimizers.SGD())
    model.fit(data, steps_per_epoch=3, verbose=2)
    print(model.predict(images[:64], verbose=0).sum(), images.shape, labels.dtype)
"""


def test_training_and_prediction_of_the_functional_form_are_two_programs(tmp_path: Path) -> None:
    cache = tmp_path / "executables"
    lines = run(tmp_path, "-c", _OLD_FORM, TF_POPLAR_FLAGS=f"--executable_cache_path={cache}")
    saved = {Path(one.rpartition(" ")[2]) for one in containing(lines, SAVED)}
    assert len(saved) == 2
    assert saved == set(cache.glob("*.poplar_exec"))
    assert lines[-1] == "0.0 (3200, 28, 28) uint8"


_DATA = """
from tensorflow.python import ipu
import keras, tensorflow as tf
from tensorflow.python.keras.datasets import mnist
for load in (mnist.load_data, keras.datasets.mnist.load_data, tf.keras.datasets.mnist.load_data):
    (images, labels), (test, expected) = load()
    print(images.sum(), labels.tolist(), test.shape, expected.dtype)
"""


def test_the_users_mnist_is_read_under_all_names(tmp_path: Path) -> None:
    folder = tmp_path / "keras" / "datasets"
    folder.mkdir(parents=True)
    images = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
    np.savez(
        folder / "mnist.npz",
        x_train=images,
        y_train=np.array([4, 0, 7], np.uint8),
        x_test=images[:1],
        y_test=np.array([1], np.uint8),
    )
    lines = run(tmp_path, "-c", _DATA)
    assert lines[-3:] == [f"{images.sum()} [4, 0, 7] (1, 28, 28) uint8"] * 3
    assert not containing(lines, "synthetic")


def test_a_damaged_mnist_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "keras" / "datasets"
    folder.mkdir(parents=True)
    (folder / "mnist.npz").write_bytes(b"PK\x03\x04 cut")
    code = "from tensorflow.python.keras.datasets import mnist\ntry:\n mnist.load_data()\n"
    lines = run(tmp_path, "-c", code + "except RuntimeError as error: print(error)")
    assert lines[-1].startswith(f"{folder / 'mnist.npz'} is no NumPy archive with the arrays x_train, y_train, ")


def test_keras_that_was_imported_before_gets_the_images_too(tmp_path: Path) -> None:
    code = "import keras, keras.datasets.mnist\nfrom tensorflow.python import ipu\n"
    code += "print([len(one[0]) for one in keras.datasets.mnist.load_data()])"
    assert run(tmp_path, "-c", code)[-1] == "[3200, 100]"
