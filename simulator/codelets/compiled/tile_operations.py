"""What a basic block of x86-64 assembly costs on a tile: its operations, by the names of the instruction table.

The code is compiled without vectorisation, so that an instruction stands for one of a tile's; then

- an operand in memory is a load or a store, whichever instruction it is part of, two for 16 bytes; stores of one or two
  bytes cost as much as those of halves. Constants of the code count as registers, and moves between registers nothing;
- an operation on a short vector is an instruction for two floats or four halves, in however many of its own this
  machine's compiler takes it apart: notes say which belong to one (`simulator.codelets.compiled.source_places`). One on
  integers is an instruction for each, or for 64 bits of them where it is bitwise;
- a jump to an earlier label ends a trip of a loop. Steps by a constant of registers that only the step changes, and
  comparisons of such a register, are part of the trip: tiles step addresses as they load, and count in the branch. The
  step counts where the loop uses the register as a number;
- two neighbours of which one is for the main and one for the arithmetic unit share a slot, if the second does not need
  the first: the tiles' compiler issues them together where they stand so (`coissue.ll` of its published tests). A load
  that an addition has as its operand stands before what else it adds, as that compiler has it;
- in a loop of one block, a load from an address that nothing in the loop changes or writes counts nothing: it is done
  once before, since a vertex's state and edges do not overlap (the compiler here must assume that they may);
- a function of translated assembly of the tile (`simulator.codelets.compiled.inline_assembly`), or one of our headers
  that stands for an instruction, counts by its marks alone. Calling it counts nothing, nor do registers of this
  machine's arithmetic that are kept on the stack over it;
- functions of the mathematical library count as in the table; other library functions count as the call alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.codelets.compiled.assembly import BEGIN, COUNTER, JUMP, Block, Instruction, called, is_of_tile
from simulator.codelets.compiled.source_places import VECTOR
from simulator.machine.instructions import BUNDLE, BUNDLED_FLOP, FURTHER_SLOT, IN_BUNDLE, INSTRUCTION, OperationCounts

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
_REGISTER = re.compile(r"%([a-z]+[0-9]*[a-z]*)")
#: Conversions of a number in the main file, which reaches the arithmetic file through memory, and to one.
_FROM_WHOLE = re.compile(r"v?cvtsi2s[sd][lq]?")
_TO_WHOLE = re.compile(r"v?cvtt?s[sd]2si[lq]?")
_PACKED = re.compile(r"(?!v?(?:mov|unpck|shuf|insert|perm|blend))[a-z]+p[sd]")
_PACKED_WHOLE = re.compile(r"v?p(?:add|sub|mul|sll|srl|sra|and|or|xor|cmp|min|max|abs|neg)\w*")
_BITWISE = re.compile(r"v?p(?:and|or|xor)\w*")
_SIXTEEN_BYTES = re.compile(rf"v?mov(?:[au]p[sd]|dq[au])|{_PACKED.pattern}")
#: Loads of a float, and of a second one into the same register.
_SINGLE, _INSERT = re.compile(r"v?movss"), re.compile(r"v?insertps")
#: What tiles do with 8 bytes at once.
_OF_VECTORS = ("float add", "float multiply", "float compare")
#: Words that a loop keeps in registers from before it: half of the arithmetic file's 16.
_KEPT = 8
#: The units of a tile, by the operations that an instruction of either does in one slot.
MAIN, ARITHMETIC = "main", "arithmetic"
ELEMENTS = "elements"  #: arithmetic that the compiler here took apart: it shares a slot with a branch alone
_UNITS = {
    **dict.fromkeys(("load", "store", "integer", "integer multiply", "trip", "branch"), MAIN),
    **dict.fromkeys(("float add", "float multiply"), ARITHMETIC),
}


@dataclass
class Step:
    """An operation. `unit`: "" for one that shares no slot. `times`: of a vector longer than the tile's."""

    operation: str
    unit: str = ""
    times: int = 1
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


