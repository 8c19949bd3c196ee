"""Basic blocks of the compiler's assembly for x86-64, and counters in them.

A block ends with a jump, a label, or a call that reads the cycle counter: the counter then sees what stands before the
call and not what follows (`simulator.codelets.compiled.slot_counting`). What a block costs on a tile says
`simulator.codelets.compiled.tile_operations`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

LABEL = re.compile(r"\s*([.\w$@]+):")
DIRECTIVE = re.compile(r"\s*\.(\w+)(.*)")
_INSTRUCTION = re.compile(r"\s+(?:(?:rep[nez]*|lock|notrack)\s+)?([a-z]\w*)\s*(.*)")
CODE = re.compile(r"\s*\.text|^\s*\.section\s+\.(?:text|init)")
JUMP = re.compile(r"j[a-z]+")

#: 64 bits are stepped without touching flags; the code is compiled without a red zone below the stack.
_COUNT = """\tpushq\t%rax
\tmovq\tpopvision_counts_{key}+{at}(%rip), %rax
\tleaq\t1(%rax), %rax
\tmovq\t%rax, popvision_counts_{key}+{at}(%rip)
\tpopq\t%rax
"""
_TABLE = """\t.section\tpopvision_counts,"aw",@nobits
\t.align 8
\t.type\tpopvision_counts_{key}, @object
\t.size\tpopvision_counts_{key}, {size}
popvision_counts_{key}:
\t.zero\t{size}
"""

#: Where a bundle of translated assembly begins: its instructions, issue slots and floating-point operations. And what
#: the names of functions of such assembly hold.
MARK = "# popvision bundle"
TRANSLATED = "popvision_assembly_"
_OF_TILE = (TRANSLATED, "9popvision4tile")  #: the latter: functions of popvision_tile.hpp, as C++ names them
_MARKED = re.compile(rf"\s*{MARK} (\d+) (\d+) (\d+)")
#: The runner's function that notes where a vertex begins: none of the vertex's own work.
BEGIN = "popvision_vertex_begins"
#: Functions of the runner that see the counts so far. A tile reads its counter with one instruction.
COUNTER = (BEGIN, "popvision_ipu_get_scount_l", "popvision_ipu_get_scount_u")


class Instruction(NamedTuple):
    """`note`: what stands behind it (`simulator.codelets.compiled.source_places`), "" for nothing."""

    name: str
    operands: list[str]
    note: str = ""


@dataclass
class Block:
    """The instructions of one basic block. `back`: it ends with a jump to an earlier label, whose loop `loop` is."""

    line: int = 0  #: its first
    instructions: list[Instruction] = field(default_factory=list)
    back: bool = False
    whole: bool = False  #: it is all of its loop
    loop: list[Block] = field(default_factory=list)  #: the blocks from that label to this one
    marks: list[tuple[int, int, int]] = field(default_factory=list)  #: of translated assembly: as `MARK` has them


def instrumented(assembly: str, key: str) -> tuple[str, list[Block]]:
    """The assembly with counters `popvision_counts_<key>`, and the block that each counts."""
    lines, blocks = split_blocks(assembly)
    return with_counters(lines, blocks, key, [""] * len(blocks)), blocks


def with_counters(lines: list[str], blocks: list[Block], key: str, before: list[str]) -> str:
    """The lines with a counter in each block, after the text before it."""
    counters = [text + _COUNT.format(key=key, at=8 * number) for number, text in enumerate(before)]
    text = with_lines(lines, blocks, counters)
    return text + _TABLE.format(key=key, size=8 * len(blocks)) if blocks else text


def with_lines(lines: list[str], blocks: list[Block], before: list[str]) -> str:
    """The lines, with a text before each block."""
    texts = {block.line: text for block, text in zip(blocks, before, strict=True)}
    return "".join(f"{texts.get(number, '')}{line}\n" for number, line in enumerate(lines))


def split_blocks(assembly: str) -> tuple[list[str], list[Block]]:
    """The lines, and the blocks that begin in them."""
    blocks: list[Block] = []
    lines = assembly.splitlines()
    seen: dict[str, int] = {}  # labels, and the number of the block that begins there
    code, fresh, is_translated = True, True, False
    own: set[str] = set()  # labels of the block that begins
    for number, line in enumerate(lines):
        label, directive = LABEL.match(line), DIRECTIVE.match(line)
        marked, found = _MARKED.match(line), _INSTRUCTION.match(line)
        if fresh and code and (marked or (found and not label and not directive)):
            blocks.append(Block(line=number))
            fresh = False
        if marked:
            blocks[-1].marks.append((int(marked[1]), int(marked[2]), int(marked[3])))
        elif label:
            if not label[1].startswith("."):
                is_translated = is_of_tile(label[1])
            seen[label[1]] = len(blocks)
            own = own | {label[1]} if fresh and code else {label[1]}
            fresh = True
        elif directive:
            if directive[1] in ("text", "section", "data", "bss"):
                code = bool(CODE.match(line))
        elif code and found:
            text, sign, note = found[2].partition("#")
            name, operands = found[1], _operands(text)
            if not is_translated:
                blocks[-1].instructions.append(Instruction(name, operands, sign + note))
            if JUMP.fullmatch(name) or name == "ret":
                if operands and operands[0] in seen:
                    blocks[-1].back, blocks[-1].loop = True, blocks[seen[operands[0]] :]
                    blocks[-1].whole = operands[0] in own
                fresh, own = True, set()
            elif called(name, operands) in COUNTER:
                fresh, own = True, set()
    return lines, blocks


def _operands(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [part for part in parts if part]


def is_of_tile(symbol: str) -> bool:
    """Whether a function is translated assembly of the tile."""
    return any(part in symbol for part in _OF_TILE)


def called(name: str, operands: list[str]) -> str:
    """The function that an instruction calls by its name, else ""."""
    return operands[0].split("@")[0] if name.startswith("call") and operands else ""
