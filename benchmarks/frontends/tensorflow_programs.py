"""TensorFlow programs on the simulated IPU beside the same on stock TensorFlow.

    .venv-tensorflow/bin/python -m benchmarks.frontends.tensorflow_programs [turns]

- The start of Python with compat/ on PYTHONPATH beside without, where TensorFlow is not imported.
- examples/tensorflow/connection_type beside its computation in a session of stock TensorFlow, whole processes.
- The first step of the Keras program in a process: with an empty executable cache, and with one that has its program.
- Steps of Keras' fit on MNIST digits (Flatten, Dense 128, Dense 10, SGD, batch 32), both sides in turns of 200 steps.

Of `turns` (5) each side's median is given; the ratio is the median of the turns' ratios, of wall time and of processor
time, which depends less on other processes.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STEPS = 200

_STOCK = """
import tensorflow as tf
tf.compat.v1.disable_v2_behavior()
with tf.device("cpu"):
    a, b, c = (tf.compat.v1.placeholder("float32", [2]) for _ in range(3))
out = (a + b) + (a + c)
with tf.compat.v1.Session() as session:
    print(session.run(out, {a: [1, 1], b: [0, 1], c: [1, 5]}))
"""


class Seconds(NamedTuple):
    wall: float
    processor: float


def seconds_of(command: list[str], **variables: str) -> Seconds:
    """Of a process with these environment variables in addition; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(time.perf_counter() - began, used)


def processes(folder: Path, turns: int) -> None:
    """Print the costs of the hook and of the connection program."""
    paths = f"{ROOT}:{ROOT / 'compat'}"
    locks = {"POPVISION_LOCKS": str(folder / "locks"), "PYTHONPATH": paths}
    nothing = [sys.executable, "-c", "pass"]
    starts = [(seconds_of(nothing, PYTHONPATH=str(ROOT)), seconds_of(nothing, PYTHONPATH=paths)) for _ in range(20)]
    _print("start of Python, with compat/", *starts)
    program = [sys.executable, str(ROOT / "examples/tensorflow/connection_type/connection_type.py")]
    pairs = [(seconds_of([sys.executable, "-c", _STOCK]), seconds_of(program, **locks)) for _ in range(turns)]
    _print("connection_type.py", *pairs)


def cached(folder: Path, turns: int) -> None:
    """Print the first step with an empty cache and with a full one."""
    pairs = []
    for turn in range(turns):
        variables = {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'compat'}",
            "POPVISION_LOCKS": str(folder / "locks"),
            "TF_POPLAR_FLAGS": f"--executable_cache_path={folder / str(turn)}",
        }
        command = [sys.executable, "-m", "benchmarks.frontends.tensorflow_programs", "first-step"]
        done = [
            subprocess.run(command, env=os.environ | variables, check=True, capture_output=True, text=True).stdout
            for _ in range(2)
        ]
        pairs.append([json.loads(one) for one in done])
    for index, name in enumerate(("Keras program, load or compile", "Keras program, first step in all")):
        _print(name, *((Seconds(*hit[index]), Seconds(*miss[index])) for miss, hit in pairs), sides=("load", "compile"))


def first_step() -> None:
    """Print the seconds of compiling or loading the Keras program, and of its whole first execution, as JSON."""
    from simulator.frontends.tensorflow.system import System

    spent: list[Seconds] = []
    original = System.compile

    def noting(self: Any, *rest: Any) -> Any:
        results: list[Any] = []
        spent.append(_timed(lambda: results.append(original(self, *rest))))
        return results[0]

    System.compile = noting  # type: ignore[method-assign]
    model, data = _model(True, 10), _data()
    whole = _timed(lambda: model.fit(data, steps_per_epoch=10, verbose=0))
    print(json.dumps([spent[0], whole]))


def _data() -> Any:
    import tensorflow as tf

    from simulator.frontends.synthetic_images import DIGITS, synthetic_images

    images, labels = synthetic_images(DIGITS, 6400, 0)
    data = tf.data.Dataset.from_tensor_slices(((images / 255).astype("float32"), labels.astype("int32")))
    return data.batch(32, drop_remainder=True).cache().repeat().prefetch(16)


def _model(on_ipu: bool, steps_per_execution: int) -> Any:
    import keras

    from simulator.frontends.tensorflow.strategy import IPUStrategy

    keras.utils.set_random_seed(0)
    with IPUStrategy().scope() if on_ipu else nullcontext():
        layers = [keras.layers.Flatten(), keras.layers.Dense(128, "relu"), keras.layers.Dense(10, "softmax")]
        model = keras.Sequential(layers)
        model.compile("sgd", "sparse_categorical_crossentropy", steps_per_execution=steps_per_execution)
    return model


def steps(turns: int) -> None:
    """Print the steps of both sides."""
    data = _data()
    for per_execution in (1, 10):
        models = [_model(on_ipu, per_execution) for on_ipu in (False, True)]
        pairs = []
        for turn in range(turns + 1):
            times = [_timed(partial(one.fit, data, steps_per_epoch=STEPS, verbose=0)) for one in models]
            if turn:
                stock, ours = (Seconds(one.wall / STEPS, one.processor / STEPS) for one in times)
                pairs.append((stock, ours))
        _print(f"Keras step, {per_execution} per execution", *pairs)


def _timed(turn: Callable[[], Any]) -> Seconds:
    began, used = time.perf_counter(), time.process_time()
    turn()
    return Seconds(time.perf_counter() - began, time.process_time() - used)


def _print(name: str, *pairs: tuple[Seconds, Seconds], sides: tuple[str, str] = ("stock", "IPU")) -> None:
    for clock in range(2):
        first, second = (statistics.median(pair[side][clock] for pair in pairs) * 1e3 for side in (0, 1))
        ratio = statistics.median(pair[1][clock] / pair[0][clock] for pair in pairs)
        title = "    processor time" if clock else name
        print(
            f"{title:<34} {sides[0]} {first:>9.2f} ms   {sides[1]} {second:>9.2f} ms   {second - first:>+9.2f} ms "
            f"{ratio:>6.2f}x",
            flush=True,
        )


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if sys.argv[1:] == ["first-step"]:
        first_step()
        return
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POPVISION_LOCKS"] = str(Path(folder) / "own")
        processes(Path(folder), turns)
        cached(Path(folder), turns)
        steps(turns)


if __name__ == "__main__":
    main()
