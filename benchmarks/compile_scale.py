"""Build and compile large graphs: `python -m benchmarks.compile_scale [vertices]`.

10 thousand, 100 thousand and 1 million vertices on 1,472 tiles, seeded: 20 compute sets, each of which reads what the
one before wrote; 50 vertex types; 1,000 different vector sizes (1 to 1,000 elements, log-uniform); 30 % of edges have
their data on another tile. Each graph is built in bulk and, for comparison, one `addVertex` at a time, and compiled
with all reports. Each size has its own process and so its own peak memory. Then tutorial 6 of Graphcore
(`benchmarks.validation.tutorial6`) for Mk2: 80,000 vertices, added one at a time, which share a vector. Writes
docs/measured/benchmarks.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.document import write_section
from benchmarks.report_writing import writing_seconds
from benchmarks.validation import tutorial6
from examples import tut6_matrix_vector_opt
from popvision.arrays import Int64Array
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.graph.objects import ComputeSet
from simulator.graph.vertices import FieldEdges
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Execute, Sequence

COUNTS = (10_000, 100_000, 1_000_000)
KINDS = ("Compute", "ExternalExchange", "ControlFlow")  #: of instrumentation
LAYERS, TYPES, SIZES, REMOTE_EDGES = 20, 50, 1_000, 0.30
SECONDS, MEMORY_MIB = 20.0, 4 * 1024
TUTORIAL, TUTORIAL_SECONDS = "tutorial6", 8.0


def main() -> None:
    """Measure one size (child process) or all of them."""
    if TUTORIAL in sys.argv:
        print(json.dumps(measure_tutorial()))
        return
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]), one_by_one="each" in sys.argv)))
        return
    text = report()
    print(text)
    write_section("compile_scale", "## Building and compiling large graphs\n\n" + text)


def report() -> str:
    """The section's text."""
    results = [(count, _child(count), _child(count, "each")) for count in COUNTS]
    lines = [
        f"{LAYERS} compute sets, {TYPES} vertex types, {SIZES:,} vector sizes, 3 edges per vertex, 1,472 tiles, "
        f"Mk2 IPU Model, autoReport.all. Limit at 1 M vertices: {SECONDS:.0f} s, "
        f"{MEMORY_MIB // 1024} GiB. Edges across tiles: "
        + ", ".join(f"{100 * bulk['remote']:.1f} %" for _, bulk, _ in results)
        + ".",
        "",
        "| vertices | build, bulk (s) | build, addVertex (s) | compile (s) | write reports (s) | peak (MiB) | "
        "profile.pop (MiB) | within the limit |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for count, bulk, each in results:
        met = "yes" if bulk["compile"] + bulk["write"] <= SECONDS and bulk["peak"] <= MEMORY_MIB else "no"
        lines.append(
            f"| {count:,} | {bulk['build']:.2f} | {each['build']:.2f} | {bulk['compile']:.2f} | {bulk['write']:.2f} | "
            f"{bulk['peak']:,.0f} | {bulk['profile']:.1f} | {met} |"
        )
    return "\n".join([*lines, "", *_tutorial_table(_child(TUTORIAL))])


def _tutorial_table(found: dict[str, float]) -> list[str]:
    met = "yes" if found["compile"] <= TUTORIAL_SECONDS else "no"
    return [
        f"Tutorial 6, {tutorial6.ROWS:,} x {tutorial6.COLUMNS:,}, Mk2 IPU Model, instrumented; processor time, of the "
        f"process and its children. Limit of compiling: {TUTORIAL_SECONDS:.0f} s.",
        "",
        "| vertices | build, addVertex (s) | compile (s) | within the limit |",
        "| ---: | ---: | ---: | --- |",
        f"| {found['vertices']:,.0f} | {found['build']:.2f} | {found['compile']:.2f} | {met} |",
    ]


def measure_tutorial() -> dict[str, float]:
    """Vertices of tutorial 6, and seconds of processor time to build and compile it."""
    target = tut6_matrix_vector_opt.deviceOf("model-ipu2")
    with contextlib.redirect_stdout(sys.stderr):
        began = _processor_seconds()
        graph, program = tutorial6.program(target)
        built = _processor_seconds()
        Engine(graph, program, {f"debug.instrument{kind}": "true" for kind in KINDS}).close()
        ended = _processor_seconds()
    vertices = sum(len(block) for block in graph.store.blocks)
    return {"vertices": vertices, "build": built - began, "compile": ended - built}


def _processor_seconds() -> float:
    """Of this process and those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(count: int, *, one_by_one: bool) -> dict[str, float]:
    """Seconds to build and compile a graph of `count` vertices, peak MiB of this process, MiB of the profile."""
    from simulator.poplar import compileGraph

    began = time.perf_counter()
    graph, program = build(count, one_by_one=one_by_one)
    built = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = {"autoReport.all": "true", "autoReport.directory": folder}
        with writing_seconds(time.perf_counter) as writing:
            executable = compileGraph(graph, [program], options)
        Engine(executable, options).close()
        ended = time.perf_counter()
        size = (Path(folder) / "profile.pop").stat().st_size / 2**20
    return {
        "build": built - began,
        "compile": ended - built - sum(writing),
        "write": sum(writing),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "profile": size,
        "remote": remote_share(graph),
    }


def remote_share(graph: Graph) -> float:
    """The share of edges with some element on another tile than their vertex."""
    ends, tile_of = graph.store.mapping_table()
    remote = total = 0
    for block in graph.store.blocks:
        for edges in block.edges.values():
            first = np.searchsorted(ends, edges.starts, side="right")
            last = np.searchsorted(ends, edges.starts + edges.lengths - 1, side="right")
            local = (first == last) & (tile_of[first] == block.tiles)
            remote += int((~local).sum())
            total += len(local)
    return remote / total


class Layer(NamedTuple):
    """The vertices of one compute set: the type, tile, first element of each field, and vector length of each."""

    cs: ComputeSet
    source: Tensor
    target: Tensor
    kind: Int64Array
    owner: Int64Array
    fields: dict[str, Int64Array]
    length: Int64Array


def build(count: int, *, one_by_one: bool) -> tuple[Graph, Sequence]:
    """The graph: the vertices of layer l + 1 read two vectors of layer l's output and write one."""
    rng = np.random.default_rng(count)
    graph = Graph(IPUModel().createDevice().getTarget())
    tiles = graph.getTarget().getNumTiles()
    types = [_type(number) for number in range(TYPES)]
    graph.addCodelets(types)
    per_layer = count // LAYERS
    sizes = np.arange(1, SIZES + 1)
    length = rng.choice(sizes, per_layer, p=1 / sizes / (1 / sizes).sum())
    owner = np.arange(per_layer, dtype=np.int64) * tiles // per_layer
    program = Sequence()
    start = np.cumsum(length) - length
    source = _variable(graph, "layer0", length, owner, tiles)
    for layer in range(LAYERS):
        target = _variable(graph, f"layer{layer + 1}", length, owner, tiles)
        cs = graph.addComputeSet(f"step{layer}")
        kind = rng.integers(0, TYPES, per_layer)
        fields = {"a": _neighbours(rng, start, length), "b": _neighbours(rng, start, length), "y": start}
        add = _add_each if one_by_one else _add_bulk
        add(graph, Layer(cs, source, target, kind, owner, fields, length))
        program.add(Execute(cs))
        source = target
    return graph, program


def _neighbours(rng: np.random.Generator, start: Int64Array, length: Int64Array) -> Int64Array:
    """What each vertex reads: its own data or, for 1.5 x 30 % of two inputs out of three edges, the data of a random
    vertex that has at least as much."""
    n = len(start)
    by_length = np.argsort(length, kind="stable")
    first = np.searchsorted(length[by_length], length, side="left")
    other = by_length[first + (rng.random(n) * (n - first)).astype(np.int64)]
    return np.where(rng.random(n) < 1.5 * REMOTE_EDGES, start[other], start)


def _variable(graph: Graph, name: str, length: Int64Array, owner: Int64Array, tiles: int) -> Any:
    tensor = graph.addVariable(FLOAT, [int(length.sum())], name)
    ends = np.cumsum(np.bincount(owner, weights=length, minlength=tiles).astype(np.int64))
    graph.setTileMappingIntervals(tensor, np.concatenate([[0], ends[:-1]]), ends, np.arange(tiles))
    return tensor


def _add_bulk(graph: Graph, layer: Layer) -> None:
    base = {name: int((layer.target if name == "y" else layer.source).regions()[0][0]) for name in layer.fields}
    for number in range(TYPES):
        mine = np.flatnonzero(layer.kind == number)
        edges = {name: FieldEdges(start[mine] + base[name], layer.length[mine]) for name, start in layer.fields.items()}
        graph.addVertices(layer.cs, f"Mix{number}", layer.owner[mine], edges)


def _add_each(graph: Graph, layer: Layer) -> None:
    source, target, fields = layer.source, layer.target, layer.fields
    columns = (layer.kind, layer.owner, fields["a"], fields["b"], fields["y"], layer.length)
    for number, tile, a, b, y, n in zip(*(c.tolist() for c in columns), strict=True):
        edges = {"a": source.slice(a, a + n), "b": source.slice(b, b + n), "y": target.slice(y, y + n)}
        graph.setTileMapping(graph.addVertex(layer.cs, f"Mix{number}", edges), tile)


def _type(number: int) -> type[Vertex]:
    """One of the vertex types, which differ in name and cost."""

    def compute(self: Any) -> None:
        self.y[:] = self.a + number * self.b

    def estimate(cls: Any, sizes: Any, values: Any, target: Any) -> Any:
        return 20 + number % 7 + (2 + number % 3) * sizes["y"]

    body = {
        "a": Input(Vector(FLOAT)),
        "b": Input(Vector(FLOAT)),
        "y": Output(Vector(FLOAT)),
        "compute": compute,
        "estimate": classmethod(estimate),
    }
    return type(f"Mix{number}", (Vertex,), body)


def _child(*arguments: object) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.compile_scale", *map(str, arguments)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert isinstance(found, dict)
    return found


if __name__ == "__main__":
    main()
