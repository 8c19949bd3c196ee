"""Inline assembly of the path for hardware, as C++ that does the same and says what it costs.

An asm statement becomes a call of a function of its own, `popvision_assembly_N`, with the operands as arguments. Its
registers are variables; every instruction of `INSTRUCTIONS` is a function of popvision_tile.hpp. The two instructions
of a bundle read what was there before it. Each bundle leaves a mark in the assembly of this machine (`MARK`), by which
it is counted: its issue slots and floating-point operations; the instructions of this machine in such a function count
nothing (`simulator.codelets.compiled.assembly`). What the table does not hold is refused with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.codelets.compiled.assembler_text import Macros, constant
from simulator.codelets.compiled.assembly import MARK, TRANSLATED
from simulator.codelets.compiled.instruction_table import INSTRUCTIONS, Instruction

#: A string as C++ writes it.
_STRING = re.compile(r'R"([^(]*)\(((?:.|\n)*?)\)\1"|"((?:[^"\\]|\\.)*)"')
_BEGIN = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|inline)\s*)*\(")
#: A variable that the programmer ties to a register.
_TIED = re.compile(r'\bregister\b(?P<declared>[^;={}]*?)\b(?:asm|__asm__|__asm)\s*\(\s*"\$[am]\d+(?::\d+)?"\s*\)')
_COMMENT = re.compile(r"/\*(?:.|\n)*?\*/|(?://|#).*")
_NO_INSTRUCTION = re.compile(r"\s*(?:$|\.|[\w.$]+:\s*$)")
#: The code of a codelet, which a supervisor runs on its workers.
_CODE = re.compile(r"__runCodelet_\w+")
_LABEL = re.compile(r"\s*([.\w$]+):")
_IGNORED = (".align", ".allow_optimizations", ".p2align", ".balign")
_OPERAND = re.compile(r"%\[(\w+)\]|%(\d+)")
_REGISTER = re.compile(r"\$(m|a)(\d+)(?::(\d+))?")
_NAMED = {"$mzero": "$m15", "$azero": "$a15", "$azeros": "$a14:15"}
_READ_REGISTERS = {
    "$WSR": "static_cast<int>(popvision_worker())",
    "$COUNT_L": "static_cast<int>(popvision_ipu_get_scount_l())",
    "$COUNT_U": "static_cast<int>(popvision_ipu_get_scount_u())",
}
_WRITTEN_REGISTERS = {"$FP_CLR": "tile::CLEAR", "$TAS": "tile::SCALE"}
#: Numbers that an operand may be, by its letter.
_NUMBERS = {"G": (0, 1, 4), "T": (3,)}
_BYTES, _BUNDLE_BYTES = 4, 8
#: What expressions in operands are made of.
_TOKEN = re.compile(r"%\[\w+\]|%\d+|[.\w$]+|<<|>>|[-+*/()|&^~]|\s+")
#: Where an operand stands in the code of the table.
_PLACE = re.compile(r"@(\d+w?)")


class NotCoveredError(Exception):
    """An instruction or an operand that is not covered; `text`: as it is written."""

    def __init__(self, text: str, why: str = "") -> None:
        super().__init__(text)
        self.text, self.why = text, why


@dataclass
class _Bundle:
    """One or two instructions: (entry of the table, operands as written, the text)."""

    instructions: list[tuple[Instruction, list[str], str]]
    braces: bool
    labels: list[str] = field(default_factory=list)  #: that stand before it
    at: int = 0  #: its address


@dataclass(frozen=True)
class _Operand:
    """An operand of the statement. `kind`: "=", "+" or "" for one that is only read; `cell`: where it is."""

    name: str
    kind: str
    expression: str
    cell: int


def plain_variables(text: str) -> str:
    """The text with variables that are tied to registers as plain variables."""
    return _TIED.sub(lambda found: found["declared"], text)


def statements(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(begin, end, sections) of each asm statement: its template, outputs, inputs and clobbers as written."""
    for statement in _BEGIN.finditer(text):
        sections, end = _sections(text, statement.end())
        if end:
            yield statement.start(), end, sections


