"""Tables, lines and progress on the console, laid out by rich.

In a pipe or a file a table keeps its natural width: nothing wraps, and no line ends in blanks. In a narrower terminal
long texts fold inside their column; a terminal too narrow even for the numbers wraps lines. Cells come from
files, so each is escaped for the terminal. Rich takes about 0.2 ms per row; CSV and JSON suit many rows better."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from popvision.opened.printable import clipped, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

#: Characters of a text cell; names of programs are longer.
MOST_CHARACTERS = 60

#: Characters that a text column keeps in a narrow terminal.
_LEAST_CHARACTERS = 24

#: Blanks between columns.
_GAP = 2

_UNLIMITED = 1_000_000


def make_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    most: int = MOST_CHARACTERS,
    right: Collection[str] | None = None,
    header: bool = True,
    style: Callable[[int, int], str] = lambda row, column: "",
) -> Table:
    """A table of values. Columns named in `right` align right, by default all columns of numbers. Texts longer than
    `most` characters lose their middle. `style` gives the rich style of a cell from its row and column."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    texts = [[cell_text(cell, most) for cell in row] for row in rows]
    table = Table(
        box=box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True),
        padding=(0, _GAP - 1, 0, 0),  # the box adds a blank
        pad_edge=False,
        show_edge=False,
        show_header=header,
        header_style="",
    )
    for at, name in enumerate(columns):
        is_right = _is_numeric([row[at] for row in rows]) if right is None else name in right
        widest = max(len(name) if is_right and header else 0, *(len(row[at]) for row in texts), 0)
        table.add_column(
            Text(clipped(name, most)),
            justify="right" if is_right else "left",
            no_wrap=is_right,
            min_width=widest if is_right else min(widest, _LEAST_CHARACTERS),
            overflow="fold",
        )
    for number, row in enumerate(texts):
        table.add_row(*(Text(cell, style(number, at)) for at, cell in enumerate(row)))
    return table


def cell_text(cell: Any, most: int = MOST_CHARACTERS) -> str:
    """One cell: "-" for None, 1,234 for integers, four digits for other numbers."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1e4 else f"{cell:,.1f}"
    return clipped(str(cell), most)


def echo(*items: str | Text | Table) -> None:
    """Print lines and tables to stdout."""
    for item in items:
        if isinstance(item, str):
            click.echo(item)
        elif sys.stdout.isatty():
            console = _console(sys.stdout)
            console.width = max(_least_width(item), console.width)
            console.print(item)
        else:
            click.echo(_plain(item))


@contextlib.contextmanager
def progress(sentence: str) -> Iterator[Callable[[float], None]]:
    """Show a spinner with the sentence while the body runs, if stderr is a terminal; with the share that is done, where
    the body tells it."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    with _console(sys.stderr).status(printable(sentence)) as status:
        shown = ""

        def say(share: float) -> None:
            nonlocal shown
            text = f"{printable(sentence)}: {share:.0%}"
            if text != shown:
                status.update(text)
                shown = text

        yield say


def _plain(item: Text | Table) -> str:
    """The text of an item at its natural width, without colours and trailing blanks."""
    stream = io.StringIO()
    _console(stream, width=_UNLIMITED).print(item)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _console(stream: Any, width: int | None = None) -> Console:
    from rich.console import Console

    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _least_width(item: Text | Table) -> int:
    """The width of a table with all texts folded; 0 for a text."""
    from rich.table import Table

    if not isinstance(item, Table):
        return 0
    return sum(each.min_width or 0 for each in item.columns) + _GAP * (len(item.columns) - 1)


def _is_numeric(cells: Sequence[Any]) -> bool:
    numbers = [cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool)) for cell in cells]
    return bool(numbers) and all(numbers)
