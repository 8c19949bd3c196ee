"""Options and output that the commands with pages share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from popvision.cli.console import echo

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.opened.report import OpenedReport

C = TypeVar("C", bound=Callable[..., Any])

#: Maximum rows of one page.
MOST_ROWS = 100_000


def page_options(default: int = 50, *, counts: str = "Rows") -> Callable[[C], C]:
    """Add --limit and --offset to a command; `counts` names in its help what they count."""

    def add(command: C) -> C:
        limit = click.option(
            "--limit",
            type=click.IntRange(1, MOST_ROWS),
            default=default,
            show_default=True,
            help=f"{counts} of the page.",
        )
        offset = click.option(
            "--offset",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help=f"{counts} to skip before the page.",
        )
        return limit(offset(command))

    return add


@contextmanager
def open_report(path: Path) -> Iterator[OpenedReport]:
    """Open a report, a damaged one too; name what it lost on stderr after the body."""
    from popvision.opened.report import OpenedReport

    with OpenedReport(path, salvage=True) as report:
        yield report
        echo_lost(path, report.source.lost)


def echo_lost(
    path: Path, lost: Sequence[str], lister: str = "popvision info --verify", *, state: str = "is damaged"
) -> None:
    """Name the first loss of a damaged report or trace on stderr, count the others and name the command that lists
    them."""
    if lost:
        others = f"; and {len(lost) - 1:,} more ({lister} lists them)" if len(lost) > 1 else ""
        click.echo(f"popvision: {path} {state}; lost: {lost[0].rstrip('.')}{others}.", err=True)


def show(answer: dict[str, Any], as_json: bool, items: Callable[[dict[str, Any]], Sequence[str | Table]]) -> None:
    """Print an answer as JSON, or for people: provenance, its lines and tables, and the range of rows."""
    if as_json:
        click.echo(json.dumps(answer, indent=1))
    else:
        echo(answer["provenance"], "", *items(answer), "", rows_line(answer))


def rows_line(answer: dict[str, Any]) -> str:
    """The range of rows on this page, or of `labels` where it counts those, and the option for the next page."""
    total, offset, what = answer["total"], answer["offset"], "labels" if "labels" in answer else "rows"
    count = answer.get("labels", len(answer["rows"]))
    if not count:
        return f"No {what}: {total:,} in all." if total else f"No {what}."
    more = "" if answer["next_offset"] is None else f"; --offset {answer['next_offset']} shows the next {what}"
    return f"{what.capitalize()} {offset + 1:,} to {offset + count:,} of {total:,}{more}."