def _sections(text: str, begin: int) -> tuple[list[str], int]:
    """The parts between colons up to the closing parenthesis, and the place behind it (0 where there is none)."""
    sections: list[str] = []
    depth, at, start = 0, begin, begin
    while at < len(text):
        letter = text[at]
        string = _STRING.match(text, at) if letter in 'R"' else None
        if string:
            at = string.end()
            continue
        if depth == 0 and letter in ":)":
            sections.append(text[start:at])
            start = at + 1
            if letter == ")":
                return sections, at + 1
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        at += 1
    return [], 0


def template_text(section: str) -> str:
    """The template of an asm statement: its strings, joined."""
    parts = []
    for string in _STRING.finditer(section):
        parts.append(
            string[2] if string[3] is None else string[3].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        )
    return "".join(parts)


def translated(sections: Sequence[str], number: int, is_covered: bool, macros: Macros) -> str:
    """C++ for a statement, in one line; "" where it holds nothing. Raises NotCoveredError, without `is_covered` for any
    instruction."""
    template = _COMMENT.sub("", template_text(sections[0])).replace("%=", str(number))
    if not is_covered:
        for line in template.split("\n"):
            if not _NO_INSTRUCTION.match(line):
                raise NotCoveredError(" ".join(line.split()))
        return ""
    if not template.strip():
        return ""
    bundles, end_labels = _bundles(macros.expanded(template))
    if not bundles:
        return "do { } while (0)"
    operands = _operands(sections)
    body = _Body(operands, bundles, end_labels, number).text()
    return _statement(operands, body, number, sorted(set(_CODE.findall(template))))


def _operands(sections: Sequence[str]) -> list[_Operand]:
    operands: list[_Operand] = []
    for is_output, section in zip((True, False), sections[1:3], strict=False):
        for part in _parts(section):
            operand = re.fullmatch(r'\s*(?:\[\s*(\w+)\s*\])?\s*"([^"]*)"\s*\(((?:.|\n)*)\)\s*', part)
            if operand is None:
                raise NotCoveredError(" ".join(part.split()), "operand")
            constraint = operand[2].replace("&", "").strip()
            kind = constraint[0] if is_output and constraint[:1] in "=+" else ""
            letters = constraint.lstrip("=+")
            tied = int(letters) if letters.isdecimal() else len(operands)
            if not letters.isdecimal() and not set(letters) <= set("rin"):
                raise NotCoveredError(f'"{operand[2]}"', "constraint")
            operands.append(_Operand(operand[1] or "", kind, " ".join(operand[3].split("\n")), tied))
    return operands


