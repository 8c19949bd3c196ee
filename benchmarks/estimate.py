"""Estimate the cycles of a million vertices: `python -m benchmarks.estimate`.

Two shapes on 1,472 tiles of the Mk2 IPU Model, seeded: one compute set of 1 M worker vertices of four PopLibs types,
each of its own size (each vertex goes to the first free worker); and 680 compute sets of 1,472 MultiVertices, one per
layer. Only the estimate is timed, as CPU time of one thread: the least of five rounds. Writes
docs/measured/benchmarks.md.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.document import write_section
from popvision.arrays import Int64Array, UInt32Array
from simulator.compiler.cost.estimate import estimate_compute_set
from simulator.compiler.machine import Machine, machine_of
from simulator.graph.vertices import FieldEdges, VertexBlock, VertexType
from simulator.poplar import IPUModel
from simulator.poplibs.popops.vertices import elementwise_vertex

COUNT, TILES, ROUNDS, MILLISECONDS = 1_000_000, 1_472, 5, 50.0
OPERATORS = ("ADD", "MULTIPLY", "DIVIDE", "MAXIMUM")


def main() -> None:
    """Measure both shapes and write the table."""
    text = report()
    print(text)
    write_section("estimate", "## Estimating cycles of a million vertices\n\n" + text)


def report() -> str:
    """The section's text."""
    machine = machine_of(IPUModel().createDevice().getTarget())
    rows = [("1 compute set, 1 M worker vertices", one_set()), ("680 compute sets of 1,472 vertices", layers())]
    lines = [
        f"Library vertices, 1,472 tiles, CPU time of one thread, least of {ROUNDS} (`python -m benchmarks.estimate`); "
        f"limit {MILLISECONDS:.0f} ms. "
        f"For scale: adding two arrays of 1 M integers took {addition():.1f} ms (about 1 ms on an idle core).",
        "",
        "| shape | vertices | estimate (ms) | within the limit |",
        "| --- | ---: | ---: | --- |",
    ]
    for name, sets in rows:
        spent = min(measure(sets, machine) for _ in range(ROUNDS))
        met = "yes" if spent <= MILLISECONDS else "no"
        lines.append(f"| {name} | {sum(len(b) for s in sets for b in s):,} | {spent:.0f} | {met} |")
    return "\n".join(lines)


def measure(sets: list[list[VertexBlock]], machine: Machine) -> float:
    """Milliseconds of CPU time to estimate all compute sets."""
    types = {name: i for i, name in enumerate(dict.fromkeys(b.type.name for s in sets for b in s))}
    began = time.process_time()
    for index, blocks in enumerate(sets):
        estimate_compute_set(index, blocks, types, machine, serialised=False)
    return 1e3 * (time.process_time() - began)


def addition() -> float:
    """Milliseconds of CPU time to add two arrays of a million integers, least of the rounds."""
    values = np.arange(COUNT)
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        values + values
        spent.append(time.process_time() - began)
    return 1e3 * min(spent)


def one_set() -> list[list[VertexBlock]]:
    """A million rows of log-uniform length, dealt to the tiles in turn."""
    rng = np.random.default_rng(17)
    blocks = []
    for op in OPERATORS:
        n = COUNT // len(OPERATORS)
        tiles = np.sort(rng.integers(0, TILES, n)).astype(np.uint32)
        blocks.append(_block(elementwise_vertex("binary", op, "float", False, False), tiles, _sizes(rng, n), 0))
    return [blocks]


def layers() -> list[list[VertexBlock]]:
    """680 operations, each with one vertex on every tile."""
    rng = np.random.default_rng(18)
    tiles = np.arange(TILES, dtype=np.uint32)
    sets = []
    for index in range(-(-COUNT // TILES)):
        type_ = elementwise_vertex("binary", OPERATORS[index % len(OPERATORS)], "half", False, True)
        sets.append([_block(type_, tiles, _sizes(rng, TILES), index)])
    return sets


def _sizes(rng: np.random.Generator, n: int) -> Int64Array:
    return np.asarray(10 ** rng.uniform(0, 3, n), np.int64)


def _block(type_: VertexType, tiles: UInt32Array, sizes: Int64Array, compute_set: int) -> VertexBlock:
    """Vertices with one row each; the mapping of their elements does not matter here."""
    starts = np.zeros(len(tiles), np.int64)
    offsets = None if type_.kind == "multi" else np.arange(len(tiles) + 1, dtype=np.int64)
    edges = {field.name: FieldEdges(starts, sizes, offsets) for field in type_.fields}
    return VertexBlock(compute_set, type_, 0, tiles, edges)


if __name__ == "__main__":
    main()