def operations(block: Block) -> dict[str, int]:
    """The operations of one execution of a block, by the names of the instruction table."""
    counts = OperationCounts()
    elements = _Elements()
    loop = _Loop(block)
    pairs = _Pairs()
    before: Step | None = None
    for number, instruction in enumerate(block.instructions):
        _rename(before, instruction)
        if pairs.completes(instruction):
            continue
        for step in _steps(instruction, loop):
            if elements.takes(instruction, step):
                before = Step(step.operation, ELEMENTS) if step.unit == ARITHMETIC else before
                continue
            if step.operation == "load" and _feeds_addition(block.instructions, number):
                step.unit = ""
            counts.add(step.operation, step.times)
            shared = before is not None and _share(before, step)
            counts.add(IN_BUNDLE, int(shared))
            before = None if shared else step
    elements.add_to(counts)
    for instructions, slots, flops in block.marks:
        counts.add(BUNDLE if instructions > 1 else INSTRUCTION)
        counts.add(FURTHER_SLOT, slots - 1)
        counts.add(BUNDLED_FLOP, flops)
    return counts.counts


def kept_operands(block: Block) -> set[str]:
    """Operands in memory, not on the stack, that a loop of one block only reads, at addresses that it does not
    change."""
    if not (block.back and block.whole):
        return set()
    read: dict[str, int] = {}  # operands, and their words
    written: set[str] = set()
    changed: set[str] = set()
    for name, operands, _ in block.instructions:
        compares = bool(_COMPARE.fullmatch(name))
        for position, operand in enumerate(operands):
            last = position == len(operands) - 1 and not compares
            if "(" in operand and last:
                written.add(operand)
            elif "(" in operand:
                read[operand] = _words(name, operands)
            elif last and _register(operand):
                changed.add(_register(operand))
        if name.startswith("call") and not is_of_tile(called(name, operands)):
            return set()

    def fixed(operand: str) -> bool:
        registers = {_register(name) for name in re.findall(r"%\w+", operand)}
        return not registers & (changed | {"sp", "bp"})

    kept = {operand for operand in read if operand not in written and fixed(operand)}
    return kept if sum(read[operand] for operand in kept) <= _KEPT else set()


def _words(name: str, operands: list[str]) -> int:
    """Words of the arithmetic file that an operand in memory fills."""
    if _SIXTEEN_BYTES.fullmatch(name):
        return 4
    return 2 if _REGISTER.fullmatch(operands[-1]) and "xmm" in operands[-1] and re.search(r"q$|lps$|sd$", name) else 1


def _share(before: Step, step: Step) -> bool:
    """Whether two neighbours are issued together."""
    if before.unit == ELEMENTS:
        return step.operation in ("trip", "branch")
    return {before.unit, step.unit} == {MAIN, ARITHMETIC} and not before.writes & step.reads


def _rename(before: Step | None, instruction: Instruction) -> None:
    """A move of what the step before wrote is another name for it."""
    name, operands, _ = instruction
    if before is None or len(operands) < 2 or not (_MOVE.fullmatch(name) or _FREE.fullmatch(name)):
        return
    if {_register(operand) for operand in operands[:-1]} & before.writes:
        before.writes.add(_register(operands[-1]))


def _feeds_addition(instructions: list[Instruction], number: int) -> bool:
    """Whether what an instruction loads is next read by an addition of floats."""
    name, operands, _ = instructions[number]
    if not _MOVE.fullmatch(name):
        return _arithmetic(name) == "float add"
    names = {_register(operands[-1])} - {""}
    for name, operands, _ in instructions[number + 1 :]:
        if names and {_register(operand) for operand in operands} & names:
            if not (_MOVE.fullmatch(name) or _FREE.fullmatch(name)):
                return _arithmetic(name) == "float add"
            names.add(_register(operands[-1]))
    return False


class _Loop:
    """What the loop that a block ends knows: its counters, which of them are used as numbers, and loads done before."""

    def __init__(self, block: Block) -> None:
        self.back = block.back
        self.calls_tile = any(is_of_tile(called(name, operands)) for name, operands, _ in block.instructions)
        self.counters = _loop_counters(block) if block.back else set()
        self.numbers = _used_as_numbers(block.loop) if self.counters else set()
        self.addresses = _stepped_addresses(block, self.counters) - self.numbers if block.whole else set()
        self.kept = kept_operands(block)


