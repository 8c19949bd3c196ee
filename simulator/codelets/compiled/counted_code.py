"""Code bytes of compiled codelets: the instructions of all blocks of a vertex's functions, four bytes each.

The code that is counted for cycles (`simulator.codelets.compiled.counted_costs`), without the loops of the host over
rows and workers: every block of `compute` and of the functions of any source that it reaches counts once, by the same
table, with the same instructions of entry and exit. Functions of the mathematical library and integer division are a
call: what they link is not known. Functions that types share on a tile count for each, as for vertices of libraries.

A guess: the code is what the compiler of this machine makes of the source, translated. Processors other than x86-64
have no translation: each of their instructions is one of a tile.
"""

from __future__ import annotations

import functools
import json
import platform
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.codelets.compiled.assembly import CODE, DIRECTIVE, JUMP, LABEL, instrumented
from simulator.codelets.compiled.counted_objects import counted_name, is_translated, plain_assembly
from simulator.codelets.compiled.host_compiler import DamagedCacheError, cached_description
from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.source import CompilationFailed
from simulator.codelets.compiled.tile_operations import TABLE_FUNCTIONS, kept_operands, operations
from simulator.codelets.compiled.unit import Unit, code_symbol
from simulator.codelets.count_run import ENTRY
from simulator.graph.vertices import CompiledClass
from simulator.machine.code_bytes import INSTRUCTION_BYTES
from simulator.machine.instructions import CALLS, OperationCounts
from simulator.machine.vertex_code import VertexCode, unknown_code

_FUNCTION = re.compile(r"\s*\.type\s+([^,\s]+),\s*[@%]function")
_SYMBOL = re.compile(r"(?<![%\w.])[A-Za-z_][\w.$]*")
_ANY_INSTRUCTION = re.compile(r"\s+[a-z][\w.]*(.*)")


@dataclass(frozen=True)
class FunctionCode:
    """A function's code. `operations`: those of all its blocks, each once, by the names of the instruction table.
    `uses`: functions that it calls, jumps to or takes the address of."""

    operations: dict[str, int]
    uses: tuple[str, ...]


def counted_code(program: Callable[[Mapping[str, str]], Program], class_: CompiledClass) -> VertexCode:
    """The code of a vertex class. `program`: `CodeletLibrary.program`."""
    try:
        code = [_functions(unit) for unit in program({}).units]
    except CompilationFailed:
        return unknown_code("a codelet that does not compile without vectorisation")
    except DamagedCacheError:
        return unknown_code("a codelet whose counted code comes back damaged from the cache of compiled codelets")
    own = [table for table in code if code_symbol(class_) in table]
    if not own:
        return unknown_code("a codelet whose code is in no source")
    return _of_functions(_reached(code_symbol(class_), own[0], code))


def _reached(symbol: str, own: Mapping[str, FunctionCode], all_: list[dict[str, FunctionCode]]) -> list[FunctionCode]:
    """The function and those that it reaches; a name means the function of the same source, else of any other."""
    reached: list[FunctionCode] = []
    seen: set[tuple[int, str]] = set()
    left = [(symbol, own)]
    while left:
        name, here = left.pop()
        table = next((table for table in (here, *all_) if name in table), None)
        if table is None or (id(table), name) in seen:
            continue
        seen.add((id(table), name))
        reached.append(table[name])
        left += [(used, table) for used in table[name].uses if used not in TABLE_FUNCTIONS]
    return reached


def _of_functions(reached: list[FunctionCode]) -> VertexCode:
    counts = OperationCounts()
    counts.add("integer", ENTRY)
    for function in reached:
        counts.add_block(function.operations, 1)
    number = counts.instructions()
    source = f"guess: {number} instructions in what the compiler here makes of the codelet, 4 B each ({counts.text()})"
    if not is_translated():
        source = f"guess: {number} instructions of {platform.machine()} in the compiled codelet, untranslated, 4 B each"
    calls = [name for name in CALLS if name in counts.counts]
    if calls:
        source += f"; without the functions of {', '.join(calls)}"
    return VertexCode(number * INSTRUCTION_BYTES, source)


@functools.lru_cache(maxsize=64)
def _functions(unit: Unit) -> dict[str, FunctionCode]:
    """The functions of a unit. Raises CompilationFailed and DamagedCacheError."""
    return cached_description(f"{counted_name(unit, 'code')}.json", lambda path: _describe(unit, path), _read)


def _read(table: Any) -> dict[str, FunctionCode]:
    return {name: FunctionCode(dict(one["operations"]), tuple(one["uses"])) for name, one in table.items()}


def _describe(unit: Unit, path: Path) -> None:
    read = functions if is_translated() else untranslated_functions
    found = read(plain_assembly(unit.source, unit.code_text(), path))
    path.write_text(json.dumps({name: {"operations": one.operations, "uses": one.uses} for name, one in found.items()}))


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
        label = LABEL.match(line)
        if label and label[1] in names:
            lines = texts.setdefault(label[1], [])
        lines.append(line)
    return texts


def _untranslated(name: str, text: list[str]) -> FunctionCode:
    """`uses` has every name in an operand; those that are no functions, such as registers, are in no table."""
    count, used = 0, set[str]()
    code = True
    for line in text:
        directive = DIRECTIVE.match(line)
        if directive and directive[1] in ("text", "section", "data", "bss"):
            code = bool(CODE.match(line))
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
        counts["load"] += len(kept_operands(block))  # they are loaded before the loop
        for mnemonic, operands, _ in block.instructions:
            symbols = {symbol for operand in operands for symbol in _SYMBOL.findall(operand)}
            used |= symbols & names - {name}
            if mnemonic.startswith("call") or JUMP.fullmatch(mnemonic):
                called |= {operand.split("@")[0] for operand in operands if _SYMBOL.match(operand)}
    return FunctionCode(dict(+counts), tuple(sorted(used | called - {name})))
