"""Engine.run against the same maths in bare NumPy, with changing inputs: `python -m benchmarks.engine_run`.

Three programs: the matmul chain, one epoch of the training example, and a chain of 24 element-wise library operations
on 1 k, 1 M and 64 M floats (at 1 k only fixed costs remain, so the limit applies to the others). NumPy computes the
same results from the same inputs. The two run in turns, so other load on the machine affects both. Both use one BLAS
thread: two threads would spin against other load. Recording is off, then on with every run recorded. The fixed costs of
an empty run and of one small step are measured separately. Writes its table into docs/measured/benchmarks.md.
"""

from __future__ import annotations

import os

from popvision.arrays import AnyArray

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.document import write_section
from examples import matmul_chain, train_mlp
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Repeat, Sequence
from simulator.poplibs import popops, poputil

ROUNDS = 40
LIMIT = 1.3
OPERATIONS = 24
SIZES = (1_000, 1_000_000, 64_000_000)


@dataclass(frozen=True)
class Case:
    """A program and its NumPy twin. `prepare(i)` gives the engine the inputs of round i (not timed; streams are part of
    the run). `engine` and `numpy(i)` do the round; `check` compares the results of the last round."""

    name: str
    prepare: Callable[[int], None]
    engine: Callable[[], None]
    numpy: Callable[[int], None]
    check: Callable[[], float]  #: largest relative difference
    rounds: int = ROUNDS
    judged: bool = True  #: whether the limit applies


def main() -> int:
    """Measure, print and write the table."""
    rows = []
    for recording in (False, True):
        for make in (matmul_case, training_case, *(partial(elementwise_case, size) for size in SIZES)):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(make(_options(recording, folder)), recording))
    with tempfile.TemporaryDirectory() as folder:
        recorded = fixed_costs(_options(True, folder))
    text = "\n".join(table(rows, fixed_costs({}), recorded))
    print(text)
    write_section("engine_run", text)
    return 0


def _options(recording: bool, folder: str) -> dict[str, str]:
    if not recording:
        return {}
    return {
        "autoReport.outputExecutionProfile": "true",
        "autoReport.outputGraphProfile": "true",
        "autoReport.executionProfileProgramRunCount": "1000",
        "autoReport.directory": folder,
    }


@dataclass(frozen=True)
class Row:
    """The measurements of a case."""

    case: Case
    recording: bool
    engine: float  #: ms
    numpy: float  #: ms
    difference: float


def measure(case: Case, recording: bool) -> Row:
    """Lower quartiles of alternating rounds, after two rounds of warm-up. Other load on the machine lengthens rounds
    and never shortens them."""
    times: list[tuple[float, float]] = []
    for i in range(case.rounds + 2):
        case.prepare(i)
        begin = time.perf_counter()
        case.engine()
        middle = time.perf_counter()
        case.numpy(i)
        end = time.perf_counter()
        if i >= 2:
            times.append((middle - begin, end - middle))
    engine, plain = (1e3 * float(np.percentile([t[k] for t in times], 25)) for k in (0, 1))
    return Row(case, recording, engine, plain, case.check())


def _engine(graph: Graph, program: Sequence | Repeat, options: dict[str, str]) -> Engine:
    device = IPUModel().createDevice()
    engine = Engine(graph, program, options)
    engine.load(device)
    if not options:
        engine.disableExecutionProfiling()
    return engine


def matmul_case(options: dict[str, str]) -> Case:
    """m5 = m1 x m2 x m3 with three new matrices each round, result read back."""
    graph = Graph(IPUModel().createDevice())
    engine = _engine(graph, matmul_chain.build(graph), options)
    rng = np.random.default_rng(1)
    inputs = [
        {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in matmul_chain.SHAPES.items()}
        for _ in range(4)
    ]
    result = np.empty((800, 200), np.float32)
    expected = np.empty_like(result)

    def prepare(i: int) -> None:
        for name, values in inputs[i % 4].items():
            engine.writeTensor(name, values)

    def check() -> float:
        engine.readTensor("m5", result)
        return _difference(result, expected)

    def plain(i: int) -> None:
        m = inputs[i % 4]
        np.matmul(np.matmul(m["m1"], m["m2"]), m["m3"], out=expected)

    return Case("matmul_chain", prepare, lambda: engine.run(0), plain, check)


