"""The published table: programs of PopLibs' tools on the IPU Models of Mk1 and Mk2, with cycles and memory.

`published.csv` is graphcore/poplibs' list of expected benchmark results, state of March 2021. Each row names a tool,
its parameters as on a command line, a model, and three figures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = Path(__file__).with_name("published.csv")
#: what the table calls the models, and the chip of ours
CHIPS = {"IpuModel1": "ipu1", "IpuModel2": "ipu2"}


class Parameters:
    """The parameters of a tool by name. Names that nobody reads are errors: an option ignored would be another
    program."""

    def __init__(self, text: str) -> None:
        self._values: dict[str, str] = {}
        self._unread: set[str] = set()
        name = ""
        for word in text.split():
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                self._values[name] = value if equals else ""
                self._unread.add(name)
            else:
                self._values[name] = word

    def text(self, name: str, default: str) -> str:
        self._unread.discard(name)
        return self._values.get(name, default)

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number. Raises KeyError where there is no default and no value."""
        self._unread.discard(name)
        return int(self._values[name]) if default is None or name in self._values else default

    def flag(self, name: str) -> bool:
        """Whether the option is there, without a value or with "true". Raises ValueError for what is neither true nor
        false."""
        return self.truth(name, False)

    def truth(self, name: str, default: bool) -> bool:
        """`flag` with a default."""
        value = self.text(name, str(default).lower())
        if value not in ("", "true", "1", "false", "0"):
            raise ValueError(f"--{name} is {value}, not true or false.")
        return value in ("", "true", "1")

    def numbers(self, name: str, default: str = "") -> list[int]:
        """Whole numbers between braces or commas; one number is a list of one."""
        return [int(part) for part in self.text(name, default).strip("{}").split(",") if part]

    def words(self, name: str) -> list[str]:
        return [part for part in self.text(name, "").strip("{}").split(",") if part]

    def along(self, name: str, dims: int, default: int) -> list[int]:
        """One number per dimension of the field; a single number holds for each."""
        values = self.numbers(name, str(default))
        return values * dims if len(values) == 1 else values

    @property
    def unread(self) -> list[str]:
        return sorted(self._unread)


@dataclass(frozen=True)
class Published:
    """One row: a program on one chip, its cycles, the bytes of all tiles, and those of the largest tile."""

    name: str
    tool: str
    parameters: str
    chip: str
    cycles: int
    memory: int
    largest_tile: int

    @property
    def program(self) -> str:
        """What our figures of the row depend on: tables may name other programs alike."""
        return f"{self.tool} {self.parameters} {self.chip}"


def rows(path: Path = PUBLISHED) -> list[Published]:
    """All rows of a table, in its order."""
    return list(_rows(path))


def _rows(path: Path) -> Iterator[Published]:
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            figures = (int(line[name]) for name in ("cycles", "total_memory_bytes", "largest_tile_bytes"))
            yield Published(line["name"], line["tool"], line["parameters"], CHIPS[line["target"]], *figures)


def fitted(name: str, tool_names: list[str]) -> bool:
    """Whether constants may be fitted on this program: the first half of its tool's programs, by alphabet."""
    ordered = sorted(set(tool_names))
    return ordered.index(name) < -(-len(ordered) // 2)
