"""A graph on 128 IPUs: `python -m benchmarks.many_tiles [IPUs ...]`.

188,416 tiles of the Mk2 IPU Model, 1 million vertices of 5 edges in four compute sets, with data on every tile. The
graph is a ring of cells: each cell reads itself, its two neighbours and one other cell anywhere, and writes a cell of
the next layer. It is built in bulk, compiled with the graph profile, run, and compared with NumPy. Each size has its
own process. Writes docs/measured/benchmarks.md.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.document import write_section
from benchmarks.report_writing import writing_seconds
from popvision.arrays import Float32Array, Int64Array
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.graph.vertices import FieldEdges
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Sequence

IPUS, VERTICES, LAYERS, WIDTH = (8, 32, 128), 1_000_000, 4, 4
#: share of cells whose fourth operand is anywhere; the others read the cell three further on
ANYWHERE = 0.02


class Cell(Vertex):
    """The mean of four cells."""

    own = Input(Vector(FLOAT))
    left = Input(Vector(FLOAT))
    right = Input(Vector(FLOAT))
    other = Input(Vector(FLOAT))
    out = Output(Vector(FLOAT))

    def compute(self) -> None:
        self.out[:] = (self.own + self.left + self.right + self.other) * np.float32(0.25)

    def compute_batch(self) -> None:
        self.out[...] = (self.own + self.left + self.right + self.other) * np.float32(0.25)

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 20 + 7 * sizes["out"]


def main() -> None:
    """Measure one number of IPUs (child process) or all of them."""
    if len(sys.argv) > 2 and sys.argv[1] == "one":
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    lines = [
        "## Graphs on many tiles",
        "",
        f"{VERTICES:,} vertices of 5 edges in {LAYERS} compute sets, every tile used; processor time, peak memory of "
        "the process. `python -m benchmarks.many_tiles`",
        "",
        "| IPUs | tiles | build (s) | compile (s) | load and first run (s) | write profile (s) | peak (MiB) | "
        "profile.pop (MiB) | equals NumPy |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for ipus in [int(n) for n in sys.argv[1:]] or IPUS:
        found = _child(ipus)
        lines.append(
            f"| {ipus} | {found['tiles']:,.0f} | {found['build']:.1f} | {found['compile']:.1f} | {found['run']:.1f} | "
            f"{found['write']:.1f} | {found['peak']:,.0f} | {found['profile']:.1f} | "
            f"{'yes' if found['same'] else 'no'} |"
        )
    text = "\n".join(lines)
    print(text)
    write_section("many tiles", text)


def measure(ipus: int, vertices: int = VERTICES) -> dict[str, float]:
    """Seconds of processor time to build, compile and run; MiB; whether the result equals NumPy's."""
    from simulator.poplar import compileGraph

    clock = time.process_time
    times = [clock()]
    graph, program, others = build(ipus, vertices // LAYERS)
    times.append(clock())
    with tempfile.TemporaryDirectory() as folder:
        options = {"autoReport.outputGraphProfile": "true", "autoReport.directory": folder}
        with writing_seconds(clock) as writing:
            executable = compileGraph(graph, [program], options)
        times.append(clock())
        cells = np.random.default_rng(1).random((len(others), WIDTH)).astype(np.float32)
        found = np.empty_like(cells)
        engine = Engine(executable, options)
        engine.load(device_of(ipus))
        engine.writeTensor("in", cells)
        engine.run(0)
        engine.readTensor("out", found)
        times.append(clock())
        engine.close()
        size = (Path(folder) / "profile.pop").stat().st_size / 2**20
    build_time, compiling, run = np.diff(times).tolist()
    return {
        "tiles": graph.getTarget().getNumTiles(),
        "build": build_time,
        "compile": compiling - sum(writing),
        "write": sum(writing),
        "run": run,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "profile": size,
        "same": float(np.array_equal(found, expected(cells, others))),
    }


def device_of(ipus: int) -> Any:
    """A Mk2 model of this many IPUs."""
    model = IPUModel()
    model.numIPUs = ipus
    return model.createDevice()


def build(ipus: int, cells: int) -> tuple[Graph, Sequence, Int64Array]:
    """The graph, its program, and the other cell that each cell reads."""
    rng = np.random.default_rng(cells)
    graph = Graph(device_of(ipus))
    tiles = graph.getTarget().getNumTiles()
    graph.addCodelets([Cell])
    index = np.arange(cells, dtype=np.int64)
    owner = index * tiles // cells
    other = np.where(rng.random(cells) < ANYWHERE, rng.integers(0, cells, cells), (index + 3) % cells)
    read = {"own": index, "left": (index - 1) % cells, "right": (index + 1) % cells, "other": other}
    layers = [graph.addVariable(FLOAT, [cells, WIDTH], f"layer{n}") for n in range(LAYERS + 1)]
    ends = np.cumsum(np.bincount(owner, minlength=tiles)).astype(np.int64) * WIDTH
    begins = np.concatenate([[0], ends[:-1]])
    used = np.flatnonzero(ends > begins)
    for layer in layers:
        graph.setTileMappingIntervals(layer, begins[used], ends[used], used)
    program = Sequence()
    length = np.full(cells, WIDTH, np.int64)
    for number, (source, target) in enumerate(pairwise(layers)):
        cs = graph.addComputeSet(f"step{number}")
        base, out = (int(t.regions()[0][0]) for t in (source, target))
        edges = {name: FieldEdges(base + at * WIDTH, length) for name, at in read.items()}
        edges["out"] = FieldEdges(out + index * WIDTH, length)
        graph.addVertices(cs, "Cell", owner, edges)
        program.add(Execute(cs))
    graph.createHostWrite("in", layers[0])
    graph.createHostRead("out", layers[-1])
    return graph, program, other


def expected(cells: Float32Array, others: Int64Array) -> Float32Array:
    """The same result in NumPy."""
    for _ in range(LAYERS):
        near = cells + np.roll(cells, 1, axis=0) + np.roll(cells, -1, axis=0)
        cells = (near + cells[others]) * np.float32(0.25)
    return cells


def _child(ipus: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.many_tiles", "one", str(ipus)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert isinstance(found, dict)
    return found


if __name__ == "__main__":
    main()
