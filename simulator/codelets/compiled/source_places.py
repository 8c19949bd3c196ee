"""Where the vectors of a source are in the compiler's assembly: notes behind instructions.

g++ for x86-64 has no instruction for halves, and one for four floats where a tile needs two. Its dump before it takes
vectors apart (`DUMP`) says at which line and column of the source an operation makes, loads or stores a vector of which
type; the line table of the assembly (`.loc`) says of which line and column an instruction is. `with_notes` joins both:

    vaddss %xmm2, %xmm0, %xmm0    # popvision vector 4 2 f 17

is one of the instructions that the compiler made of place 17, an operation on 4 elements of 2 bytes, numbers with a
point ("f"; "i" for whole ones). What else debug information adds to the assembly is taken out, since labels would cut
blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The pass that takes vectors apart, and where its dump goes. The names are those of g++.
DUMP = "-fdump-tree-veclower21-lineno={}"
VECTOR = "# popvision vector"

_FUNCTION = re.compile(r";; Function .*\((\S+), funcdef_no=")
_DECLARATION = re.compile(r"  ([^=;]+?) \*?([\w.$]+);$")
_STATEMENT = re.compile(r"\s+\[([^\]]*?):(\d+):(\d+)(?: discrim \d+)?\] (.+?) = (.+);$")
_VECTOR_TYPE = re.compile(r"vector\((\d+)\) (.+)")
_TYPEDEF = re.compile(
    r"typedef\s+([\w ]+?)\s+(\w+)\s+__attribute__\s*\(\(\s*(?:__)?vector_size(?:__)?\s*\(([^;]*?)\)\s*[,)]"
)
_COUNT_OF = re.compile(r"(\d+)\s*\*\s*sizeof")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_DEBUG_LABEL = re.compile(r"\.L(?:VL|BB|BE|BI|FB|FE|FSB|FSE|text|etext|cold|ecold|LRL|debug\w*|ASF|Frame\w*)\d*:")
_SYMBOL = re.compile(r"\s*\.type\s+([^,\s]+),\s*[@%]function")
_INSTRUCTION = re.compile(r"\s+[a-z]")
_SIZES = {"char": 1, "short": 2, "_Float16": 2, "half": 2, "int": 4, "float": 4, "double": 8, "long": 8}


@dataclass(frozen=True)
class VectorType:
    """Elements, their bytes, and whether they have a point."""

    elements: int
    size: int
    is_float: bool


Place = tuple[str, str, int, int]  #: function, file's name, line, column


def with_notes(assembly: str, dump: str, text: str) -> str:
    """The assembly with a note behind each instruction of a vector, without debug information.
    `dump`: as `DUMP` makes it, "" for none; `text`: the source."""
    places = _vector_places(dump, _vector_names(text))
    numbers: dict[Place, int] = {}
    files: dict[str, str] = {}
    function, note = "", ""
    lines: list[str] = []
    is_debug = False
    for line in assembly.splitlines():
        if line.startswith("\t.section"):
            is_debug = ".debug_" in line
        elif line.startswith(("\t.text", "\t.data", "\t.bss")):
            is_debug = False
        if is_debug or _DEBUG_LABEL.match(line):
            continue
        if symbol := _SYMBOL.match(line):
            function, note = symbol[1], ""
        if file := _FILE.match(line):
            files[file[1]] = file[2].rpartition("/")[2]
        elif location := _LOCATION.match(line):
            place = (function, files.get(location[1], ""), int(location[2]), int(location[3]))
            note = _note(place, places.get(place), numbers)
        else:
            lines.append(f"{line}\t{note}" if note and _INSTRUCTION.match(line) else line)
    return "\n".join(lines) + "\n"


def _note(place: Place, type_: VectorType | None, numbers: dict[Place, int]) -> str:
    if type_ is None:
        return ""
    number = numbers.setdefault(place, len(numbers))
    return f"{VECTOR} {type_.elements} {type_.size} {'f' if type_.is_float else 'i'} {number}"


def _vector_names(text: str) -> dict[str, VectorType]:
    """The types of vectors that a source names."""
    names: dict[str, VectorType] = {}
    for element, name, size in _TYPEDEF.findall(text):
        scalar = _scalar(element)
        if scalar is None:
            continue
        count = _COUNT_OF.search(size)
        if count or size.strip().isdecimal():
            elements = int(count[1]) if count else int(size) // scalar.size
            names[name] = VectorType(elements, scalar.size, scalar.is_float)
    return names


def _scalar(name: str) -> VectorType | None:
    if found := re.fullmatch(r"<signed-boolean:(\d+)>", name):
        return VectorType(1, max(1, int(found[1]) // 8), True)
    if name.split() == ["unsigned"]:
        return VectorType(1, 4, False)
    known = [word for word in name.split() if word in _SIZES]
    if not known:
        return None
    size = _SIZES["short" if "short" in known else known[0]]
    return VectorType(1, size, known[0] in ("_Float16", "half", "float", "double"))


def _vector(type_: str, names: dict[str, VectorType]) -> VectorType | None:
    plain = re.sub(r"\b(?:const|volatile|struct)\b ?", "", type_).strip()
    found = _VECTOR_TYPE.fullmatch(plain)
    if found is None:
        return names.get(plain)
    scalar = _scalar(found[2])
    return scalar and VectorType(int(found[1]), scalar.size, scalar.is_float)


def _vector_places(dump: str, names: dict[str, VectorType]) -> dict[Place, VectorType]:
    """The type of the vector that the operation at each place makes, loads or stores."""
    places: dict[Place, VectorType] = {}
    function = ""
    types: dict[str, VectorType] = {}
    for line in dump.splitlines():
        if found := _FUNCTION.match(line):
            function, types = found[1], {}
        elif line.endswith(")") and not line.startswith(" ") and function:
            for parameter in line.partition("(")[2][:-1].split(", "):
                type_, _, name = parameter.rpartition(" ")
                if vector := _vector(type_, names):
                    types[name] = vector
        elif found := _DECLARATION.match(line):
            if (vector := _vector(found[1], names)) and "*" not in line:
                types[found[2]] = vector
        elif found := _STATEMENT.match(line):
            vector = _type_of(found[4], types) or _type_of(found[5], types)
            if vector is not None:
                places[(function, found[1].rpartition("/")[2], int(found[2]), int(found[3]))] = vector
    return places


def _type_of(operand: str, types: dict[str, VectorType]) -> VectorType | None:
    """Of a variable or one of its versions ("f_13", "_7")."""
    name = operand.removesuffix("(D)")
    return types.get(name) or types.get(re.sub(r"_\d+$", "", name) or name)
