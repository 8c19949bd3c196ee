"""Single vertices on tiles (published-numbers 5): library calls compiled for the model and for hardware.

Published: net hardware cycles of one vertex, and PopLibs' estimate of it. Ours come from the compiled program: the IPU
Model gives the estimate, simulated hardware adds the launch.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.validation.row import EXACT, Group, Row, cycles
from simulator.base.target import Target
from simulator.base.types import Type
from simulator.compiler.compile import compile_graph
from simulator.graph.tensor import Tensor
from simulator.machine.targets import MK2
from simulator.poplar import FLOAT, HALF, Graph, TargetType
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popops

AMP_ROWS = (16, 32, 48, 64, 96, 128, 144, 192, 256, 512, 1024, 2048)
AMP_HARDWARE = (402, 461.35, 524, 584, 716, 845.3, 908, 1100, 1352, 2381.3, 4424, 8525.3)
AMP_ESTIMATE = (353, 425, 473, 545, 665, 809, 857, 1049, 1313, 2345, 4385, 8489)
#: multiples of six for the closed forms 281 + 4 N and 332 + 4 N
SIXES = (18, 24, 48, 96, 144, 192, 600, 1536)
ADD = {10: (203, 285), 1024: (1733, 1815)}
SCALED = {64: (279, 330), 128: (369, 422), 256: (567, 620), 512: (945, 998)}
HARDWARE = cycles(16)
#: options of the measured vertex: AMP, operands not swapped, weights loaded from interleaved memory
AS_PUBLISHED = {
    "use128BitConvUnitLoad": "true",
    "planConstraints": '{"method": "AMP", "0": {"transform": {"swapOperands": false}}}',
}


def busiest(build: Callable[[Graph], Sequence], part: str, hardware: bool) -> int:
    """Cycles of the compute set whose name contains `part`, on one tile of Mk2."""
    kind = TargetType.IPU if hardware else TargetType.IPU_MODEL
    target = Target(kind, MK2, tiles_per_ipu=1)
    graph = Graph(target)
    executable = compile_graph(graph.store, target, [build(graph)])
    table, spent = executable.lowered.table, executable.lowered.cycles
    found = [
        int(column.max())
        for name, type_, column in zip(table.name, table.type, spent, strict=True)
        if type_ == "OnTileExecute" and part in name and "PreArrange" not in name and column is not None
    ]
    return found[0]


def product(rows: int) -> Callable[[Graph], Sequence]:
    """[rows, 16] x [16, 16] in half precision."""

    def build(graph: Graph) -> Sequence:
        program = Sequence()
        left, right = (variable(graph, HALF, shape) for shape in ([rows, 16], [16, 16]))
        poplin.matMul(graph, left, right, program, "product", options=AS_PUBLISHED)
        return program

    return build


def addition(count: int) -> Callable[[Graph], Sequence]:
    """c = a + b of this many floats."""

    def build(graph: Graph) -> Sequence:
        program = Sequence()
        popops.add(graph, variable(graph, FLOAT, [count]), variable(graph, FLOAT, [count]), program, "sum")
        return program

    return build


def scaled(count: int) -> Callable[[Graph], Sequence]:
    """a += 0.5 b of this many floats."""

    def build(graph: Graph) -> Sequence:
        program = Sequence()
        popops.scaledAddTo(graph, variable(graph, FLOAT, [count]), variable(graph, FLOAT, [count]), 0.5, program, "sum")
        return program

    return build


def variable(graph: Graph, dtype: Type, shape: list[int]) -> Tensor:
    """A variable on the only tile."""
    tensor = graph.addVariable(dtype, shape)
    graph.setTileMapping(tensor, 0)
    return tensor


def groups() -> list[Group]:
    """AMP, element-wise addition and scaled addition, model and hardware."""
    rows = []
    for n in SIXES:
        title, (estimate, hardware) = f"AMP 1x1 half, N = {n}", _pair(product(n), "Convolve")
        rows.append(Row(f"{title}, 281 + 4 N", 281 + 4 * n, estimate, "cycles", "5.1", EXACT))
        rows.append(Row(f"{title}, 332 + 4 N", 332 + 4 * n, hardware, "cycles", "5.1", EXACT))
    for n, measured, estimated in zip(AMP_ROWS, AMP_HARDWARE, AMP_ESTIMATE, strict=True):
        rows += _both(f"AMP 1x1 half, N = {n}", (estimated, measured), _pair(product(n), "Convolve"), "5.1")
    small = []
    for name, table, build in (("BinaryOp1D ADD float", ADD, addition), ("ScaledAdd float", SCALED, scaled)):
        for n, published in table.items():
            small += _both(f"{name}, {n} elements", published, _pair(build(n), "sum"), "5.2")
    amp = "`poplin.matMul` on one tile, constrained to the method and the operands' order that were measured."
    return [
        Group("AMP 1x1 convolution, [N, 16] x [16, 16] half on a tile", amp, rows),
        Group("Element-wise vertices on a tile", "`popops.add` and `popops.scaledAddTo` on one tile.", small),
    ]


def _pair(build: Callable[[Graph], Sequence], part: str) -> tuple[int, int]:
    return busiest(build, part, hardware=False), busiest(build, part, hardware=True)


def _both(title: str, published: tuple[float, float], ours: tuple[int, int], section: str) -> list[Row]:
    return [
        Row(f"{title}, estimate", published[0], ours[0], "cycles", section, EXACT),
        Row(f"{title}, hardware", published[1], ours[1], "cycles", section, HARDWARE),
    ]
