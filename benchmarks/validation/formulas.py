"""Cycle formulas of published-numbers 7, written out again by hand, beside the cycles of compiled library calls.

Each row is one library call on one tile of the Mk2 IPU Model: L = ceil(n / u) * cpl for the ceil(N / 6) elements of a
worker, and the prologues of 7.1 to 7.4.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from benchmarks.validation.one_tile import busiest, variable
from benchmarks.validation.row import EXACT, Group, Row
from simulator.base.types import Type
from simulator.poplar import FLOAT, HALF, INT, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import elementwise

SIZES = (60, 1000)
NAMES = {"float": FLOAT, "half": HALF, "int": INT}
WIDTH = {"float": 2, "half": 4}
#: 7.1, element-wise operations of two tensors: (cycles, elements) of a loop; V = one vector
BINARY = {
    "DIVIDE": {"float": (10, 2), "half": (21, 4), "int": (277, 1)},
    "MAXIMUM": {"float": (3, 2), "half": (4, 4), "int": (7, 1)},
    "POWER": {"float": (312, 1), "half": (325, 1)},
    "REMAINDER": {"float": (133, 2), "half": (300, 4), "int": (292, 1)},
}
#: the same for operations of one tensor
UNARY = {
    "NEGATE": {"float": (2, 2), "half": (2, 4)},
    "SQRT": {"float": (10, 2), "half": (23, 4)},
    "EXPONENT": {"float": (6, 2), "half": (4, 4)},
    "LOGARITHM": {"float": (12, 2), "half": (4, 4)},
    "TANH": {"float": (12, 2), "half": (4, 4)},
    "SIGMOID": {"float": (12, 2), "half": (6, 4)},
    "INVERSE": {"float": (6, 2), "half": (15, 4)},
}


def groups() -> list[Group]:
    """Element-wise operations, additions, casts and sums."""
    rows = [row for size in SIZES for row in (*_binary(size), *_unary(size), *_casts(size))]
    rows += _sums()
    return [Group("Formulas of vertices", (__doc__ or "").split("\n\n", 1)[1].strip(), rows)]


def _row(title: str, expected: int, build: Callable[[Graph], Sequence]) -> Row:
    return Row(title, expected, busiest(build, "", hardware=False), "cycles", "7.1 to 7.4", EXACT)


def _binary(size: int) -> list[Row]:
    rows, share = [], ceil(size / 6)
    for dtype in ("float", "half"):
        start = 29 if dtype == "float" else 26
        for in_place, prologue in ((False, start), (True, 58)):
            loop = ceil(share / WIDTH[dtype]) * (1 + 2)
            title = f"ADD {dtype}{' in place' if in_place else ''}, {size} elements"
            rows.append(_row(title, 6 * (prologue + loop) + 11, _call_binary("ADD", dtype, size, in_place)))
    for op, rates in BINARY.items():
        for dtype, (cycles, elements) in rates.items():
            start = 29 if dtype == "float" else 26
            expected = 6 * (start + ceil(share / elements) * cycles) + 11
            rows.append(_row(f"{op} {dtype}, {size} elements", expected, _call_binary(op, dtype, size, False)))
    return rows


def _unary(size: int) -> list[Row]:
    rows, share = [], ceil(size / 6)
    for op, rates in UNARY.items():
        for dtype, (cycles, elements) in rates.items():
            expected = 6 * ((33 if op == "EXPONENT" else 17) + ceil(share / elements) * cycles) + 20
            rows.append(_row(f"{op} {dtype}, {size} elements", expected, _call_unary(op, dtype, size)))
    return rows


def _casts(size: int) -> list[Row]:
    """12 + 6 (core + 18): 19 + 2 cycles for each 4 elements to half, 1 for each 2 to float, and a remainder for each
    bit of the rest (1, and 2 more where it is set)."""
    share, rows = ceil(size / 6), []
    for source, target, width, cycles in (("float", "half", 4, 2), ("half", "float", 2, 1)):
        core = 19 + cycles * (share // width)
        for bit in range(width.bit_length() - 1):
            core += 1 + (2 if share % width >> bit & 1 else 0)
        rows.append(
            _row(f"cast {source} to {target}, {size} elements", 12 + 6 * (core + 18), _cast(source, target, size))
        )
    return rows


def _sums() -> list[Row]:
    """A scalar of p elements in one region: 17 + cpl p / a + p mod a, a = 4 floats, cpl = 2; one worker of six, in one
    stage below 16 elements."""
    return [_row(f"sum of {size} floats", 6 * (17 + 2 * size // 4 + size % 4), _sum(size)) for size in (4, 12, 14)]


def _call_binary(op: str, dtype: str, size: int, in_place: bool) -> Callable[[Graph], Sequence]:
    def build(graph: Graph) -> Sequence:
        program, type_ = Sequence(), NAMES[dtype]
        left, right = variable(graph, type_, [size]), variable(graph, type_, [size])
        elementwise.binary(graph, op, left, right, program, "call", in_place)
        return program

    return build


def _call_unary(op: str, dtype: str, size: int) -> Callable[[Graph], Sequence]:
    def build(graph: Graph) -> Sequence:
        program = Sequence()
        elementwise.unary(graph, op, variable(graph, NAMES[dtype], [size]), program, "call", False)
        return program

    return build


def _cast(source: str, target: str, size: int) -> Callable[[Graph], Sequence]:
    def build(graph: Graph) -> Sequence:
        program = Sequence()
        type_: Type = NAMES[target]
        popops.cast(graph, variable(graph, NAMES[source], [size]), type_, program, "call")
        return program

    return build


def _sum(size: int) -> Callable[[Graph], Sequence]:
    def build(graph: Graph) -> Sequence:
        program = Sequence()
        popops.reduce(
            graph, variable(graph, FLOAT, [size]), [0], popops.ReduceParams(popops.Operation.ADD), program, "call"
        )
        return program

    return build
