"""`popvision catalogue FOLDER`: the headline figures of all reports below a folder, listed, filtered and sorted."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from popvision.cli.console import echo, make_table
from popvision.cli.report_place import ReportPlace
from popvision.opened.printable import printable

#: Columns that are printed where none are named; axes come between them.
_COLUMNS = (("report", "state", "target"), ("cycles", "peak", "tiles_over"))


@click.command(name="catalogue")
@click.argument("folder", type=ReportPlace())
@click.option(
    "--where", default="", metavar="SQL", help="Condition on columns, such as 'cycles > 1e6 AND peak < 600000'."
)
@click.option("--sort", default="report", show_default=True, metavar="COLUMN", help="Sort by this column.")
@click.option("--descending", is_flag=True, help="Highest first.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Rows; 0 = all.")
@click.option("--columns", metavar="NAMES", help="Columns, with commas; 'all' for every one.")
@click.option("--no-refresh", is_flag=True, help="Do not look for new and changed reports first.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with missing figures as null.")
def command(
    folder: Path | str,
    where: str,
    sort: str,
    descending: bool,
    limit: int,
    columns: str | None,
    no_refresh: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List the reports below FOLDER, or below an address such as s3://bucket/runs, with the metrics of docs/compare.md.

    The figures lie in FOLDER/.popvision-catalogue.parquet, which DuckDB reads and which may be deleted."""
    from popvision.catalogue.selection import select_page
    from popvision.formats.errors import FormatError

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    if not no_refresh:
        _refresh(folder)
    frame, total = select_page(folder, where=where, sort=sort, descending=descending, limit=limit or None)
    first, last = _COLUMNS
    named = [*first, *(name for name in frame.columns if name.startswith("axis.")), *last]
    if columns is not None:
        named = list(frame.columns) if columns == "all" else [name.strip() for name in columns.split(",")]
        for name in named:
            if name not in frame.columns:
                raise FormatError(
                    f"the catalogue has no column {name!r}; columns are {', '.join(map(str, frame.columns))}."
                )
    page = frame[named]
    if as_json:
        click.echo(page.to_json(orient="records", indent=1, double_precision=15))
    elif as_csv:
        page.to_csv(sys.stdout, index=False)
    else:
        rows = [tuple(_cell(value) for value in row) for row in page.itertuples(index=False, name=None)]
        echo(make_table(named, rows, most=1_000))
        click.echo(f"{len(page):,} of {total:,} reports.")


def _refresh(folder: Path | str) -> None:
    from popvision.catalogue import refresh

    def show(read: int, total: int) -> None:
        click.echo(f"\rReading reports: {read:,} of {total:,}\033[K", nl=read == total, err=True)

    done = refresh(folder, show if sys.stderr.isatty() else None)
    if done.note:
        click.echo(printable(done.note), err=True)


def _cell(value: object) -> object:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    return None if value is None else value