class _Pairs:
    """Floats that are loaded one after the other into one register: a load of 8 bytes for a tile."""

    def __init__(self) -> None:
        self._loaded: dict[str, str] = {}  # registers, and where their lowest float comes from

    def completes(self, instruction: Instruction) -> bool:
        """Whether an instruction loads the second float behind the first."""
        name, operands, _ = instruction
        if not operands:
            return False
        register, source = _register(operands[-1]), operands[0]
        if _SINGLE.fullmatch(name) and "(" in source:
            self._loaded[register] = source
            return False
        first = self._loaded.pop(register, "")
        if not first or not _INSERT.fullmatch(name) or "(" not in operands[1]:
            return False
        (before, base), (behind, other) = (_address(text) for text in (first, operands[1]))
        return base == other and behind == before + 4


def _address(operand: str) -> tuple[int, str]:
    """The offset and the registers of an operand in memory."""
    offset, _, base = operand.partition("(")
    return (int(offset or "0", 0), base) if re.fullmatch(r"-?\d*", offset) else (0, operand)


class _Elements:
    """Instructions that the compiler here made of the elements of a vector, gathered by place and operation."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, int, int, str]] = Counter()

    def takes(self, instruction: Instruction, step: Step) -> bool:
        """Whether a step is one of an element; else it counts by itself."""
        if not instruction.note.startswith(VECTOR):
            return False
        elements, size, kind, place = instruction.note.removeprefix(VECTOR).split()
        packed = _PACKED.fullmatch(instruction.name) or _PACKED_WHOLE.fullmatch(instruction.name)
        if kind != "f" or packed or step.operation in ("trip", "branch"):
            return False
        halves = int(size) < 4
        if halves and (step.operation == "integer" or any("(%rsp" in operand for operand in instruction.operands)):
            return True  # takes words apart and puts them together
        narrow = step.operation == "store half" or instruction.name.endswith(("insrw", "zwl", "swl"))
        if step.operation in _OF_VECTORS or (halves and narrow):
            operation = "store" if step.operation == "store half" else step.operation
            self._times[(place, int(elements), int(size), operation)] += 1
            return True
        return False

    def add_to(self, counts: OperationCounts) -> None:
        """The vectors' operations."""
        for (_, elements, size, operation), times in self._times.items():
            counts.add(operation, -(-times // elements) * _instructions(elements, size))


def _instructions(elements: int, size: int) -> int:
    """Instructions of a tile for a vector."""
    return -(-elements * size // 8)


def _loop_counters(block: Block) -> set[str]:
    """Registers that the block changes only by one step of a constant."""
    changed: Counter[str] = Counter()
    stepped: set[str] = set()
    for name, operands, _ in block.instructions:
        if not operands or _COMPARE.fullmatch(name) or JUMP.fullmatch(name):
            continue
        register = _register(operands[-1])
        if register:
            changed[register] += 1
            if _steps_by_constant(name, operands):
                stepped.add(register)
    return {register for register in stepped if changed[register] == 1}


def _steps_by_constant(name: str, operands: list[str]) -> bool:
    by_constant = len(operands) == 1 or operands[0].startswith("$")
    itself = name.startswith("lea") and f"(%{operands[-1][1:]})" in operands[0]
    return bool(_STEP.fullmatch(name)) and (itself or (by_constant and not name.startswith("lea")))


def _used_as_numbers(blocks: list[Block]) -> set[str]:
    """Registers that blocks use otherwise than in addresses, comparisons and jumps, by their name or a moved one."""
    used: set[str] = set()
    moved: dict[str, str] = {}
    for block in blocks:
        for name, operands, _ in block.instructions:
            if len(operands) < 2 or _COMPARE.fullmatch(name) or name.startswith(("call", "lea")):
                continue
            sources = {_place(operand) for operand in operands[:-1]} - {""}
            if _MOVE.fullmatch(name) and _place(operands[-1]):
                moved |= {_place(operands[-1]): source for source in sources}
            else:
                used |= sources
    return used | {moved[name] for name in used if name in moved}


def _stepped_addresses(block: Block, counters: set[str]) -> set[str]:
    """Registers, and places on the stack, that a loop of one block makes of its counters and of what it does not
    change, for addresses: tiles step one address, and load and store beside it."""
    changed = {_place(i.operands[-1]) for i in block.instructions if i.operands and not _COMPARE.fullmatch(i.name)}
    made = set(counters)
    others = {""}
    for name, operands, _ in block.instructions:
        if not operands or _COMPARE.fullmatch(name) or _place(operands[-1]) in counters | {""}:
            continue
        moves = name.startswith("mov") and _place(operands[0])
        parts = {_place(operands[0])} if moves else {_register(part) for part in re.findall(r"%\w+", operands[0])}
        follows = (moves or name.startswith("lea")) and parts & made and not (parts & changed) - made
        (made if follows else others).add(_place(operands[-1]))
    return made - others - counters


def _place(operand: str) -> str:
    """A register, or a place on the stack."""
    return operand if operand.endswith("(%rsp)") else _register(operand)


def _steps(instruction: Instruction, loop: _Loop) -> Iterator[Step]:
    """The steps of an instruction."""
    name, note = instruction.name, instruction.note
    operands = ["%kept" if operand in loop.kept else operand for operand in instruction.operands]
    registers = {_register(operand) for operand in operands} - {""}
    written = {_register(operands[-1])} if operands else set()
    read = {_register(operand) for operand in operands[:-1]} if len(operands) > 2 else registers
    for operation in _operations_of(name, operands, loop):
        if operation in ("load", "store"):
            times = 2 if _SIXTEEN_BYTES.fullmatch(name) and not any("(%rsp" in operand for operand in operands) else 1
            folded = operation == "load" and not _MOVE.fullmatch(name)
            yield Step(operation, MAIN, times, read, {"memory"} if folded else written)
        else:
            unit = "" if name.startswith("call") else _UNITS.get(operation, "")
            yield Step(operation, unit, _times(name, note, operation), read | {"memory"}, written)


def _times(name: str, note: str, operation: str) -> int:
    """Instructions of a tile for one of packed elements."""
    floats, whole = _PACKED.fullmatch(name), _PACKED_WHOLE.fullmatch(name)
    if not floats and not whole:
        return 1
    elements, size = (int(n) for n in note.removeprefix(VECTOR).split()[:2]) if note.startswith(VECTOR) else (2, 4)
    together = operation in _OF_VECTORS if floats else bool(_BITWISE.fullmatch(name))
    return _instructions(elements, size) if together else elements


def _operations_of(name: str, operands: list[str], loop: _Loop) -> Iterator[str]:
    if JUMP.fullmatch(name):
        yield "trip" if loop.back else "branch"
        return
    if name.startswith("call"):
        yield from _call(called(name, operands))
        return
    if name.startswith("push"):
        yield "store"
        return
    if name.startswith("pop") and not name.startswith("popcnt"):
        yield "load"
        return
    if name.startswith("lea") and name != "leave":
        register = _register(operands[-1])
        if register not in loop.counters | loop.addresses or register in loop.numbers:
            yield "integer"
        return
    if name.startswith("mov") and all(_place(operand) in loop.counters | loop.addresses for operand in operands):
        return
    if loop.calls_tile and _MOVE.fullmatch(name) and "(%rsp)" in "".join(operands) and "%xmm" in "".join(operands):
        return
    compares = bool(_COMPARE.fullmatch(name))
    yield from _accesses(name, operands, compares)
    if _FREE.fullmatch(name) or _MOVE.fullmatch(name):
        if name.startswith("mov") and operands and operands[0].startswith("$") and _register(operands[-1]):
            yield "integer"  # a constant is set
        return
    registers = {_register(operand) for operand in operands}
    if loop.counters & registers and (compares or _STEP.fullmatch(name)):
        if not compares and loop.numbers & registers:
            yield "integer"
        return
    if len(operands) >= 2 and operands[0] == operands[1] and "xor" in name:
        return  # zero is a register of a tile
    yield from _conversion(name, operands)


def _call(function: str) -> Iterator[str]:
    if function in COUNTER:
        yield from [] if function == BEGIN else ["integer"]
    elif not is_of_tile(function) and not function.startswith(("__extendhf", "__truncsf", "__truncdf")):
        yield TABLE_FUNCTIONS.get(function, "branch")


def _conversion(name: str, operands: list[str]) -> Iterator[str]:
    """Arithmetic, and what conversions need beside it: a whole number reaches the arithmetic file through memory; one
    that is made there is rounded, converted and moved (`f32-conversions.ll` of the published compiler's tests)."""
    if _FROM_WHOLE.fullmatch(name) and "(" not in operands[0]:
        yield from ("store", "load")
    if _TO_WHOLE.fullmatch(name):
        yield "rounding"
    yield _arithmetic(name)
    if _TO_WHOLE.fullmatch(name):
        yield "integer"


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
