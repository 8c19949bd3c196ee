"""Classes of an object file by its debug information: the compiler's own account of members, types and offsets."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simulator.base.errors import graph_program_compilation_error

_ENTRY = re.compile(r" <(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
_END = re.compile(r" <(\d+)><[0-9a-f]+>: Abbrev Number: 0")
# Newer versions of readelf put the form before a value: "(strp) (offset: 0x1f5): name", "(data1) 8".
_ATTRIBUTE = re.compile(
    r"    <[0-9a-f]+>\s+(DW_AT_\w+)\s*: (?:\((?!indirect)[a-z]\w*\) )?"
    r"(?:\((?:indirect (?:line )?string, )?offset: (?:0x)?[0-9a-f]+\): )?(.*)"
)
_KEPT = {
    "DW_AT_name",
    "DW_AT_type",
    "DW_AT_byte_size",
    "DW_AT_data_member_location",
    "DW_AT_const_value",
    "DW_AT_external",
    "DW_AT_declaration",
    "DW_AT_specification",
    "DW_AT_virtuality",
    "DW_AT_decl_line",
    "DW_AT_signature",
}


@dataclass
class Entry:
    """One entry of the tree; `tag` and names of `values` without DW_TAG_ and DW_AT_."""

    tag: str
    parent: Entry | None
    values: dict[str, str] = field(default_factory=dict)
    children: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.values.get("name", "")

    def number(self, attribute: str) -> int:
        """A whole number; 0 when it is not there."""
        text = self.values.get(attribute, "0").split()
        return int(text[0], 0) if text else 0

    def of(self, *tags: str) -> Iterator[Entry]:
        return (child for child in self.children if child.tag in tags)

    def path(self) -> str:
        """The qualified name of where it is declared, "" at the outermost level."""
        names = []
        at = self.parent
        while at is not None and at.tag != "compile_unit":
            names.append(at.name)
            at = at.parent
        return "::".join(name for name in reversed(names) if name)


class DebugEntries:
    """The entries of one object file."""

    def __init__(self, text: str) -> None:
        self._by_offset: dict[int, Entry] = {}
        stack: list[Entry] = []
        for line in text.splitlines():
            entry = _ENTRY.match(line)
            if entry:
                depth = int(entry[1])
                del stack[depth:]
                made = Entry(entry[3][7:], stack[-1] if stack else None)
                if stack:
                    stack[-1].children.append(made)
                stack.append(made)
                self._by_offset[int(entry[2], 16)] = made
            elif stack:
                attribute = _ATTRIBUTE.match(line)
                if attribute and attribute[1] in _KEPT:
                    stack[-1].values[attribute[1][6:]] = attribute[2].strip()

    def type_of(self, entry: Entry) -> Entry | None:
        """The type that an entry refers to, through typedefs and const."""
        reference = re.match(r"<0x([0-9a-f]+)>", entry.values.get("type", ""))
        found = self._by_offset.get(int(reference[1], 16)) if reference else None
        if found is not None and found.tag in ("typedef", "const_type", "volatile_type"):
            return self.type_of(found)
        return found

    def is_const(self, entry: Entry) -> bool:
        """Whether the type that an entry refers to is const."""
        reference = re.match(r"<0x([0-9a-f]+)>", entry.values.get("type", ""))
        found = self._by_offset.get(int(reference[1], 16)) if reference else None
        return found is not None and (found.tag == "const_type" or (found.tag == "typedef" and self.is_const(found)))

    def variables(self, prefix: str) -> Iterator[Entry]:
        """Variables of the outermost level whose names begin so."""
        for entry in self._by_offset.values():
            if entry.tag == "variable" and entry.name.startswith(prefix):
                yield entry


def debug_entries(path: Path) -> DebugEntries:
    """Read by `readelf`, which comes with the compiler. Raises graph_program_compilation_error where it is missing."""
    readelf = shutil.which("readelf")
    if readelf is None:
        raise graph_program_compilation_error(
            "C++ codelets need 'readelf' beside the compiler; on Debian: apt-get install binutils."
        )
    done = subprocess.run([readelf, "--debug-dump=info", str(path)], capture_output=True, check=False)
    return DebugEntries(done.stdout.decode(errors="replace"))
