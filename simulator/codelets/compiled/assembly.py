"""Counters in the basic blocks of the compiler's assembly, and the operations of each block.

Only for x86-64, whose instructions `operations` knows. The code to be counted is compiled without vectorisation, so
that an instruction stands for one of a tile's; then

- an operand in memory is a load or a store, whichever instruction it is part of; stores of one or two bytes cost as
  much as those of halves. Constants of the code count as registers, and moves between registers count nothing;
- a jump to an earlier label ends a trip of a loop; right after an addition or multiplication of floats it is in one
  bundle with it. Steps by a constant of registers that only the step changes, and comparisons of such a register, are
  part of the trip: tiles step addresses as they load, and count in the branch;
- in a loop of one block, a load from an address that nothing in the loop changes or writes counts nothing: it is done
  once before, since a vertex's state and edges do not overlap (the compiler here must assume that they may);
- a function of translated assembly of the tile counts by its marks alone, and calling it counts nothing
  (`simulator.codelets.compiled.inline_assembly`);
- functions of the mathematical library count as in the table; other library functions count as the call alone.

A call that reads the cycle counter ends its block, so that the counter sees what stands before the call and not what
follows (`simulator.codelets.compiled.slot_counting`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.machine.instructions import (
    BESIDE_BRANCH,
    BUNDLE,
    BUNDLED_FLOP,
    FURTHER_SLOT,
    IN_BUNDLE,
    INSTRUCTION,
    OperationCounts,
)

_FUNCTION = re.compile(r"\s*\.type\s+([^,\s]+),\s*[@%]function")
_SYMBOL = re.compile(r"(?<![%\w.])[A-Za-z_][\w.$]*")
_LABEL = re.compile(r"\s*([.\w$@]+):")
_DIRECTIVE = re.compile(r"\s*\.(\w+)(.*)")
_INSTRUCTION = re.compile(r"\s+(?:(?:rep[nez]*|lock|notrack)\s+)?([a-z]\w*)\s*(.*)")
_ANY_INSTRUCTION = re.compile(r"\s+[a-z][\w.]*(.*)")
_CODE = re.compile(r"\s*\.text|^\s*\.section\s+\.(?:text|init)")
_JUMP = re.compile(r"j[a-z]+")
_REGISTER = re.compile(r"%([a-z]+[0-9]*[a-z]*)")

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

#: Functions of libraries that are an operation of the instruction table.
TABLE_FUNCTIONS = {
    **dict.fromkeys(("expf", "exp", "exp2f", "exp2", "expm1f", "expm1"), "exponential"),
    **dict.fromkeys(("logf", "log", "log2f", "log2", "log10f", "log10", "log1pf", "log1p"), "logarithm"),
    **dict.fromkeys(("tanhf", "tanh", "erff", "erf"), "hyperbolic tangent"),
    **dict.fromkeys(("sinf", "sin", "cosf", "cos", "sincosf", "sincos"), "sine"),
    **dict.fromkeys(("tanf", "tan"), "tangent"),
    **dict.fromkeys(("asinf", "asin", "acosf", "acos", "atanf", "atan"), "arc sine"),
    **dict.fromkeys(("atan2f", "atan2"), "arc tangent of two"),
    **dict.fromkeys(("powf", "pow", "cbrtf", "cbrt"), "power"),
    **dict.fromkeys(("fmodf", "fmod", "remainderf"), "remainder"),
    **dict.fromkeys(("sqrtf", "sqrt"), "square root"),
    **dict.fromkeys(
        ("floorf", "floor", "ceilf", "ceil", "truncf", "trunc", "roundf", "round", "rintf", "rint", "nearbyintf"),
        "rounding",
    ),
    **dict.fromkeys(("popvision_from_quarter", "popvision_to_quarter"), "convert"),
}
#: Where a bundle of translated assembly begins: its instructions, issue slots and floating-point operations. And what
#: the names of functions of such assembly hold.
MARK = "# popvision bundle"
TRANSLATED = "popvision_assembly_"
_OF_TILE = (TRANSLATED, "9popvision4tile")  #: the latter: functions of popvision_tile.hpp, as C++ names them
_MARKED = re.compile(rf"\s*{MARK} (\d+) (\d+) (\d+)")
#: The runner's function that notes where a vertex begins: none of the vertex's own work.
BEGIN = "popvision_vertex_begins"
#: Functions of the runner that see the counts so far. A tile reads its counter with one instruction.
_COUNTER = (BEGIN, "popvision_ipu_get_scount_l", "popvision_ipu_get_scount_u")
#: Instructions that a tile does not need: widening (its addresses and integers have one size), conversions of half
#: within a register, markers, entry and exit.
_FREE = re.compile(
    r"cltq|cqto|cltd|cwtl|cdq|endbr64|nop\w*|ret|leave|vzeroupper|v?cvtph2ps|v?cvtps2ph|ud2|v?unpck\w+|v?shuf\w+|v?insertps|v?p?blend\w+"
)
_MOVE = re.compile(r"v?(?:mov|pextr|pinsr)\w*")
#: SSE arithmetic by the stem of its name.
_FLOAT = (
    (re.compile(r"v?(?:add|sub|hadd)[sp][sdh]"), "float add"),
    (re.compile(r"v?mul[sp][sdh]"), "float multiply"),
    (re.compile(r"v?fn?m(?:add|sub)\w+"), "float multiply"),
    (re.compile(r"v?div[sp][sdh]"), "division"),
    (re.compile(r"v?sqrt[sp][sdh]"), "square root"),
    (re.compile(r"v?(?:max|min)[sp][sdh]|v?u?comis[sdh]|v?cmp\w*[sp][sd]"), "float compare"),
    (re.compile(r"v?cvt\w+"), "convert"),
    (re.compile(r"v?round\w+"), "rounding"),
)
_MULTIPLY = re.compile(r"i?mul[bwlq]?")
_DIVIDE = re.compile(r"i?div[bwlq]?")
_COMPARE = re.compile(r"cmp[bwlq]|test[bwlq]|v?u?comis[sd]|bt[wlq]?")
_STEP = re.compile(r"(?:add|sub)[lq]|inc[lq]|dec[lq]|lea[lq]")


@dataclass
class Block:
    """The instructions of one basic block: (mnemonic, operands). `back`: it ends with a jump to an earlier label."""

    line: int = 0  #: its first
    instructions: list[tuple[str, list[str]]] = field(default_factory=list)
    back: bool = False
    whole: bool = False  #: it is all of its loop
    marks: list[tuple[int, int, int]] = field(default_factory=list)  #: of translated assembly: as `MARK` has them


@dataclass(frozen=True)
class FunctionCode:
    """A function's code. `operations`: those of all its blocks, each once, by the names of the instruction table.
    `uses`: functions that it calls, jumps to or takes the address of."""

    operations: dict[str, int]
    uses: tuple[str, ...]


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
    seen: set[str] = set()
    code, fresh, is_translated = True, True, False
    own: set[str] = set()  # labels of the block that begins
    for number, line in enumerate(lines):
        label, directive = _LABEL.match(line), _DIRECTIVE.match(line)
        marked, found = _MARKED.match(line), _INSTRUCTION.match(line)
        if fresh and code and (marked or (found and not label and not directive)):
            blocks.append(Block(line=number))
            fresh = False
        if marked:
            blocks[-1].marks.append((int(marked[1]), int(marked[2]), int(marked[3])))
        elif label:
            if not label[1].startswith("."):
                is_translated = _is_of_tile(label[1])
            seen.add(label[1])
            own = own | {label[1]} if fresh and code else {label[1]}
            fresh = True
        elif directive:
            if directive[1] in ("text", "section", "data", "bss"):
                code = bool(_CODE.match(line))
        elif code and found:
            name, operands = found[1], _operands(found[2].partition("#")[0])
            if not is_translated:
                blocks[-1].instructions.append((name, operands))
            if _JUMP.fullmatch(name) or name == "ret":
                blocks[-1].back = bool(operands) and operands[0] in seen
                blocks[-1].whole = bool(operands) and operands[0] in own
                fresh, own = True, set()
            elif _called(name, operands) in _COUNTER:
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


def operations(block: Block) -> dict[str, int]:
    """The operations of one execution of a block, by the names of the instruction table."""
    counts = OperationCounts()
    counters = _loop_counters(block) if block.back else set()
    kept = _kept_operands(block) if block.back and block.whole else set()
    before = ""
    for name, operands in block.instructions:
        given = ["%kept" if operand in kept else operand for operand in operands]
        for operation in _operations_of(name, given, block.back, counters):
            bundled = operation == "trip" and before in BESIDE_BRANCH
            counts.add(IN_BUNDLE if bundled else operation)
            before = operation
    for instructions, slots, flops in block.marks:
        counts.add(BUNDLE if instructions > 1 else INSTRUCTION)
        counts.add(FURTHER_SLOT, slots - 1)
        counts.add(BUNDLED_FLOP, flops)
    return counts.counts


def functions(assembly: str) -> dict[str, FunctionCode]:
    """The functions of an assembly text by their symbols."""
    texts = _texts(assembly)
    return {name: _function(name, "\n".join(text), set(texts)) for name, text in texts.items()}


def untranslated_functions(assembly: str) -> dict[str, FunctionCode]:
    """The functions of an assembly text of any processor, each instruction an integer one of a tile."""
    return {name: _untranslated(name, text) for name, text in _texts(assembly).items()}


def _texts(assembly: str) -> dict[str, list[str]]:
    """The lines of each function."""
    names = {found[1] for line in assembly.splitlines() if (found := _FUNCTION.match(line))}
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label and label[1] in names:
            lines = texts.setdefault(label[1], [])
        lines.append(line)
    return texts


def _untranslated(name: str, text: list[str]) -> FunctionCode:
    """`uses` has every name in an operand; those that are no functions, such as registers, are in no table."""
    count, used = 0, set[str]()
    code = True
    for line in text:
        directive = _DIRECTIVE.match(line)
        if directive and directive[1] in ("text", "section", "data", "bss"):
            code = bool(_CODE.match(line))
        elif code and not directive and (found := _ANY_INSTRUCTION.match(line)):
            count += 1
            used |= set(_SYMBOL.findall(found[1]))
    return FunctionCode({"integer": count}, tuple(sorted(used - {name})))


def _function(name: str, text: str, names: set[str]) -> FunctionCode:
    counts: Counter[str] = Counter()
    used: set[str] = set()
    called: set[str] = set()
    for block in instrumented(text, "")[1]:
        counts.update(operations(block))
        kept = _kept_operands(block) if block.back and block.whole else set()
        counts["load"] += len(kept)  # they are loaded before the loop
        for mnemonic, operands in block.instructions:
            symbols = {symbol for operand in operands for symbol in _SYMBOL.findall(operand)}
            used |= symbols & names - {name}
            if mnemonic.startswith("call") or _JUMP.fullmatch(mnemonic):
                called |= {operand.split("@")[0] for operand in operands if _SYMBOL.match(operand)}
    return FunctionCode(dict(+counts), tuple(sorted(used | called - {name})))


def _loop_counters(block: Block) -> set[str]:
    """Registers that the block changes only by one step of a constant."""
    changed: Counter[str] = Counter()
    stepped: set[str] = set()
    for name, operands in block.instructions:
        if not operands or _COMPARE.fullmatch(name) or _JUMP.fullmatch(name):
            continue
        register = _register(operands[-1])
        if register:
            changed[register] += 1
            by_constant = len(operands) == 1 or operands[0].startswith("$")
            itself = name.startswith("lea") and f"(%{operands[-1][1:]})" in operands[0]
            if _STEP.fullmatch(name) and (itself or (by_constant and not name.startswith("lea"))):
                stepped.add(register)
    return {register for register in stepped if changed[register] == 1}


def _kept_operands(block: Block) -> set[str]:
    """Operands in memory, not on the stack, that the block only reads, at addresses that it does not change."""
    read: set[str] = set()
    written: set[str] = set()
    changed: set[str] = set()
    for name, operands in block.instructions:
        compares = bool(_COMPARE.fullmatch(name))
        for position, operand in enumerate(operands):
            last = position == len(operands) - 1 and not compares
            if "(" in operand:
                (written if last else read).add(operand)
            elif last and _register(operand):
                changed.add(_register(operand))
        if name.startswith("call"):
            return set()

    def fixed(operand: str) -> bool:
        registers = {_register(name) for name in re.findall(r"%\w+", operand)}
        return not registers & (changed | {"sp", "bp"})

    return {operand for operand in read - written if fixed(operand)}


def _operations_of(name: str, operands: list[str], back: bool, counters: set[str]) -> Iterator[str]:
    if _JUMP.fullmatch(name):
        yield "trip" if back else "branch"
        return
    if name.startswith("call"):
        called = _called(name, operands)
        if called in _COUNTER:
            yield from [] if called == BEGIN else ["integer"]
        elif _is_of_tile(called):
            return
        elif not called.startswith(("__extendhf", "__truncsf", "__truncdf")):
            yield TABLE_FUNCTIONS.get(called, "branch")
        return
    if name.startswith("push"):
        yield "store"
        return
    if name.startswith("pop") and not name.startswith("popcnt"):
        yield "load"
        return
    if name.startswith("lea") and name != "leave":
        if _register(operands[-1]) not in counters:
            yield "integer"
        return
    compares = bool(_COMPARE.fullmatch(name))
    yield from _accesses(name, operands, compares)
    if _FREE.fullmatch(name) or _MOVE.fullmatch(name):
        if name.startswith("mov") and operands and operands[0].startswith("$") and _register(operands[-1]):
            yield "integer"  # a constant is set
        return
    registers = {_register(operand) for operand in operands}
    if counters & registers and (compares or _STEP.fullmatch(name)):
        return
    if len(operands) >= 2 and operands[0] == operands[1] and "xor" in name:
        return  # zero is a register of a tile
    yield _arithmetic(name)


def _is_of_tile(symbol: str) -> bool:
    return any(part in symbol for part in _OF_TILE)


def _called(name: str, operands: list[str]) -> str:
    """The function that an instruction calls by its name, else ""."""
    return operands[0].split("@")[0] if name.startswith("call") and operands else ""


def _accesses(name: str, operands: list[str], compares: bool) -> Iterator[str]:
    """Loads and stores of an instruction's operand in memory."""
    for position, operand in enumerate(operands):
        if "(" not in operand or operand.startswith((".LC", "$")):
            continue
        last = position == len(operands) - 1 and not (compares and len(operands) == 1)
        if not last or compares:
            yield "load"
            continue
        if not _MOVE.fullmatch(name) and not name.startswith("set"):
            yield "load"
        narrow = re.fullmatch(r"mov[bw]|v?pextr[bw]|set\w+|(?:add|sub|or|and|xor)[bw]", name)
        yield "store half" if narrow else "store"


def _arithmetic(name: str) -> str:
    for stem, operation in _FLOAT:
        if stem.fullmatch(name):
            return operation
    if _MULTIPLY.fullmatch(name):
        return "integer multiply"
    return "integer division" if _DIVIDE.fullmatch(name) else "integer"


def _register(operand: str) -> str:
    """A register by one name for all its widths, "" for other operands."""
    found = _REGISTER.fullmatch(operand)
    if found is None:
        return ""
    name = found[1]
    if re.fullmatch(r"r\d+[bwd]?", name):
        return name.rstrip("bwd")
    return re.sub(r"^[er](?=[a-ds])|[lx]$|h$", "", name) if not name.startswith("xmm") else name