def _parts(section: str) -> list[str]:
    """Split at commas outside parentheses and strings."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(section):
        letter = section[at]
        string = _STRING.match(section, at) if letter in 'R"' else None
        if string:
            at = string.end()
            continue
        if letter == "," and depth == 0:
            parts.append(section[start:at])
            start = at + 1
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        at += 1
    return [part for part in [*parts, section[start:]] if part.strip()]


def _statement(operands: Sequence[_Operand], body: str, number: int, codes: Sequence[str]) -> str:
    """The block that calls the function of a statement. `codes`: of codelets that it runs on the workers; then the
    vertex is in $m0, where a supervisor has it."""
    name = f"{TRANSLATED}{number}"
    types = [f"using popvision_t{k} = std::decay_t<decltype({o.expression})>;" for k, o in enumerate(operands)]
    read = [(k, o) for k, o in enumerate(operands) if o.kind != "="]
    written = [(k, o) for k, o in enumerate(operands) if o.kind]
    results = " ".join(f"popvision_t{k} o{k};" for k, _ in written)
    arguments = ", ".join([*(["void *vertex"] if codes else []), *(f"popvision_t{k} i{k}" for k, _ in read)])
    cells = "".join(f"tile::set(r.o[{o.cell}], i{k}); " for k, o in read)
    cells += "r.m[0].word = reinterpret_cast<long long>(vertex); " if codes else ""
    cells += "".join(f'void popvision{code}(void *, unsigned) __asm__("{code}"); ' for code in codes)
    values = ", ".join(f"tile::get<popvision_t{k}>(r.o[{o.cell}])" for k, o in written)
    registers = f"struct registers {{ tile::Cell m[16]; unsigned a[16]; tile::Cell o[{max(len(operands), 1)}]; }};"
    function = (
        f"[[gnu::noinline]] static {name} run({arguments}) {{ namespace tile = popvision::tile; using tile::Read; "
        f"{registers} registers r = {{}}; {cells} {body} return {{{values}}}; }}"
    )
    call = f"{name}::run({', '.join([*(['this'] if codes else []), *(o.expression for _, o in read)])})"
    back = " ".join(f"{o.expression} = popvision_made.o{k};" for k, o in written)
    call = f"[[maybe_unused]] const {name} popvision_made = {call};"
    return f"do {{ {' '.join(types)} struct {name} {{ {results} {function} }}; {call} {back} }} while (0)"


def _bundles(text: str) -> tuple[list[_Bundle], list[str]]:
    """The bundles of a template, and the labels behind the last. Raises NotCoveredError for what the table lacks."""
    bundles: list[_Bundle] = []
    labels: list[str] = []
    inside: list[str] | None = None
    aligned: list[bool] = []
    pending = False
    for piece in re.split(r"([{};\n])", text):
        if piece == "{":
            inside = []
            continue
        if piece == "}":
            bundles.append(_Bundle([_parsed(one) for one in inside or []], True, labels))
            aligned.append(pending)
            inside, labels, pending = None, [], False
            continue
        line = piece
        while found := _LABEL.match(line):
            labels = [*labels, found[1]]
            line = line[found.end() :]
        line = " ".join(line.split())
        if not line or piece in ";\n":
            continue
        if line.startswith(_IGNORED):
            pending = pending or "align" in line
            continue
        if inside is not None:
            inside.append(line)
        else:
            bundles.append(_Bundle([_parsed(line)], False, labels))
            aligned.append(pending)
            labels, pending = [], False
    at = 0
    for bundle, is_aligned in zip(bundles, aligned, strict=True):
        at += -at % _BUNDLE_BYTES if is_aligned or bundle.braces else 0
        bundle.at = at
        at += _BUNDLE_BYTES if bundle.braces else _BYTES
    return bundles, labels


def _parsed(line: str) -> tuple[Instruction, list[str], str]:
    name, _, rest = line.partition(" ")
    operands = [part.strip() for part in _parts(rest)]
    if name == "mov" and len(operands) == 2:
        return _move(operands, line)
    if name == "br" and len(operands) == 1 and not operands[0].startswith(("$", "%")):
        name = "bri"
    instruction = INSTRUCTIONS.get(name)
    if (
        instruction is not None
        and instruction.operands[1:] == "WWW"
        and len(operands) == 3
        and name[:2] in ("ld", "st")
    ):
        operands.insert(2, "$mzero")
    if instruction is None or len(operands) != len(instruction.operands):
        raise NotCoveredError(line)
    return instruction, operands, line


def _move(operands: list[str], line: str) -> tuple[Instruction, list[str], str]:
    """A move of a register or a pair to another."""
    if ":" in operands[0] or operands[0] == "$azeros" or ":" in operands[1] or operands[1] == "$azeros":
        code = "const unsigned moved[2] = {@1[0], @1[1]}; @0w[0] = moved[0]; @0w[1] = moved[1];"
        return Instruction("mov", "22", code, "words"), operands, line
    return Instruction("mov", "WW", "@0w = @1;", "words"), operands, line


class _Body:
    """The statements of a translated template."""

    def __init__(self, operands: Sequence[_Operand], bundles: list[_Bundle], ends: list[str], number: int) -> None:
        self._operands, self._bundles, self._number = operands, bundles, number
        last = bundles[-1]
        self._end = last.at + (_BUNDLE_BYTES if last.braces else _BYTES)
        self._places = [(label, k) for k, bundle in enumerate(bundles) for label in bundle.labels]
        self._places += [(label, len(bundles)) for label in ends]
        self._jumps: set[int] = set()  #: bundles that a branch leads to
        self._loops: dict[int, int] = {}  #: bundle of rpt -> the bundle behind its body

    def text(self) -> str:
        codes = [self._bundle(k, bundle) for k, bundle in enumerate(self._bundles)]
        before = [""] * (len(codes) + 1)
        after = [""] * len(codes)
        for k, behind in self._loops.items():
            name = self._repeat(k)
            before[k + 1] = f"if ({name} <= 0) goto {name}_end; {name}_again:;"
            after[behind - 1] += f"if (--{name} > 0) goto {name}_again; {name}_end:;"
        for k in self._jumps:
            before[k] = f"{self._at(k)}:; {before[k]}"
        counts = [f"long long {self._repeat(k)} = 0;" for k in self._loops]
        return " ".join(
            [*counts, *(part for parts in zip(before, codes, after, strict=False) for part in parts), before[-1]]
        )

    def _at(self, k: int) -> str:
        return f"popvision_at_{self._number}_{k}"

    def _repeat(self, k: int) -> str:
        return f"popvision_repeat_{self._number}_{k}"

    def _bundle(self, k: int, bundle: _Bundle) -> str:
        """A branch comes last, as the other instruction of its bundle is done whatever it decides."""
        source = "s" if len(bundle.instructions) > 1 else "r"
        slots = max(instruction.slots() for instruction, _, _ in bundle.instructions)
        flops = sum(one.flops for one, _, _ in bundle.instructions)
        code = [f'asm volatile("{MARK} {len(bundle.instructions)} {slots} {flops}");']
        if source == "s":
            code.append("const registers s = r;")
        for instruction, operands, text in sorted(bundle.instructions, key=lambda part: part[0].family == "branches"):
            values = self._values(instruction, operands, text, source, k)
            if instruction.name == "rpt":
                self._loops[k] = self._body_of(k, operands[1], text)
                code.append(f"{self._repeat(k)} = {values['0']};")
            else:
                code.append(_with_operands(instruction.code, values))
        return f"{{ {' '.join(code)} }}"

    def _body_of(self, k: int, last: str, text: str) -> int:
        """The number of the bundle behind the body of rpt, whose last bundle has the number `last`."""
        try:
            end = self._bundles[k + 1].at + _BUNDLE_BYTES * (self._number_of(last, k) + 1)
        except (ValueError, LookupError) as error:
            raise NotCoveredError(text, "body") from error
        for j in range(k + 1, len(self._bundles) + 1):
            at = self._bundles[j].at if j < len(self._bundles) else self._end
            if at >= end:
                return j
        raise NotCoveredError(text, "body")

    def _values(self, instruction: Instruction, operands: list[str], text: str, source: str, k: int) -> dict[str, str]:
        values: dict[str, str] = {}
        for i, (kind, written) in enumerate(zip(instruction.operands, operands, strict=True)):
            try:
                read, write = self._operand(kind, written, source, k)
            except (ValueError, LookupError) as error:
                raise NotCoveredError(text, written) from error
            values[str(i)], values[f"{i}w"] = read, write
        return values

    def _operand(self, kind: str, written: str, source: str, k: int) -> tuple[str, str]:
        """An operand as it is read and as it is written. Raises ValueError or KeyError."""
        if kind == "L":
            return self._label(written, k), ""
        if kind == "C":
            return (_READ_REGISTERS | _WRITTEN_REGISTERS)[written], ""
        if kind in _NUMBERS:
            number = self._number_of(written, k)
            if number not in _NUMBERS[kind]:
                raise ValueError(written)
            return str(number), ""
        if kind in "PQ":
            if not written.endswith("+="):
                raise ValueError(written)
            written = written.removesuffix("+=").strip()
        written = _NAMED.get(written, written)
        name, _, repeated = written.partition(":B")
        operand = _OPERAND.fullmatch(name)
        if operand is not None:
            cell = self._cell(operand)
            if name != written:
                return _repeated(f"{source}.o[{cell}].words[0]", repeated), ""
            if kind in "WPQKI":
                return f"{source}.o[{cell}].word", f"r.o[{cell}].word"
            return f"{source}.o[{cell}].words", f"r.o[{cell}].words"
        if kind == "I" and _CODE.fullmatch(written):
            return f"reinterpret_cast<long long>(&popvision{written})", ""
        if kind in "WI" and not written.startswith("$"):
            return self._expression(written, source, k), ""
        return _register(kind, written, source)

    def _cell(self, written: re.Match[str]) -> int:
        if written[2] is not None:
            return self._operands[int(written[2])].cell
        return {operand.name: operand.cell for operand in self._operands}[written[1]]

    def _expression(self, written: str, source: str, k: int) -> str:
        """An expression of numbers, labels and operands that are numbers."""
        parts = _TOKEN.findall(written)
        if "".join(parts).split() != written.split() or not any(part.strip() for part in parts):
            raise ValueError(written)
        terms = []
        for part in parts:
            operand = _OPERAND.fullmatch(part)
            if operand is not None:
                terms.append(f"{source}.o[{self._cell(operand)}].word")
            elif part[0].isalnum() or part[0] in "._$":
                terms.append(f"{self._number_of(part, k)}ll")
            else:
                terms.append(part)
        return f"({''.join(terms)})"

    def _number_of(self, written: str, k: int) -> int:
        """A number, or an expression of numbers and labels."""

        def value(found: re.Match[str]) -> str:
            if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[bB][01]+|\d+", found[0]):
                return str(int(found[0], 0))
            number = self._bundle_of(found[0], k)
            return str(self._bundles[number].at if number < len(self._bundles) else self._end)

        plain = re.sub(r"[.\w$]+", value, written)
        if not re.fullmatch(r"[-+*/()\d\s]+", plain):
            raise ValueError(written)
        return constant(plain)

    def _label(self, written: str, k: int) -> str:
        number = self._bundle_of(written, k)
        self._jumps.add(number)
        return self._at(number)

    def _bundle_of(self, label: str, k: int) -> int:
        """The bundle that a label stands before, as seen from bundle `k`."""
        local = re.fullmatch(r"(\d+)([bf])", label)
        if local is None:
            return dict(self._places)[label]
        places = [place for name, place in self._places if name == local[1]]
        if local[2] == "b":
            return max(place for place in places if place <= k)
        return min(place for place in places if place > k)


def _with_operands(code: str, values: Mapping[str, str]) -> str:
    """The code of the table with the values of its operands."""
    return _PLACE.sub(lambda place: values[place[1]], code)


def _register(kind: str, written: str, source: str) -> tuple[str, str]:
    """A register as the instruction reads and writes it; numbers 14 and 15 are zeros that keep nothing."""
    name, _, repeated = written.partition(":B")
    register = _REGISTER.fullmatch(name)
    if register is None:
        raise ValueError(written)
    file, first = register[1], int(register[2])
    last = int(register[3]) if register[3] else first
    if file == "m":
        if first in (11, 12, 13, 14):  # addresses of the tile: stack, vertex and worker
            raise ValueError(written)
        if (kind in "QK" and last == first + 1) or (kind in "WP" and last == first):
            zero = first == 15
            return ("0ll" if zero else f"{source}.m[{first}].word"), f"r.m[{first}].word"
        raise ValueError(written)
    if ":B" in written:
        return _repeated(f"{source}.a[{first}]", repeated), ""
    zero = first >= 14
    if kind == "W":
        return ("0ll" if zero else f"static_cast<long long>(static_cast<int>({source}.a[{first}]))"), f"r.a[{first}]"
    if kind not in "124" or last - first + 1 != int(kind):
        raise ValueError(written)
    return ("tile::Repeated(0)" if zero else f"Read({source}.a + {first})"), f"(r.a + {first})"


def _repeated(word: str, which: str) -> str:
    """A word, or its lower or upper half, for all elements of a vector."""
    value = {"": word, "L": f"tile::both({word} & 0xffff)", "U": f"tile::both({word} >> 16)"}[which]
    return f"tile::Repeated({value})"
