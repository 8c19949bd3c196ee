"""Object files of codelets with counters in their basic blocks, made from the assembly of one compilation.

- `counted_object`: a counter in memory for each block, for the costs of vertices that run on made-up data;
- `counting_program`: blocks that add their slots to a register, for vertices that run on the program's own data.

The assembly is compiled without vectorisation, an instruction for an operation.
"""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from simulator.base.errors import link_error
from simulator.codelets.compiled import slot_counting
from simulator.codelets.compiled.assembly import instrumented
from simulator.codelets.compiled.cycle_counter import reads_counter, with_begins
from simulator.codelets.compiled.host_compiler import DamagedCacheError, cached, cached_description, compiler
from simulator.codelets.compiled.linking import Program, linked
from simulator.codelets.compiled.source import CompilationFailed, Preprocessed
from simulator.codelets.compiled.source_places import DUMP, with_notes
from simulator.codelets.compiled.tile_operations import operations
from simulator.codelets.compiled.unit import Unit, compile_text
from simulator.codelets.counted_functions import NotCountableError

#: Flags before the user's, and after them: one instruction for one operation, and room for counters.
_BEFORE = {"c++": ("-std=c++17", "-O2"), "c": ("-std=gnu11", "-O2")}
_AFTER = (
    "-S",
    "-g1",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "-fno-tree-loop-distribute-patterns",
    "-fno-unroll-loops",
    "-fpeel-loops",
    "--param=max-peel-times=0",
    "-fno-schedule-insns",
    "-fno-schedule-insns2",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
)
_AFTER_ON_X86 = ("-fcf-protection=none", "-mno-red-zone")
#: Part of the names of cached files; goes up when `operations` counts otherwise.
RULES = 7


@dataclass(frozen=True)
class WithObjects(Program):
    """The same units, with other object files."""

    objects: tuple[Path, ...] = ()

    def path(self) -> Path:
        return linked(self.objects, self.external)


@dataclass(frozen=True)
class CountedProgram(Program):
    """The same units, whose vertices count their slots."""

    counts: ClassVar[bool] = True

    def path(self) -> Path:
        """The executable file. Raises link_error, and NotCountableError where the code cannot be counted."""
        try:
            objects = [_slot_object(unit, self.timed) for unit in self.units]
        except CompilationFailed as error:
            raise NotCountableError("does not compile without vectorisation") from error
        return linked(objects, self.external)


class TimedProgram(CountedProgram):
    """The same, with the begin of each vertex noted for those that read the cycle counter."""

    timed: ClassVar[bool] = True


def counting_program(program: Program) -> Program:
    """The program whose vertices count, or the program itself where its code cannot be counted. Raises link_error where
    it then cannot read the cycle counter."""
    timed = reads_counter(program)
    counted = (TimedProgram if timed else CountedProgram)(program.units, program.external)
    try:
        counted.path()
    except NotCountableError as reason:
        if timed:
            raise link_error(f"Codelets read the cycle counter of their tile, but their code {reason}.") from None
        return program
    return counted


def counted_object(unit: Unit, with_slots: bool) -> tuple[Path, list[dict[str, int]]]:
    """The object file of a unit with a counter for each block, and the operations of each block. `with_slots`: all
    units of the program count their slots too."""
    what = "both" if with_slots else "counted"

    def describe(path: Path) -> None:
        text = unit.text()
        plain = plain_assembly(unit.source, text, path)
        if with_slots:
            fixed = plain_assembly(unit.source, text, path, slot_counting.FLAGS)
            assembly, blocks = slot_counting.slot_counting(fixed, plain, unit.key)
        else:
            assembly, blocks = instrumented(plain, unit.key)
        path.write_text(json.dumps({"assembly": assembly, "blocks": [operations(block) for block in blocks]}))

    assembly, blocks = _described(unit, what, describe, _read)
    return _assembled(unit, what, assembly), blocks


def _slot_object(unit: Unit, timed: bool) -> Path:
    """The object file of a unit that counts slots, and, if `timed`, notes the begin of each vertex."""
    if not is_translated():
        raise NotCountableError(f"is compiled for {platform.machine()}, whose instructions have no table")

    def describe(path: Path) -> None:
        text = with_begins(unit.text()) if timed else unit.text()
        fixed = plain_assembly(unit.source, text, path, slot_counting.FLAGS)
        called = slot_counting.calls_back(fixed)
        assembly = "" if called else slot_counting.slot_counting(fixed, plain_assembly(unit.source, text, path))[0]
        path.write_text(json.dumps({"assembly": assembly, "calls_back": called}))

    def read(description: Any) -> tuple[str, str]:
        return str(description["assembly"]), str(description["calls_back"])

    what = "begins" if timed else "slots"
    assembly, called = _described(unit, what, describe, read)
    if called:
        raise NotCountableError(f"gives its functions to {called} of the C library, which has no count")
    return _assembled(unit, what, assembly)


Description = TypeVar("Description")


def _described(
    unit: Unit, what: str, describe: Callable[[Path], None], read: Callable[[Any], Description]
) -> Description:
    """A description in the cache. Raises NotCountableError where it comes back damaged."""
    try:
        return cached_description(f"{counted_name(unit, what)}.json", describe, read)
    except DamagedCacheError as error:
        raise NotCountableError("has a count that comes back damaged from the cache of compiled codelets") from error


def _assembled(unit: Unit, what: str, assembly: str) -> Path:
    def make(path: Path) -> None:
        text = path.with_suffix(".s")
        text.write_text(assembly)
        code, messages = compiler().run(["-c", str(text), "-o", str(path)])
        if code != 0:
            raise NotCountableError(f"cannot be assembled with counters ({messages.strip()[:200]})")

    return cached(f"{counted_name(unit, what)}.o", make)


def _read(description: Any) -> tuple[str, list[dict[str, int]]]:
    assembly, blocks = description["assembly"], description["blocks"]
    if not isinstance(assembly, str):
        raise TypeError
    return assembly, [dict(block) for block in blocks]


def plain_assembly(source: Preprocessed, text: str, beside: Path, flags: Sequence[str] = ()) -> str:
    """The assembly of a text of this source, an instruction for an operation. `beside`: a file in a scratch folder;
    `flags`: further ones."""
    made, dump = beside.with_suffix(".s"), beside.with_suffix(".dump")
    after = (*_AFTER, *flags, *(_AFTER_ON_X86 if is_translated() else ()), *(("-mf16c",) if _converts_halves() else ()))
    compile_text(source, text, made, _BEFORE[source.language], (*after, DUMP.format(dump)))
    places = dump.read_text(errors="surrogateescape") if dump.exists() else ""
    return with_notes(made.read_text(), places, text)


def is_translated() -> bool:
    """Whether `simulator.codelets.compiled.assembly` knows this processor's instructions."""
    return platform.machine() in ("x86_64", "AMD64")


def counted_name(unit: Unit, what: str) -> str:
    """The name in the cache of something counted in a unit's assembly on this processor."""
    what = what if is_translated() else f"{what}.{platform.machine()}."
    return f"{unit.key}.{'half.' if _converts_halves() else ''}{what}{RULES}"


@functools.cache
def _converts_halves() -> bool:
    """Whether this x86-64 has an instruction that converts halves; calls instead would count as work."""
    try:
        return " f16c" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
