"""Published stencil programs that read halos from their neighbours, and a solver without exchange, on Mk2 hardware.

Sources, none of which the collection of published figures has:

- H: S. K. Håpnes, "General Scientific Computing Workloads on the IPU", master's thesis, University of Oslo 2021, and
  its repository github.com/simehaa/IPU (README: times of 1,000 steps; assembly of an inner loop), Poplar 2.2.
- K: T. Ko, "Exploiting Graphcore IPU for Finite Stencil Computation", Imperial College London 2023,
  github.com/TszwangKo/FYP_IPU_DEVITO (README, IPU/HeatEquation3D/3D_test.log,
  IPU/DiffusionEquation3D_SO4/BenchMarks/Optimised_1ipus_340.txt), Poplar 3.2.
- T: graphcore-research/tessellate-ipu, pull request 45 (cycles of 1,472 tridiagonal systems).

The programs compute a block a tile, so a step lasts as long on 3 x 3 x 3 tiles, where the middle one has all its
neighbours, as on 1,472: that is what runs here, with the published blocks. The vertices are ours, written from the
sources' descriptions.
"""

from __future__ import annotations

from collections.abc import Sequence as Sizes
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.validation.row import REPORTED, Group, Row
from simulator.machine.targets import MK2
from simulator.poplar import FLOAT, Device, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Execute, Program, Repeat, Sequence

SOURCE = Path(__file__).with_suffix(".cpp")
#: tiles along each dimension
SIDE = 3
ALPHA = 0.1
TIME_STEP = 0.01
#: order of the systems, and how many there are
ORDER = 1472
#: microseconds of a step -> tile cycles
PER_MICROSECOND = MK2.clock_hz / 1e6
#: points of a mesh / points a second, in cycles
_POINTS_340 = 340**3 / 36.01e9 * MK2.clock_hz
_POINTS_342 = 342**3 / 36.497e9 * MK2.clock_hz


def groups() -> list[Group]:
    """Cycles of a step of each program."""
    small, large, simple = (_step(*program) for program in (
        ("Heat3DPairs", (14, 40, 40), 1), ("Heat3DPairs", (16, 45, 45), 1), ("Heat3D", (16, 45, 45), 1)
    ))  # fmt: skip
    plane = _step("Heat2DPairs", (174, 250), 1)
    tissue = _step("AlievPanfilov", (152, 219), 1)
    rows = [
        _row("3D heat, 320^3, pairs: 19.31 s for 100,000 steps", 193.1 * PER_MICROSECOND, small, "K"),
        _row("3D heat, 360^3, pairs: 0.26 s for 1,000 steps", 260 * PER_MICROSECOND, large, "H, K"),
        _row("3D heat, 360^3, simple: 0.43 s for 1,000 steps", 430 * PER_MICROSECOND, simple, "H"),
        _row("3D heat, 360^3, simple, newer compiler: 0.36 s", 360 * PER_MICROSECOND, simple, "K"),
        _row("2D heat, 8,000^2, pairs: 0.30 s for 1,000 steps", 300 * PER_MICROSECOND, plane, "H"),
        _row(
            "3D diffusion, 4th order, 340^3: 36.01 G points/s", _POINTS_340, _step("Diffusion3D4", (15, 42, 42), 2), "K"
        ),
        _row(
            "3D diffusion, 4th order, 342^3: 36.50 G points/s", _POINTS_342, _step("Diffusion3D4", (15, 43, 43), 2), "K"
        ),
        Row("2D heat, two points of the inner loop of popc", 13, _pair(), "issue slots", "H", REPORTED),
        _row("Aliev-Panfilov model, 7,000^2: 1.09 s for 1,000 steps", 1090 * PER_MICROSECOND, tissue, "H"),
        _row("1,472 tridiagonal systems of order 1,472", 176_743, _thomas(), "T"),
    ]
    about = (
        "Not used for any constant: how far the simulator is from programs that nobody tuned it to. A step exchanges "
        "halos, gathers rows with their halo for six vertices a tile, and computes. Sources: H = Håpnes 2021, K = Ko "
        "2023, T = tessellate-ipu, as in `benchmarks/validation/stencils.py`; times are wall clock over many steps, at "
        "1.33 GHz, rounded by the sources to 0.01 s (up to 2 %). Ours are a step on 3 x 3 x 3 tiles (planes: 3 x 3) "
        "with the published block of a tile; the systems are one a tile. The vertices' cycles are counted from our own "
        "C++ and are 92 % (3D, pairs) to 96 % (diffusion) of a step, the rest is gathering and exchange: the larger "
        "deviations are theirs, for the inner loop alone takes 16 slots where the published assembly has 13."
    )
    return [Group("Stencils with halos, and tridiagonal systems", about, rows)]


def _row(quantity: str, published: float, ours: float, source: str) -> Row:
    return Row(quantity, round(published), ours, "cycles", source, REPORTED)


def _device(tiles: int) -> IPUModel:
    model = IPUModel("ipu2")
    model.tilesPerIPU = tiles
    return model


class Stencil(NamedTuple):
    """A graph with two meshes a and b, and a program of two steps: from b to a, and back."""

    graph: Graph
    device: Device
    a: Tensor
    b: Tensor
    two_steps: Sequence


