"""Codelets that read the tile's cycle counter (`__builtin_ipu_get_scount_l`, `_u`).

Only a program for hardware may: an IPU Model has estimates alone, and its compiler refuses the calls by name. A program
in which a unit reads the counter runs with counters in its basic blocks, as one that is counted for its costs. The
counter is then the tile cycle at which the vertex begins (as the report's worker lanes have it, from the begin of the
compute set), entering it, and the cycles of the blocks that ran since, up to the call. What a call sees is thus the
model's figure: a difference of two calls is what stands between them, priced by the instruction table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import link_error
from simulator.codelets.compiled.counted_costs import counted_object, is_translated
from simulator.codelets.compiled.linking import Program, linked
from simulator.codelets.compiled.source import Preprocessed
from simulator.codelets.count_run import ENTRY
from simulator.machine.cycles.rounding import WORKERS

#: As ipu_builtins.h refuses the calls.
_REFUSED = re.compile(r'__attribute__\(\(error\("only simulated hardware has a cycle counter[^"]*"\)\)\)')
_CALL = re.compile(r"\bpopvision_ipu_get_scount_[lu]\s*\(|\bread_register\s*<\s*\(\s*(?:0x6[01]|9[67])\b")
#: As poplar/Vertex.hpp has it, and as it is for programs that read the counter.
_BEGIN = "inline void vertex_begins() {}"
_NOTED = 'extern "C" void popvision_vertex_begins(void); inline void vertex_begins() { popvision_vertex_begins(); }'


def with_cycle_counter(source: Preprocessed) -> Preprocessed:
    """The source for hardware, which may read the counter."""
    return replace(source, text=_REFUSED.sub("", source.text))


def timed(program: Program) -> Program:
    """The program, with counters in its blocks if one of its units reads the cycle counter."""
    if not any(_CALL.search(unit.source.text) for unit in program.units):
        return program
    if not is_translated():
        raise link_error("Codelets can read the cycle counter on x86-64 alone, whose instructions have a table.")
    return TimedProgram(program.units, program.external)


@dataclass(frozen=True)
class TimedProgram(Program):
    """The same units, with counters in their blocks and the begin of each vertex noted."""

    timed: ClassVar[bool] = True

    def path(self) -> Path:
        objects = [counted_object(unit, unit.text().replace(_BEGIN, _NOTED), "timed")[0] for unit in self.units]
        return linked(objects, self.external)


def entered(begins: Int64Array) -> Int64Array:
    """The counter of vertices that have just been entered. `begins`: their tile cycles."""
    return np.asarray(begins + WORKERS * ENTRY, np.int64)
