"""The tables side by side, as docs/contributing.md shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.faults import fault_list, table
from tests.faults.fault_list import Fault
from tests.faults.table import Row
from tests.faults.tests_of_rooms import COMMANDS, LIKELIEST

#: The tables of a list, NAME.csv: NAME_before.csv and NAME_now.csv.
_TIMES = ("before", "now")
_SURVIVING = {
    "all": "survive every test of CI",
    "elsewhere": "undecided: survive their room's tests and the likeliest others; others not run",
    "room": "undecided: survive their room's tests; others not run",
    "likeliest": f"undecided: survive the {LIKELIEST} likeliest test files of their room; others not run",
    "known": "undecided: survive the test that found them before; others not run",
}


class _Column(NamedTuple):
    title: str
    faults: list[Fault]
    rows: dict[int, Row]

    def count(self, fits: Callable[[Row], bool]) -> int:
        return sum(fits(row) for row in self.rows.values())


def shown(folder: Path) -> str:
    """Markdown: a column for each table, a row for each command of CI, and each fault that no test finds."""
    columns = list(_columns(folder))
    lines = ["| planted faults | " + " | ".join(column.title for column in columns) + " |"]
    lines.append("|---" + "|--:" * len(columns) + "|")
    names = dict.fromkeys(command.name for command in COMMANDS)
    lines += _line([(f"found by `{name}`", lambda row, name=name: row.command == name) for name in names], columns)
    surviving = [
        (text, lambda row, met=met: row.result == table.SURVIVES and row.met == met) for met, text in _SURVIVING.items()
    ]
    lines += _line([*surviving, ("line gone", lambda row: row.result == table.GONE)], columns)
    missing = [str(len(column.faults) - len(column.rows)) for column in columns]
    if any(number != "0" for number in missing):
        lines.append(f"| not tried | {' | '.join(missing)} |")
    seconds = [f"{sum(row.seconds for row in column.rows.values()) / 60:.0f}" for column in columns]
    lines += [f"| minutes of processor time | {' | '.join(seconds)} |", ""]
    lines += [f"- {text}" for column in columns for text in _survivors(column)]
    lines += [f"- {text}" for text in _lost(columns)]
    return "\n".join(lines) + "\n"


def _columns(folder: Path) -> Iterable[_Column]:
    for file in sorted(folder.glob("seed_*.csv")):
        for time in _TIMES:
            read = table.read(folder / f"{file.stem}_{time}.csv")
            # what a run found that was interrupted before its proof does not count yet
            rows = {row.number: row for row in read if row.result != table.FOUND or row.proved}
            if rows:
                commits = ", ".join(sorted({row.commit for row in rows.values()}))
                yield _Column(f"{file.stem.replace('_', ' ')} {time} ({commits})", fault_list.read(file), rows)


def _line(counted: Iterable[tuple[str, Callable[[Row], bool]]], columns: list[_Column]) -> list[str]:
    """A line for each name that some column counts."""
    counts = [(name, [column.count(fits) for column in columns]) for name, fits in counted]
    return [f"| {name} | {' | '.join(map(str, numbers))} |" for name, numbers in counts if any(numbers)]


def _survivors(column: _Column) -> Iterable[str]:
    met_all = {row.number for row in column.rows.values() if row.result == table.SURVIVES and row.met == "all"}
    survivors = [fault for fault in column.faults if fault.number in met_all]
    if survivors:
        names = (f"{fault.number} `{fault.file}:{fault.line}` ({fault.kind})" for fault in survivors)
        yield f"{column.title}, survivors: {', '.join(names)}."


def _lost(columns: list[_Column]) -> Iterable[str]:
    """Faults that the table before finds, and the table after it of the same list does not."""
    for before, now in pairwise(columns):
        if before.faults == now.faults:
            found = [n for n in sorted(now.rows) if _result(before, n) == table.FOUND]
            lost = [str(number) for number in found if _result(now, number) == table.SURVIVES]
            yield f"Of {len(found)} found before and tried now, not found: {', '.join(lost) or 'none'}."


def _result(column: _Column, number: int) -> str:
    return column.rows[number].result if number in column.rows else ""
