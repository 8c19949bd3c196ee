"""Assembly of codelets that counts its own issue slots while it computes: one addition to a register per basic block.

The compiler keeps the register free, and the addition is an address computation, which leaves the flags alone: counting
costs no access to memory, so that the code also gives the values of the run. `runner.c` clears the register before each
vertex and stores it behind it. As the compiler may spill another register for it, a block costs what it does in code
that was compiled with all registers, if the two have the same blocks.

Code with the processor's conversions to half (F16C) has fewer instructions than code that calls for each, but rounds
beyond the range to infinity; a function around them has the rule of half.c for such values.
"""

from __future__ import annotations

import re

from simulator.codelets.compiled.assembly import Block, split_blocks, with_counters, with_lines
from simulator.codelets.compiled.tile_operations import operations
from simulator.machine.instructions import parts_of_slots

#: Keeps the register of the slots free; runner.c has it as a global variable.
FLAGS = ("-ffixed-r15",)
_ADD = "\tleaq\t{}(%r15), %r15\n"
#: Functions of the C library that call back from code that uses this register for itself.
CALLING_BACK = frozenset(("qsort", "qsort_r", "bsearch", "lfind", "lsearch", "tsearch", "tfind", "twalk", "atexit"))

_CALL = re.compile(r"\s(?:call|jmp)\s+(\w+)")
_TO_HALF = re.compile(r"(?m)^[ \t]+vcvtps2ph\s+\$\d+,\s*%xmm(\d+),\s*%xmm(\d+)")
#: Flags are kept without the slow popf: the overflow flag is made again by an addition. What is not finite, or beyond
#: the range, goes to half.c with all registers saved.
_CONVERSION = """popvision_to_half_{source}_{result}:
\tpushq\t%rax
\tlahf
\tseto\t%al
\tpushq\t%rax
\tvmovd\t%xmm{source}, %eax
\tandl\t$0x7fffffff, %eax
\tcmpl\t$0x477ff000, %eax
\tjae\t1f
\tvcvtps2ph\t$4, %xmm{source}, %xmm{result}
2:
\tpopq\t%rax
\taddb\t$127, %al
\tsahf
\tpopq\t%rax
\tret
1:
{save}\tvmovaps\t%xmm{source}, %xmm0
\tcall\t__truncsfhf2@PLT
\tvpextrw\t$0, %xmm0, %eax
\tvmovd\t%eax, %xmm0
\tvmovups\t%xmm0, {place}(%rsp)
{restore}\tjmp\t2b
"""
_SAVED = ("rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbp")
_VECTORS = 16


def slot_counting(assembly: str, priced: str, key: str = "") -> tuple[str, list[Block]]:
    """The assembly, of code that was compiled with FLAGS, whose blocks add their issue slots to the register, in parts
    (`simulator.machine.instructions.PARTS`); and a block that costs what each does. `priced`: the assembly of the same
    code without FLAGS. `key`: with a counter for each block too, as `assembly.instrumented` has them."""
    lines, blocks = split_blocks(assembly)
    others = split_blocks(priced)[1]
    prices = others if [_end(block) for block in others] == [_end(block) for block in blocks] else blocks
    parts = [parts_of_slots(operations(block)) for block in prices]
    slots = [_ADD.format(number) if number else "" for number in parts]
    counting = with_counters(lines, blocks, key, slots) if key else with_lines(lines, blocks, slots)
    return _with_conversions(counting), prices


def _end(block: Block) -> tuple[str, bool, bool]:
    """How a block ends: its jump, and whether that is the end of a loop."""
    name = block.instructions[-1].name if block.instructions else ""
    return name if name.startswith("j") or name == "ret" else "", block.back, block.whole


def calls_back(assembly: str) -> str:
    """A function of CALLING_BACK that the code calls, "" for none."""
    return next((name for name in _CALL.findall(assembly) if name in CALLING_BACK), "")


def _with_conversions(assembly: str) -> str:
    """The assembly with conversions to half by functions of its own."""
    used = sorted(set(_TO_HALF.findall(assembly)))
    if not used:
        return assembly
    text = _TO_HALF.sub(r"\tcall\tpopvision_to_half_\1_\2", assembly)
    return text + "\t.text\n" + "".join(_conversion(int(source), int(result)) for source, result in used)


def _conversion(source: int, result: int) -> str:
    room = 16 * _VECTORS
    save = [f"\tpushq\t%{name}\n" for name in _SAVED]
    save += ["\tmovq\t%rsp, %rbp\n", f"\tsubq\t${room}, %rsp\n", "\tandq\t$-16, %rsp\n"]
    save += [f"\tvmovups\t%xmm{i}, {16 * i}(%rsp)\n" for i in range(_VECTORS)]
    restore = [f"\tvmovups\t{16 * i}(%rsp), %xmm{i}\n" for i in range(_VECTORS)]
    restore += ["\tmovq\t%rbp, %rsp\n", *(f"\tpopq\t%{name}\n" for name in reversed(_SAVED))]
    return _CONVERSION.format(
        source=source, result=result, place=16 * result, save="".join(save), restore="".join(restore)
    )