def training_case(options: dict[str, str]) -> Case:
    """One epoch of 30 batches from streams; both sides continue training the same parameters."""
    graph = Graph(IPUModel().createDevice())
    sizes = [train_mlp.SIDE**2, 128, 64, train_mlp.CLASSES]
    layers = train_mlp.parameters(graph, sizes, seed=3)
    step = train_mlp.training_step(graph, layers, rate=0.2)
    engine = _engine(graph, Repeat(train_mlp.BATCHES, step), options)
    images, labels = train_mlp.digits(train_mlp.BATCH * train_mlp.BATCHES, seed=4)
    loss = np.empty((train_mlp.BATCHES, train_mlp.BATCH), np.float32)
    probabilities = np.empty((len(images), train_mlp.CLASSES), np.float32)
    for handle, buffer in (("images", images), ("labels", labels), ("loss", loss), ("probabilities", probabilities)):
        engine.connectStream(handle, buffer)
    twin = PlainTraining(sizes, images, labels)
    return Case(
        "train_mlp, one epoch",
        lambda i: None,
        lambda: engine.run(0),
        lambda i: twin.epoch(),
        lambda: _difference(loss, twin.loss),
    )


class PlainTraining:
    """The training example as one would write it in NumPy."""

    def __init__(self, sizes: list[int], images: AnyArray, labels: AnyArray, rate: float = 0.2, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.images, self.labels, self.rate = images, labels, np.float32(rate / train_mlp.BATCH)
        self.layers = [
            (rng.normal(0, (2 / a) ** 0.5, (a, b)).astype(np.float32), np.zeros(b, np.float32))
            for a, b in pairwise(sizes)
        ]
        self.loss = np.empty((train_mlp.BATCHES, train_mlp.BATCH), np.float32)
        self.probabilities = np.empty((len(images), sizes[-1]), np.float32)

    def epoch(self) -> None:
        for batch in range(train_mlp.BATCHES):
            rows = slice(batch * train_mlp.BATCH, (batch + 1) * train_mlp.BATCH)
            self.batch(batch, rows, self.images[rows], self.labels[rows])

    def batch(self, batch: int, rows: slice, x: AnyArray, labels: AnyArray) -> None:
        activations = [x]
        for i, (w, b) in enumerate(self.layers):
            x = x @ w
            x += b
            if i < len(self.layers) - 1:
                np.maximum(x, 0, out=x)
            activations.append(x)
        x -= x.max(axis=1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=1, keepdims=True)
        self.probabilities[rows] = x
        place = np.arange(len(labels))
        self.loss[batch] = -np.log(x[place, labels])
        slope = x.copy()
        slope[place, labels] -= 1
        for i in range(len(self.layers) - 1, -1, -1):
            w, b = self.layers[i]
            inputs = activations[i]
            w_slope, b_slope = inputs.T @ slope, slope.sum(axis=0)
            if i:
                slope = (slope @ w.T) * (inputs > 0)
            w -= self.rate * w_slope
            b -= self.rate * b_slope


def elementwise_case(elements: int, options: dict[str, str]) -> Case:
    """24 operations on this many floats, alternating add, multiply, maximum and scaled add."""
    graph = Graph(IPUModel().createDevice())
    a, b = (graph.addVariable(FLOAT, [elements], name) for name in "ab")
    for tensor in (a, b):
        poputil.mapTensorLinearly(graph, tensor)
    graph.createHostWrite("a", a)
    graph.createHostWrite("b", b)
    program = Sequence()
    x = a
    for i in range(OPERATIONS // 4):
        x = popops.add(graph, x, b, program, f"add{i}")
        x = popops.mul(graph, x, b, program, f"mul{i}")
        x = popops.max(graph, x, a, program, f"max{i}")
        popops.scaledAddTo(graph, x, b, -0.5, program, f"axpy{i}")
    graph.createHostRead("x", x)
    engine = _engine(graph, program, options)
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal((2, elements), dtype=np.float32) for _ in range(2)]
    result, expected = np.empty(elements, np.float32), np.empty(elements, np.float32)

    def prepare(i: int) -> None:
        engine.writeTensor("a", inputs[i % 2][0])
        engine.writeTensor("b", inputs[i % 2][1])

    def check() -> float:
        engine.readTensor("x", result)
        return _difference(result, expected)

    def plain(i: int) -> None:
        u, v = inputs[i % 2]
        y = u
        for _ in range(OPERATIONS // 4):
            y = np.maximum((y + v) * v, u)
            y = y + np.float32(-0.5) * v
        expected[...] = y

    size = f"{elements // 1000} k" if elements < 1_000_000 else f"{elements // 1_000_000} M"
    name, rounds = f"{OPERATIONS} operations on {size} floats", min(ROUNDS, max(3, 40_000_000 // elements))
    return Case(name, prepare, lambda: engine.run(0), plain, check, rounds, judged=elements >= 1_000_000)


def fixed_costs(options: dict[str, str]) -> tuple[float, float]:
    """Microseconds of an empty run, and of one more small library step."""

    def timed(steps: int) -> float:
        graph = Graph(IPUModel().createDevice())
        a = graph.addVariable(FLOAT, [16], "a")
        poputil.mapTensorLinearly(graph, a)
        program = Sequence()
        for i in range(steps):
            popops.addInPlace(graph, a, a, program, f"add{i}") if i % 2 else popops.reluInPlace(graph, a, program)
        engine = _engine(graph, program, options)
        runs = []
        for _ in range(200):
            begin = time.perf_counter()
            engine.run(0)
            runs.append(time.perf_counter() - begin)
        engine.close()
        return 1e6 * float(np.median(runs))

    none, many = timed(0), timed(100)
    return none, (many - none) / 100


def _difference(a: AnyArray, b: AnyArray) -> float:
    return float(np.abs(a - b).max() / max(float(np.abs(b).max()), 1e-30))


def table(rows: list[Row], fixed: tuple[float, float], recorded: tuple[float, float]) -> list[str]:
    """The table in Markdown; `fixed` and `recorded` are fixed costs with recording off and on."""
    load = os.getloadavg()[0]
    out = [
        "## Running a compiled program",
        "",
        f"Lower quartiles of {ROUNDS} rounds (of 64 M floats 3) in which the engine and NumPy take turns; inputs "
        "change. Host time, one BLAS thread on both sides. Load of the "
        f"machine ({os.cpu_count()} cores) when this ended: {load:.1f}.",
        "",
        "| program | recording | Engine.run (ms) | NumPy (ms) | ratio | limit | reached | largest difference |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for row in rows:
        ratio = row.engine / row.numpy
        judged = (str(LIMIT), "yes" if ratio <= LIMIT else "no") if row.case.judged else ("-", "-")
        out.append(
            f"| {row.case.name} | {'on' if row.recording else 'off'} | {row.engine:.2f} | {row.numpy:.2f} "
            f"| {ratio:.2f} | {judged[0]} | {judged[1]} | {row.difference:.1e} |"
        )
    return [
        *out,
        "",
        f"Fixed costs, part of the times above: a run that does nothing {fixed[0]:.0f} us, recorded "
        f"{recorded[0]:,.0f} us (one transaction of profile.pop); one library step on 16 floats {fixed[1]:.1f} us, "
        f"recorded {recorded[1]:.1f} us. train_mlp has thousands of small steps an epoch, and copies batches and "
        "results through streams, which NumPy has no counterpart of. With recording on, every run is written to "
        "profile.pop; by default only the first two of each program are.",
    ]


if __name__ == "__main__":
    sys.exit(main())
