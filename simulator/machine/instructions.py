"""Issue slots of the operations of code without a published estimate: one table for Python and compiled codelets.

A worker issues one instruction (or a bundle) every six tile cycles and everything completes within them (poplar-model
5.1), so a simple instruction is one slot, a thread cycle:

- a loop trip 1, the branch back (brnzdec counts down as it branches). The published volatile loop (published-numbers
  5.3: load, addition, store, load, comparison, branch) then takes 36 tile cycles a trip, 36.5 on hardware, and a naive
  triad in C++ (2 loads, 1 store, 2 operations) 6 slots an element; its throughput comes to 6.3 (2), with the
  launch of its vertices and syncs;
- a loop trip whose last operation is an addition or multiplication of floats 0: a worker issues it in one bundle with
  the branch, as the tests of the public LLVM back end have it ({br; f32v2add}), and assembly of popc bundles float
  operations with loads (benchmarks/validation/stencils.py). A dot product of floats then takes 4 slots an element, as
  the published tutorial 6 does; the triads end a trip with a store, which the branch cannot join;
- storing a half or a byte 3: tiles store 32 or 64 bits (store_postinc of ipu_memory_intrinsics has no single half), so
  a compiler loads the word, puts the element into it and stores it. The triad on halves then takes 8 slots, 7.8 (2);
- functions as the estimators of element-wise vertices have them, for one float (7.1): exponential 6 cycles for two,
  logarithm and tanh 12, square root and division 10, sine 2,300 for one, and so on.

Figures made from it are guesses: the code that a compiler makes of a codelet is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: two operations that are issued together: a slot less
IN_BUNDLE = "in a bundle"
#: what a trip of a loop is issued with
BESIDE_BRANCH = ("float add", "float multiply")
#: Of assembly: an instruction, a bundle of two, a slot beyond the first, a floating-point operation in one of them.
INSTRUCTION, BUNDLE = "instruction", "bundle"
FURTHER_SLOT, BUNDLED_FLOP = "further slot", "float operation"

#: issue slots of each operation
SLOTS: dict[str, float] = {
    "load": 1.0,
    "store": 1.0,
    "store half": 3.0,
    "trip": 1.0,
    IN_BUNDLE: -1.0,
    "branch": 1.0,
    "integer": 1.0,
    "integer multiply": 1.0,
    "integer division": 277.0,
    "integer remainder": 292.0,
    "float add": 1.0,
    "float multiply": 1.0,
    "float compare": 1.0,
    "convert": 1.0,
    "division": 5.0,
    "inverse": 3.0,
    "square root": 5.0,
    "inverse square root": 4.0,
    "exponential": 3.0,
    "logarithm": 6.0,
    "hyperbolic tangent": 6.0,
    "sine": 2300.0,
    "tangent": 5100.0,
    "arc sine": 106.0,
    "arc tangent of two": 136.0,
    "power": 312.0,
    "remainder": 66.5,
    "rounding": 1.0,
    INSTRUCTION: 1.0,
    BUNDLE: 1.0,
    FURTHER_SLOT: 1.0,
    BUNDLED_FLOP: 0.0,
}
#: Parts of an issue slot in which running codelets count: all numbers of `SLOTS` are whole in them.
PARTS = 2
#: floating point operations of each, by the convention of `simulator.machine.flops`
FLOPS: dict[str, int] = {
    **dict.fromkeys(("float add", "float multiply", "float compare", "division", "inverse", "square root"), 1),
    **dict.fromkeys(("inverse square root", "exponential", "logarithm", "hyperbolic tangent", "sine", "tangent"), 1),
    **dict.fromkeys(("arc sine", "arc tangent of two", "power", "rounding", "convert"), 1),
    "remainder": 3,
    BUNDLED_FLOP: 1,
}


#: Instructions of the operations that are not one: a half is stored by a load, a put into the word and a store. Tiles
#: have an instruction for division, roots, exponential, logarithm and tanh, and call a function for the others of
#: `CALLS`, whose own code is not known.
INSTRUCTIONS: dict[str, int] = {"store half": 3, BUNDLE: 2, FURTHER_SLOT: 0, BUNDLED_FLOP: 0, IN_BUNDLE: 0}
CALLS = (
    "integer division",
    "integer remainder",
    "sine",
    "tangent",
    "arc sine",
    "arc tangent of two",
    "power",
    "remainder",
)


def parts_of_slots(operations: Mapping[str, int]) -> int:
    """The issue slots of operations, in parts."""
    return round(PARTS * math.fsum(SLOTS[operation] * times for operation, times in operations.items()))


class OperationCounts:
    """Counts of the operations of the table, for all code that is counted instead of estimated.

    A Python codelet adds what its arrays do (`add`); a compiled one adds, for every basic block, the operations of the
    block times the times it ran (`add_block`)."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, operation: str, times: int = 1) -> None:
        """Count an operation; one that the table does not hold raises KeyError."""
        if operation not in SLOTS:
            raise KeyError(f"'{operation}' is not in the instruction table; its operations are {', '.join(SLOTS)}")
        if times:
            self.counts[operation] = self.counts.get(operation, 0) + times

    def add_block(self, operations: Mapping[str, int], times: int) -> None:
        """Count a basic block that ran `times` times."""
        for operation, number in operations.items():
            self.add(operation, number * times)

    def slots(self) -> float:
        """Issue slots of one worker."""
        return math.fsum(SLOTS[operation] * times for operation, times in self.counts.items())

    def instructions(self) -> int:
        """Instructions, each counted operation once; two for a bundle of two."""
        return sum(INSTRUCTIONS.get(operation, 1) * times for operation, times in self.counts.items())

    def flops(self) -> int:
        """Floating point operations."""
        return sum(FLOPS.get(operation, 0) * times for operation, times in self.counts.items())

    def text(self) -> str:
        """ "12 load, 6 store, ...", in the order of the table."""
        return ", ".join(f"{self.counts[name]:,} {name}" for name in SLOTS if name in self.counts)
