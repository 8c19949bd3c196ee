"""Code bytes of codelets in Python: the instructions that `simulator.codelets.syntax_code` counts in their syntax, four
bytes each.

A guess: nothing compiles them for a tile. The same work written in C++ has `RANGE` times the code, as the host's
compiler makes it and `simulator.codelets.compiled.counted_code` counts it (`tests/codelets/test_syntax_code.py`).
"""

from __future__ import annotations

import functools
from typing import Any

from simulator.codelets.syntax_code import counted_in_syntax, instructions_of
from simulator.graph.vertices import FieldSpec
from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.vertex_code import VertexCode, unknown_code

#: Counted code of codelets in C++ over that of their twins in Python: the least and the most of the tests' pairs.
RANGE = (0.9, 1.65)


def python_code(cls: type[Any], fields: tuple[FieldSpec, ...]) -> VertexCode:
    """The code of a codelet class; the flat guess where its source is not there."""
    key: Any = cls
    return _code(key, fields)


@functools.lru_cache(maxsize=1024)
def _code(cls: Any, fields: tuple[FieldSpec, ...]) -> VertexCode:
    try:
        counts = counted_in_syntax(cls, fields)
    except ValueError as reason:
        return unknown_code(f"a codelet in Python, {reason}")
    number = instructions_of(counts)
    text = ", ".join(f"{times} {what}" for what, times in counts.items())
    least, most = RANGE
    return VertexCode(
        number * INSTRUCTION_BYTES,
        f"guess: {number} instructions in the syntax of the codelet in Python, 4 B each ({text}); compiled codelets of "
        f"the same work have {least} to {most} times as many",
    )
