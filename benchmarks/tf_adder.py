"""The published summary of a TensorFlow program on one Mk1 IPU beside ours: `python -m benchmarks.tf_adder`.

The published report (published-numbers 6.2) lists 1,219 vertices in four compute sets: a poprand::SetSeedSupervisor on
every tile, two ScaledAddSupervisor<float, float, true> and one BinaryOp1DSupervisor<ADD, float>. The program here
consists of these vertices. The framework's other work is not public, so only lines that the vertices determine can be
exact: vertices, edges, instances, stacks, counters. The others are printed with their deviation.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from popvision.analysis.report.source import ReportSource
from popvision.arrays import Int64Array
from popvision.formats.profile import model
from simulator.base.target import Target
from simulator.engine.devices.what_if import TARGET, overridden
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.targets import MK1, MK2
from simulator.poplar import FLOAT, UNSIGNED_INT, Engine, Graph, OptionFlags, TargetType
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import popops, poputil

TILES = 1216


class Line(NamedTuple):
    title: str
    published: int
    exact: bool  #: determined by the list of vertices


LINES = [
    Line("vertices", 1219, True),
    Line("edges", 1223, True),
    Line("compute sets", 4, True),
    Line("variables", 30562, False),
    Line("vertexInstanceState", 12 * TILES + 48, True),
    Line("stack", 3168 * TILES, True),
    Line("instrumentationResults", 4 * (TILES + 3), True),
    Line("copyDescriptor", 0, True),
    Line("vectorListDescriptor", 0, True),
    Line("vertexFieldData", 0, True),
    Line("constant", 0, True),
    Line("hostExchangePacketHeader", 10512, False),
    Line("variable", 39108, False),
    Line("controlCode", 851272, False),
    Line("vertexCode", 170788, False),
    Line("internalExchangeCode", 60792, False),
    Line("hostExchangeCode", 351328, False),
    Line("excluding gaps", 5355604, False),
    Line("including gaps", 23878396, False),
    Line("largest tile excluding gaps", 5780, False),
    Line("largest tile including gaps", 49184, False),
    Line("tiles out of memory", 0, True),
]


def set_seed() -> VertexType:
    """poprand::SetSeedSupervisor: a pointer to the seed and two words; cycles of published-numbers 7.6."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        cycles = np.full(len(block), 14 + 27 * 6, np.int64)
        return BlockCosts(cycles, "exact", "poprand SetSeed, published-numbers 7.6", np.zeros_like(cycles))

    fields = (
        FieldSpec("seed", "vector", "in", UNSIGNED_INT, "one_ptr", 8),
        FieldSpec("seedModifierUser", "value", "", UNSIGNED_INT),
        FieldSpec("seedModifierHw", "value", "", UNSIGNED_INT),
    )
    return VertexType("poprand::SetSeedSupervisor", "supervisor", fields, costs, lambda vertex: None)


def build(graph: Graph) -> list[Sequence]:
    """The program of the published vertex list, with its inputs and output as streams."""
    program = Sequence()
    seed = graph.addVariable(UNSIGNED_INT, [2], "seed")
    graph.setTileMapping(seed, 0)
    cs = graph.addComputeSet("setSeed")
    tiles = np.arange(TILES)
    graph.addVertices(
        cs,
        set_seed(),
        tiles,
        {"seed": seed.reshape([1, 2]).broadcast(TILES, 0)},
        {"seedModifierUser": 0, "seedModifierHw": tiles.astype(np.uint32)},
    )
    x, y = (graph.addVariable(FLOAT, [2], name) for name in ("x", "y"))
    for tensor in (x, y):
        poputil.mapTensorLinearly(graph, tensor)
    program.add(Copy(graph.addHostToDeviceFIFO("seed", UNSIGNED_INT, 2), seed))
    program.add(Execute(cs))
    program.add(Copy(graph.addHostToDeviceFIFO("x", FLOAT, 2), x))
    program.add(Copy(graph.addHostToDeviceFIFO("y", FLOAT, 2), y))
    total = popops.add(graph, x, y, program, "add")
    popops.scaledAddTo(graph, total, y, 0.5, program, "first")
    popops.scaledAddTo(graph, total, x, 0.25, program, "second")
    program.add(Copy(total, graph.addDeviceToHostFIFO("out", FLOAT, 2)))
    return [program]


def measure(folder: Path, target: Target) -> dict[str, int]:
    """Compile with a graph profile and counters of compute sets; every line's figure."""
    graph = Graph(target)
    programs = build(graph)
    options = OptionFlags(
        {
            "autoReport.directory": str(folder),
            "autoReport.outputGraphProfile": "true",
            "autoReport.outputLoweredVars": "true",
            "debug.instrumentCompute": "true",
        }
    )
    with Engine(graph, programs, options):
        return figures(ReportSource(folder))


def figures(source: ReportSource) -> dict[str, int]:
    """The lines of a report."""
    reader = source.reader
    counts, memory = reader.counts(), reader.tile_memory()
    assert memory is not None
    lowered = [reader.lowered_tile(tile) for tile in range(reader.target().num_tiles)]
    values = dict.fromkeys(model.CATEGORIES, 0)
    for row in reader.category_memory():
        values[row.category] += int(row.bytes.sum())
    return values | {
        "vertices": counts["num_vertices"],
        "edges": counts["num_edges"],
        "compute sets": counts["num_compute_sets"],
        "variables": sum(len(tile.bytes) for tile in lowered if tile is not None),
        "excluding gaps": int(memory.excluding_gaps.sum()),
        "including gaps": int(memory.including_gaps.sum()),
        "largest tile excluding gaps": int(memory.excluding_gaps.max()),
        "largest tile including gaps": int(memory.including_gaps.max()),
        "tiles out of memory": int((memory.overflowed > 0).sum()),
    }


def mk1() -> Target:
    """One simulated Mk1 IPU, whatever the environment variables say."""
    return overridden(Target(TargetType.IPU, MK2, num_ipus=1, compile_ipu_code=True), {TARGET: MK1.name})


def table(ours: Mapping[str, int]) -> str:
    """The section's text."""
    lines = [
        "## A TensorFlow program on Mk1",
        "",
        __doc__.split("\n\n", 1)[1].strip() if __doc__ else "",
        "",
        "| line | published | ours | deviation | the vertex list determines it |",
        "|---|---:|---:|---:|---|",
    ]
    for line in LINES:
        value = ours[line.title]
        deviation = f"{100 * (value / line.published - 1):+.1f} %" if line.published else f"{value:+,}"
        word = "yes, equal" if line.exact and value == line.published else "yes, OFF" if line.exact else "no"
        lines.append(f"| {line.title} | {line.published:,} | {value:,} | {deviation} | {word} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table. Returns exit code 1 when a line that must be exact differs. (`make validate` writes it.)"""
    with tempfile.TemporaryDirectory() as folder:
        ours = measure(Path(folder), mk1())
    print(table(ours))
    return 0 if all(ours[line.title] == line.published for line in LINES if line.exact) else 1


if __name__ == "__main__":
    sys.exit(main())
