"""Compiled C++ codelets (published-numbers 2, 4, 5.3): cycles from counted basic blocks beside hardware measurements.

The counts guess the output of a compiler for tiles: see docs/vertex-costs.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.validation.row import REPORTED, Group, Row, percent
from simulator.base.types import Type
from simulator.machine.counters import PAIR_CYCLES
from simulator.machine.cycles.rounding import WORKERS
from simulator.machine.launch import CYCLES as LAUNCH
from simulator.machine.targets import MK1, MK2
from simulator.poplar import FLOAT, HALF, Graph, IPUModel

SOURCE = Path(__file__).with_name("codelets.cpp")
TUTORIAL6 = Path(__file__).parents[2] / "examples" / "matrix_mul_codelets.cpp"
#: the STREAM figures, in GB/s, of one first-generation IPU with all tiles and workers busy
STREAM = {"float": 3726, "half": 1488}
#: those of optimised versions, by the vector that an instruction computes
VECTOR_STREAM = {"float2": 7261, "half4": 7490}
#: floating-point operations a cycle that a tile's six workers do in products of a 4 x 4 matrix and vectors, each of 28
TRANSFORMS = {"Transform": 0.68, "TransformPairs": 1.03}
TRANSFORM_FLOPS = 28
#: tile cycles of a trip of an integration of pi by one worker of each tile of Bow
PI_TRIP = 90
#: bytes of one element of all three arrays
MOVED = {"float": 12, "half": 6}
LONG, SHORT = 6000, 600
CLOSE = percent(10)


def groups() -> list[Group]:
    """Triad, a loop with a volatile counter, and a blur."""
    graph = Graph(_device().getTarget())
    graph.addCodelets(SOURCE)
    rows: list[Row] = []
    for name, type_ in (("float", FLOAT), ("half", HALF)):
        slots = _per_element(lambda n, name=name, type_=type_: _triad(graph, name, type_, n))
        # Each of six workers issues one slot in six cycles, so a tile computes 1 / slots elements a cycle.
        rate = MK1.tiles * MK1.clock_hz * MOVED[name] / slots / 1e9
        published = STREAM[name]
        per_element = MK1.tiles * MK1.clock_hz * MOVED[name] / (published * 1e9)
        bound = CLOSE
        rows.append(Row(f"naive triad, {name}: issue slots an element", per_element, slots, "", "2", bound))
        rows.append(Row(f"naive triad, {name}, all tiles of Mk1", published, rate, "GB/s", "2", bound))
    rows += [_vector_triad(graph, "float2", FLOAT), _vector_triad(graph, "half4", HALF)]
    pi = WORKERS * _per_element(lambda n: _pi(graph, n))
    rows.append(Row("trip of an integration of pi", PI_TRIP, pi, "cycles", "**", CLOSE))
    for type_name, published in TRANSFORMS.items():
        cycles = _per_element(lambda n, name=type_name: _transform(graph, name, n))
        what = "pairs of floats" if type_name == "TransformPairs" else "floats"
        quantity = f"4 x 4 products, {what}: operations a cycle of a tile"
        rows.append(Row(quantity, published, WORKERS * TRANSFORM_FLOPS / cycles, "", "***", CLOSE))
    trip = _per_element(lambda n: _loop(graph, n))
    rows.append(Row("trip of a loop with a volatile counter", 36.5, trip, "cycles", "5.3", CLOSE))
    rows.append(Row("vertex with 100 such trips", 3625, _loop(graph, 100), "cycles", "5.3", CLOSE))
    # 11 operations an element; 88 % of the ceiling of 2.00 TFLOP/s while computing.
    blur = _per_element(lambda n: _blur(graph, n))
    rate = MK1.tiles * MK1.clock_hz * 11 / blur / 1e12
    rows.append(Row("Gaussian blur, float, while computing, all tiles of Mk1", 1.76, rate, "TFLOP/s", "4", percent(15)))
    rows.append(Row("Gaussian blur, float: ceiling of its source", 2.00, rate, "TFLOP/s", "4", REPORTED))
    rows.append(Row("matrix times vector, tutorial 6: compute of a tile", 28_300.3, _tutorial6(), "cycles", "*", CLOSE))
    about = (
        "The codelets (`benchmarks/validation/codelets.cpp`) run with counters in their basic blocks; the counts are "
        "multiplied by the instruction table, which was not fitted to these figures. The triads' published slots come "
        "from their throughput, which includes launch and sync. The published triads of vectors are the optimised "
        "versions. "
        "The blur's source is not public: ours does its 11 "
        "operations for 40 bytes. The matrix of tutorial 6 is [10000, 1000] of floats on Mk2 hardware; its README "
        "prints 28,300.3 tile average compute cycles (*). Ours are the products and sums of "
        "`examples/matrix_mul_codelets.cpp` without their estimates, 8 products and 2 or 1 sums a worker, and two "
        "launches with "
        "their counters. Pi is integrated by one worker of each tile of Bow; the public README prints 262,599,924 "
        "cycles for 2,917,776 trips (**). The public sources of the 4 x 4 products say what they do, in C++ and with "
        "pairs of floats (***)."
    )
    return [Group("Compiled C++ codelets", about, rows)]


def _device() -> Any:
    model = IPUModel("ipu1")
    model.tilesPerIPU = 1
    return model.createDevice()


def _per_element(cycles: Any) -> float:
    """The slope between two sizes."""
    return float(cycles(LONG) - cycles(SHORT)) / (LONG - SHORT)


def _cycles(graph: Graph, type_: str, fields: dict[str, Any]) -> int:
    return graph.guessPerfEstimate(graph.addVertex(graph.addComputeSet("cs"), type_, fields)).cycles


def _tutorial6() -> float:
    """Cycles that a tile of 1,472 computes on average: products of 143 elements in eight rounds of six workers, sums of
    7 in two rounds, or in one on the tiles that have six, each after a launch."""
    graph = Graph(_device().getTarget())
    graph.addCodelets(TUTORIAL6)
    part = {name: graph.addVariable(FLOAT, [143], name) for name in "ab"}
    out = graph.addVariable(FLOAT, [], "out")
    product = _cycles(graph, "DotProductVertex", {**part, "out": out})
    sum_ = _cycles(graph, "ReduceVertex", {"in": graph.addVariable(FLOAT, [7], "in"), "out": out})
    rounds = 1 + (10_000 - 6 * MK2.tiles) / MK2.tiles
    return WORKERS * (8 * product + rounds * sum_) + 2 * (LAUNCH["worker"] + PAIR_CYCLES)


def _vector_triad(graph: Graph, vector: str, type_: Type) -> Row:
    """The row of a triad with vector instructions."""
    name = vector[:-1]
    slots = _per_element(lambda n: _triad(graph, name, type_, n, f"VectorTriad<{vector}>"))
    rate = MK1.tiles * MK1.clock_hz * MOVED[name] / slots / 1e9
    return Row(f"triad of {vector}, all tiles of Mk1", VECTOR_STREAM[vector], rate, "GB/s", "2", CLOSE)


def _triad(graph: Graph, name: str, type_: Type, n: int, vertex: str = "") -> int:
    arrays = {field: graph.addVariable(type_, [n], field) for field in "abc"}
    return _cycles(graph, vertex or f"Triad<{name}>", {**arrays, "q": 3.0})


def _pi(graph: Graph, n: int) -> int:
    return _cycles(graph, "Pi", {"out": graph.addVariable(FLOAT, [1], "out"), "n": n, "slice": 1e-3})


def _transform(graph: Graph, name: str, n: int) -> int:
    """`n` vectors for each worker."""
    vectors = graph.addVariable(FLOAT, [4 * WORKERS * n], "vectors")
    return _cycles(graph, name, {"matrix": graph.addVariable(FLOAT, [16], "matrix"), "vectors": vectors})


def _loop(graph: Graph, n: int) -> int:
    return _cycles(graph, f"VolatileLoop<{n}>", {})


def _blur(graph: Graph, n: int) -> int:
    fields = {name: graph.addVariable(FLOAT, [n + 8], name) for name in ("above", "here", "below")}
    return _cycles(graph, "Blur", {**fields, "out": graph.addVariable(FLOAT, [n], "out")})