def build(vertex: str, block: Sizes[int], halo: int) -> Stencil:
    """`block` points a tile on SIDE tiles along each dimension, and `halo` fixed points around them all."""
    device = _device(SIDE ** len(block)).createDevice()
    graph = Graph(device)
    graph.addCodelets(SOURCE)
    shape = [SIDE * size + 2 * halo for size in block]
    a, b, recovery = (graph.addVariable(FLOAT, shape, name) for name in ("a", "b", "recovery"))
    for tensor in (a, b, recovery):
        for tile, place in enumerate(product(range(SIDE), repeat=len(block))):
            low = [at * size + (halo if at else 0) for at, size in zip(place, block, strict=True)]
            high = [
                (at + 1) * size + (2 * halo if at == SIDE - 1 else halo) for at, size in zip(place, block, strict=True)
            ]
            graph.setTileMapping(tensor.slice(low, high), tile)
    state = recovery if vertex == "AlievPanfilov" else None
    steps = [_execute(graph, vertex, block, halo, source, target, state) for source, target in ((b, a), (a, b))]
    return Stencil(graph, device, a, b, Sequence(*steps))


def _step(vertex: str, block: Sizes[int], halo: int) -> int:
    """Cycles of a step: the difference of three trips and one, two steps a trip, over four."""
    stencil = build(vertex, block, halo)
    trips = [Repeat(1, stencil.two_steps), Repeat(3, stencil.two_steps)]
    one, three = _cycles(stencil.graph, stencil.device, trips)
    return (three - one) // 4


def _execute(
    graph: Graph, vertex: str, block: Sizes[int], halo: int, source: Tensor, target: Tensor, state: Tensor | None
) -> Program:
    """A compute set with six vertices a tile: blocks of three dimensions are split in two by three, planes in six.
    `state` is a mesh that a vertex changes in place."""
    compute_set = graph.addComputeSet(vertex)
    parts = (2, 3, 1) if len(block) == 3 else (6, 1)
    names = ("height", "width", "depth")[: len(block)]
    for tile, place in enumerate(product(range(SIDE), repeat=len(block))):
        start = [at * size + halo for at, size in zip(place, block, strict=True)]
        for part in product(*(_ranges(size, count) for size, count in zip(block, parts, strict=True))):
            low = [s + begin for s, (begin, _) in zip(start, part, strict=True)]
            high = [s + end for s, (_, end) in zip(start, part, strict=True)]
            beyond = [i - halo for i in low], [i + halo for i in high]
            rows = len(block) - 1
            v = graph.addVertex(compute_set, vertex)
            graph.connect(v["in"], source.slice(*beyond).flatten(0, rows))
            graph.connect(v["out"], target.slice(low, high).flatten(0, rows))
            if state is not None:
                graph.connect(v["recovery"], state.slice(low, high).flatten(0, rows))
                graph.setInitialValue(v["step"], TIME_STEP)
            for name, size in zip(names, (end - begin for begin, end in part), strict=True):
                graph.setInitialValue(v[name], size)
            graph.setInitialValue(v["alpha"], ALPHA)
            graph.setTileMapping(v, tile)
    return Execute(compute_set)


def _ranges(size: int, count: int) -> list[tuple[int, int]]:
    return list(pairwise(size * i // count for i in range(count + 1)))


def _cycles(graph: Graph, device: Device, programs: Sizes[Program]) -> list[int]:
    """Device cycles of a run of each program."""
    with Engine(graph, programs) as engine:
        engine.load(device)
        found = []
        for index in range(len(programs)):
            before = engine.getTimeStamp().device_cycles
            engine.run(index)
            found.append(engine.getTimeStamp().device_cycles - before)
    return found


def _pair() -> float:
    """Issue slots of two more points of a row in Heat2DPairs."""
    graph = Graph(_device(1).createDevice())
    graph.addCodelets(SOURCE)

    def slots(width: int) -> int:
        v = graph.addVertex(graph.addComputeSet("cs"), "Heat2DPairs")
        graph.connect(v["in"], graph.addVariable(FLOAT, [3, width + 2], "in"))
        graph.connect(v["out"], graph.addVariable(FLOAT, [1, width], "out"))
        for name, value in (("height", 1), ("width", width), ("alpha", ALPHA)):
            graph.setInitialValue(v[name], value)
        return graph.guessPerfEstimate(v).cycles

    return (slots(401) - slots(201)) / 100


def _thomas() -> int:
    """Cycles of a run with a system a tile."""
    tiles = 4  # all compute the same
    device = _device(tiles).createDevice()
    graph = Graph(device)
    graph.addCodelets(SOURCE)
    compute_set = graph.addComputeSet("thomas")
    for tile in range(tiles):
        v = graph.addVertex(compute_set, "Thomas")
        for name in ("diagonal", "beside", "right", "scratch", "solution"):
            field = graph.addVariable(FLOAT, [ORDER], f"{name}{tile}")
            graph.setTileMapping(field, tile)
            if name == "diagonal":
                graph.setInitialValue(field, np.full(ORDER, 4, np.float32))
            graph.connect(v[name], field)
        graph.setTileMapping(v, tile)
    (cycles,) = _cycles(graph, device, [Execute(compute_set)])
    return cycles
