"""Options and lines that commands with pages share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport

C = TypeVar("C", bound=Callable[..., Any])

#: Rows of one page at most.
MOST_ROWS = 100_000


def page_options(default: int = 50) -> Callable[[C], C]:
    """--limit and --offset."""

    def added(command: C) -> C:
        limit = click.option(
            "--limit", type=click.IntRange(1, MOST_ROWS), default=default, show_default=True, help="Rows of the page."
        )
        offset = click.option(
            "--offset", type=click.IntRange(0), default=0, show_default=True, help="Rows to leave out first."
        )
        return limit(offset(command))

    return added


@contextmanager
def opened(path: Path) -> Iterator[OpenedReport]:
    """The report, also a damaged one; what it has lost stands on stderr when the answer is out."""
    from popvision.opened.report import OpenedReport

    with OpenedReport(path, salvage=True) as report:
        yield report
        lost = report.lost
    if lost:
        more = f"; and {len(lost) - 1:,} more (popvision info names them)" if len(lost) > 1 else ""
        click.echo(f"popvision: {path} is damaged; lost: {lost[0].rstrip('.')}{more}.", err=True)


def show(answer: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    """The answer as JSON, or as text for people: provenance, `text` and which rows these are."""
    if as_json:
        click.echo(json.dumps(answer, indent=1))
        return
    click.echo(f"{answer['provenance']}\n\n{text(answer)}\n{rows_line(answer)}")


def rows_line(answer: dict[str, Any]) -> str:
    """Which rows are shown, and how to see the next ones."""
    total, offset, count = answer["total"], answer["offset"], len(answer["rows"])
    if not count:
        return f"\nNo rows: {total:,} in all." if total else "\nNo rows."
    more = "" if answer["next_offset"] is None else f"; --offset {answer['next_offset']} shows the next ones"
    return f"\nRows {offset + 1:,} to {offset + count:,} of {total:,}{more}."
