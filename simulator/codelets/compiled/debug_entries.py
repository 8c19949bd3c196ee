"""The debug information (DWARF) of an object file: members, types and offsets of classes, as the compiler has them.

Entries are parsed when they are reached, so that headers which no vertex uses cost nothing.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from simulator.arrays import AnyArray

#: Exceptions that pyelftools raises for broken files and entries.
UNREADABLE = (
    ELFError,
    DWARFError,
    ConstructError,
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
#: Rows of the tables of relocations and symbols (ELF64, little-endian).
_RELA = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_SYMBOL = np.dtype([("name", "<u4"), ("info", "<u2"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
#: Machine -> relocation that writes symbol + addend -> its bytes (R_X86_64_64, _32 and _32S; R_AARCH64_ABS64, _ABS32).
_ABSOLUTE = {"x64": {1: 8, 10: 4, 11: 4}, "AArch64": {257: 8, 258: 4}}
#: Types that stand for another one.
_ALIASES = ("typedef", "const_type", "volatile_type")
#: The longest chain of aliases that is followed; compilers make a handful.
_DEEPEST_ALIAS = 100


@dataclass(frozen=True)
class Entry:
    """One entry of the tree; tags and attributes are named without DW_TAG_ and DW_AT_."""

    die: DIE

    @property
    def tag(self) -> str:
        return str(self.die.tag or "").removeprefix("DW_TAG_")

    @property
    def name(self) -> str:
        value = self._value("name")
        return value.decode(errors="replace") if isinstance(value, bytes) else ""

    def has(self, attribute: str) -> bool:
        return f"DW_AT_{attribute}" in self.die.attributes

    def number(self, attribute: str) -> int:
        """A whole number; 0 when it is not there."""
        value = self._value(attribute)
        return int(value) if isinstance(value, int) else 0

    def _value(self, attribute: str) -> object:
        known = self.die.attributes.get(f"DW_AT_{attribute}")
        return None if known is None else known.value

    @property
    def children(self) -> Iterator[Entry]:
        return map(Entry, self.die.iter_children())

    def of(self, *tags: str) -> Iterator[Entry]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def type(self) -> Entry | None:
        """The type that the entry refers to, through typedefs, const and volatile; None for void."""
        at = self
        for _ in range(_DEEPEST_ALIAS):
            if not at.has("type"):
                return None
            at = Entry(at.die.get_DIE_from_attribute("DW_AT_type"))
            if at.tag not in _ALIASES:
                return at
        return None

    def path(self) -> str:
        """The qualified name of where it is declared, "" at the outermost level."""
        names = []
        at = self.die.get_parent()
        while at is not None and Entry(at).tag not in ("compile_unit", "type_unit"):
            names.append(Entry(at).name)
            at = at.get_parent()
        return "::".join(name for name in reversed(names) if name)


def variables(path: Path, prefix: str) -> Iterator[Entry]:
    """Variables of the outermost level of an object file whose names begin so.

    Broken debug information raises one of `UNREADABLE` here, or later where its entries are followed."""
    for unit in _debug_information(bytearray(path.read_bytes())).iter_CUs():
        for entry in Entry(unit.get_top_DIE()).of("variable"):
            if entry.name.startswith(prefix):
                yield entry


def _debug_information(file: bytearray) -> DWARFInfo:
    """The debug information of an object file, relocated. pyelftools relocates entry by entry, which takes longer than
    compiling; the plain absolute relocations that compilers use here are applied at once instead."""
    elf = ELFFile(io.BytesIO(file))
    relocations, target = elf.get_section_by_name(".rela.debug_info"), elf.get_section_by_name(".debug_info")
    symbols = elf.get_section_by_name(".symtab")
    if relocations is None or target is None or symbols is None or target.compressed or not elf.little_endian:
        return elf.get_dwarf_info()
    entries: AnyArray = np.frombuffer(relocations.data(), _RELA)
    values: AnyArray = np.frombuffer(symbols.data(), _SYMBOL)["value"]
    kinds = entries["kind"].astype(np.int64)
    absolute = _ABSOLUTE.get(elf.get_machine_arch(), {})
    if elf.elfclass != 64 or not set(np.unique(kinds).tolist()) <= set(absolute):
        return elf.get_dwarf_info()
    results = values[entries["symbol"]] + entries["addend"].astype(np.uint64)
    section = np.frombuffer(file, np.uint8)[target["sh_offset"] :][: target["sh_size"]]
    for kind, size in absolute.items():
        rows = kinds == kind
        places = entries["offset"][rows].astype(np.int64)[:, None] + np.arange(size)
        section[places] = results[rows].view(np.uint8).reshape(-1, 8)[:, :size]
    return ELFFile(io.BytesIO(file)).get_dwarf_info(relocate_dwarf_sections=False)
