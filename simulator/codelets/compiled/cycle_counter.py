"""Codelets that read the tile's cycle counter (`__builtin_ipu_get_scount_l`, `_u`).

Only a program for hardware may: an IPU Model has estimates alone, and its compiler refuses the calls by name. On
hardware vertices count the issue slots of the blocks that they execute (`simulator.codelets.compiled.slot_counting`),
and the counter is the tile cycle at which the vertex begins (as the report's worker lanes have it, from the begin of
the compute set), entering it, and the cycles of the blocks that ran since, up to the call. What a call sees is thus the
model's figure: a difference of two calls is what stands between them, priced by the instruction table.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from simulator.arrays import Int64Array
from simulator.codelets.compiled.linking import Program
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


def needs_slots(program: Program) -> bool:
    """Whether the runner needs the slots that its vertices count, also where they run for an estimate: for the counter,
    or to find the longest of the workers on which a supervisor runs a codelet."""
    return reads_counter(program) or any("popvision_run_all(reinterpret" in u.source.text for u in program.units)


def reads_counter(program: Program) -> bool:
    """Whether one of the units reads the counter."""
    return any(_CALL.search(unit.source.text) for unit in program.units)


def with_begins(text: str) -> str:
    """The text of a unit with the begin of each vertex noted."""
    return text.replace(_BEGIN, _NOTED)


def entered(begins: Int64Array) -> Int64Array:
    """The counter of vertices that have just been entered. `begins`: their tile cycles."""
    return np.asarray(begins + WORKERS * ENTRY, np.int64)
