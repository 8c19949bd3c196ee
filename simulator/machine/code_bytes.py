"""Code bytes from a sequence of instructions: constants that follow from counting them instead of from a figure.

An instruction of a tile occupies four bytes (default of the public `IPUModel.instructionBytes`). Mnemonics are those of
the public LLVM back end of the architecture: `setzi` loads a constant of 20 bits and a second instruction (`or`) the 12
bits above, `ld32` and `st32` move a word, `brz`, `brnz`, `bri` jump, `call` calls, `put` writes a register, `sync` and
`trap` stand alone. A constant derived so cannot be tuned; that the compiler emits this very sequence is an assumption,
and cost terms say so.
"""

from __future__ import annotations

#: Bytes of an instruction (headers: IPUModel.instructionBytes).
INSTRUCTION_BYTES = 4

#: Bits of the constant that `setzi` loads (public LLVM back end of the architecture; published).
IMMEDIATE_BITS = 20
