"""The list of faults: one row each, found again in a later tree by the text of its line."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TextIO


class Fault(NamedTuple):
    number: int
    room: str
    file: str
    line: int  #: where the line stood when the list was drawn
    kind: str
    old: str  #: the whole line
    new: str


def read(path: Path) -> list[Fault]:
    """The faults of a file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [Fault(**{**row, "number": int(row["number"]), "line": int(row["line"])}) for row in rows]  # type: ignore[arg-type]


def write(faults: Iterable[Fault], file: TextIO) -> None:
    """One row for each fault."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(Fault._fields)
    writer.writerows(faults)


def planted(fault: Fault, source: str) -> str | None:
    """The file with the fault in the nearest line of the same text, at any indent; None where no line reads so any
    more."""
    lines = source.split("\n")
    same = [number for number, line in enumerate(lines) if line.strip() == fault.old.strip()]
    if not same:
        return None
    nearest = min(same, key=lambda number: abs(number + 1 - fault.line))
    line = lines[nearest]
    lines[nearest] = line[: len(line) - len(line.lstrip())] + fault.new.strip()
    return "\n".join(lines)
