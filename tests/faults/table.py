"""The table of a list at a commit: what became of each fault."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOUND, SURVIVES, GONE = "found", "survives", "gone"


class Row(NamedTuple):
    number: int
    result: str = SURVIVES
    command: str = ""  #: of CI, which finds it
    test: str = ""
    how: str = ""
    met: str = ""  #: the last pass whose tests it met
    seconds: float = 0.0  #: processor time
    commit: str = ""  #: where it was tried
    proved: str = ""  #: "yes" once the test passed without the fault


def read(path: Path) -> list[Row]:
    """The rows of a table; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [Row(**{**row, "number": int(row["number"]), "seconds": float(row["seconds"])}) for row in rows]  # type: ignore[arg-type]


def write(rows: Iterable[Row], path: Path) -> None:
    """All rows; the file is whole at any time."""
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(row._replace(seconds=round(row.seconds, 1)) for row in sorted(rows))
    unfinished.replace(path)
