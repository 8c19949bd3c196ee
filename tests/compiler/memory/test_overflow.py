"""A tile of Mk1 that is too full: 122,880 bytes non-interleaved, 131,072 interleaved, the rest overflows
(published-numbers 6.2: 834,339 bytes excluding gaps = 122,880 + 131,072 + 580,387)."""

import numpy as np
import pytest

from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.engine.devices.what_if import overridden
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexType
from simulator.machine.targets import MK1, MK2
from simulator.poplar import FLOAT, Graph, TargetType
from simulator.poplar.program import Execute, Sequence


@pytest.mark.parametrize(("chip", "low", "high"), [(MK1, 122_880, 131_072), (MK2, 212_992, 425_984)])
def test_regions_of_a_full_tile(chip, low, high):
    target = overridden(Target(TargetType.IPU_MODEL, MK2), {"POPVISION_TARGET": chip.name, "POPVISION_TILES": "2"})
    graph = Graph(target)
    for i in range(250):  # pieces that fill every gap: 4,000 bytes each
        piece = graph.addVariable(FLOAT, [1000], f"piece{i}")
        graph.setTileMapping(piece, 0)
        graph.createHostWrite(f"piece{i}", piece)
    executable = compile_graph(graph.store, target, [Sequence()])
    regions = {}
    for row in executable.compilation.category_memory:
        regions[row.region] = regions.get(row.region, 0) + int(row.bytes[0])
    memory = executable.compilation.tile_memory
    # A piece of 4,000 bytes that crosses a border leaves no gap above it: at most one piece is missing below.
    assert low - 4_000 <= regions["nonInterleaved"] <= low
    assert regions["nonInterleaved"] + regions["interleaved"] == pytest.approx(low + high, abs=8_000)
    assert sum(regions.values()) == memory.excluding_gaps[0]
    assert regions["overflowed"] == memory.overflowed[0] > 0
    assert f"need more than {low + high} bytes" in executable.out_of_memory


@pytest.mark.parametrize(("room", "fits"), [(0, True), (1, False)])
def test_code_ends_before_the_fetch_ahead_of_its_region(room, fits):
    """Code can lie in the first 208 KiB of Mk2, but for the last 64 bytes."""
    graph = Graph(overridden(Target(TargetType.IPU, MK2, compile_ipu_code=True), {"POPVISION_TILES": "1"}))
    x = graph.addVariable(FLOAT, [1], "x")
    graph.setTileMapping(x, 0)
    cs = graph.addComputeSet("big")

    def compiled(size):
        def costs(block, elements, target):
            return BlockCosts(np.ones(1, np.int64), "guess", "test")

        type_ = VertexType(f"Big{size}", "worker", (FieldSpec("x", "scalar", "inout", FLOAT),), costs, code_bytes=size)
        graph.store.settled_blocks.clear()
        graph.store.open_blocks.clear()
        graph.addVertices(cs, type_, [0], {"x": x.reshape([1])})
        return compile_graph(graph.store, graph.getTarget(), [Sequence(Execute(cs))])

    lowest = compiled(0).compilation
    kinds = ("controlCode", "hostExchangeCode")
    other = sum(-(-int(row.bytes.sum()) // 8) * 8 for row in lowest.category_memory if row.category in kinds)
    limit = 208 * 1024 - 64 - other
    problem = compiled(limit + 16 * room).out_of_memory
    assert ("code can only run" in problem) != fits
