"""Code bytes of PopLibs' vertex types, from what they do: four bytes an instruction.

Published are totals only (published-numbers 6.2: TF adder, 170,788 B: 140 B on each of 1,216 tiles, for SetSeed, and
548 B for a BinaryOp1D and a ScaledAdd). PopLibs' assembly is public, and so are the constants of its cycle estimators,
each of which stands for an instruction issued once: a supervisor alone issues one a cycle, a worker one a thread cycle.

- `COUNTED`: instructions counted in public PopLibs assembly, of the sections that one type links: both paths of
  branches, loops once, two for a bundle. ScaledAdd 73 and BinaryOp1D 71 are 576 B, 548 are published (+ 5 %).
- `ESTIMATED`: the sum of the published estimator's constants (published-numbers 7), every loop once. Paths that the
  estimator does not take are missing: the same sum for ConvPartial1x1Out is 168, counted are 193.
- Element-wise operators: the counted frame and loops of BinaryOp1D's addition, which takes one cycle a pass; another
  operator has an instruction more in each of the two loops for each cycle more of its published rate.

Code that types share on a tile (BinaryOp1D and BroadcastScalar1D of one type) counts for each.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.cycles.rates import BINARY, UNARY
from simulator.machine.footprint import VERTEX_CODE_GUESS


class VertexCode(NamedTuple):
    """Bytes of code of a vertex type on a tile that holds it, with class and source."""

    bytes: int
    source: str


_PUBLIC = "fitted: instructions counted in public PopLibs assembly,"

#: Instructions by the beginning of the name: counted in public PopLibs assembly (of one combination of types, which
#: stands for all), poprand::SetSeed as published.
COUNTED = {
    "poprand::SetSeed": (35, "exact: 140 B on each tile (published-numbers 6.2); public assembly has 21 of 35"),
    "popops::ScaledAdd": (73, f"{_PUBLIC} ScaledAddSupervisor_float.S"),
    "popops::ScaledSubtract": (73, f"{_PUBLIC} ScaledAddSupervisor_float.S"),
    "poplin::ConvPartial1x1Out": (193, f"{_PUBLIC} conv_partial_1x1_half_float.S"),
    "poplin::ReduceAdd": (132, f"{_PUBLIC} ReduceAdd.S"),
    "poplin::Transpose2D": (86, f"{_PUBLIC} Transpose2d.S"),
    "popops::Fill": (47, f"{_PUBLIC} Fill.S"),
    "poplar_rt::GetHwSeeds": (15, f"{_PUBLIC} Seeds.S"),
    "poplar_rt::SetHwSeeds": (15, f"{_PUBLIC} Seeds.S"),
}

#: Sums of the published estimators' constants (published-numbers 7.2 to 7.6), supervisor and worker, every loop once.
ESTIMATED = {
    "popops::ScaledAdd2D": 10 + 15 + 5 + 3 + 7,
    "popops::aXPlusbY": 6 + 10 + 14 + 28 + 16 + 5,
    "popops::Cast": 12 + 18 + 19 + 16,
    "popops::DynamicSlice": 25 + 39 + 24 + 2 + 72,
    "popops::DynamicUpdateSlice": 25 + 39 + 24 + 2 + 72,
    "popops::MultiSlice": 30 + 19 + 2 + 8 + 20,
    "popops::MultiUpdate": 29 + 19 + 2 + 8 + 20,
    "popops::EncodeOneHot": 11 + 74,
    "popops::ForLoopCounter": 43,
    "popops::CircBufIncrIndex": 8,
    "popops::CheckAccuracyWhenCast": 30,
    "popops::Select": 5 + 6 + 5,
    "popops::Clamp": 5 + 6 + 2,
    "popops::BroadcastSelect": 10 + 8 + 4,
    "popops::BroadcastVectorInner": 13 + 6 + 18 + 17 + 17 + 15 + 15,
    "popops::BroadcastVectorOuter": 11 + 15 + 25 + 7 + 2,
    "popops::HeapSort": 19 + 6 + 2 + 13,
    "popops::Reduce": 33 + 24 + 6 + 10 + 7 + 22 + 24,
    "popops::ContinuousReduce": 17 + 12 + 2,
    "popops::StridedReduce": 5 + 11 + 3 + 8 + 3,
    "poplin::ConvPartialnx1": 109 + 17 + 6 + 1 + 6 + 1 + 16 + 14 + 14 + 14 + 12 + 15 + 16 + 9 + 9 + 17 + 45,
    "poplin::ConvPartialHorizontalMac": 65 + 23 + 15 + 10 + 10 + 15 + 16 + 19 + 7 + 9,
    "poplin::ConvPartialVerticalMac": 61 + 14 + 26 + 4 + 32 + 24 + 10 + 7 + 5 + 25 + 7 + 15 + 3 + 3,
    "popnn::NonLinearity": 9 + 20 + 2 + 5 + 10 + 1 + 5 + 4,
    "popnn::Loss": 20 + 1 + 9 + 10,
    "popnn::MaxPooling": 7 + 6 + 13 + 20 + 4 + 3,
    "popnn::SumPooling": 7 + 6 + 13 + 20 + 5 + 3,
    "popnn::SelectiveScaling": 7 + 6 + 13 + 20 + 5 + 3,
    "poplar_rt::LocalCopy": 60,
}

#: Of BinaryOp1D on floats, counted in public PopLibs assembly (binarySupervisorOps.S): entry 7, state 5, division of
#: work 16, framework 17; its addition: a loop for operands in one memory element 13, the fast loop 10, the last element
#: 3.
FRAME = 7 + 5 + 16 + 17
LOOPS_OF_ADDITION = 13 + 10 + 3
#: For each cycle of a published rate beyond one: an instruction in each of the two loops.
PER_CYCLE = 2
_ELEMENTWISE = ("popops::BinaryOp", "popops::UnaryOp", "popops::BroadcastScalar")


def vertex_code(name: str) -> VertexCode:
    """The code of a vertex type of this name: that of the longest beginning of it that is known."""
    base, _, arguments = name.partition("<")
    if base.startswith(_ELEMENTWISE):
        return _elementwise(arguments)
    found = max((key for key in (*COUNTED, *ESTIMATED) if base.startswith(key)), key=len, default="")
    if found in COUNTED:
        count, source = COUNTED[found]
        return VertexCode(count * INSTRUCTION_BYTES, source)
    if found:
        source = "guess: the constants of its published estimator, an instruction each (published-numbers 7)"
        return VertexCode(ESTIMATED[found] * INSTRUCTION_BYTES, source)
    return unknown_code("a type of no known code")


def unknown_code(reason: str) -> VertexCode:
    """The figure of a vertex type whose code nothing tells."""
    return VertexCode(VERTEX_CODE_GUESS, f"guess: {reason} (published-numbers 6.2: 140 to 292 B)")


def _elementwise(arguments: str) -> VertexCode:
    """An operator by its published rate; `arguments` such as "popops::expr::BinaryOpType::ADD,float>"."""
    operator, _, type_ = arguments.rstrip(">").rpartition("::")[2].partition(",")
    rates = BINARY.get(operator) or UNARY.get(operator) or {}
    rate = rates.get(type_)
    most = 2 * VERTEX_CODE_GUESS // INSTRUCTION_BYTES  # slower ones loop in a function, of no known size
    more = 0 if rate is None else min(PER_CYCLE * (rate.cycles - 1), most)
    source = "guess: frame of BinaryOp1D counted in public PopLibs assembly, loops by the published rate"
    return VertexCode((FRAME + LOOPS_OF_ADDITION + max(more, 0)) * INSTRUCTION_BYTES, source)
