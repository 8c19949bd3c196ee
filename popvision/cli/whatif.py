"""`popvision whatif FOLDER`: one program over chips, tiles, memory and exchange, from the reports of a sweep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from popvision.cli.console import echo, make_table
from popvision.cli.report_place import ReportPlace
from popvision.opened.printable import printable

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from popvision.catalogue.what_if import WhatIf


@click.command(name="whatif")
@click.argument("folder", type=ReportPlace())
@click.option("--across", default="", metavar="AXIS", help="Axis of the rows, such as tiles.")
@click.option("--lines", default="", metavar="AXIS", help="Axis of the columns, such as target; 'none' for one.")
@click.option("--hold", multiple=True, metavar="AXIS=VALUE", help="Value of another axis; may be repeated.")
@click.option("--program", default="", help="Of several programs, this one.")
@click.option("--speed", default="device_time", show_default=True, help="Figure of time (docs/compare.md).")
@click.option("--memory", default="peak", show_default=True, help="Figure of memory.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a row per report.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with missing figures as null.")
def command(
    folder: Path | str,
    across: str,
    lines: str,
    hold: tuple[str, ...],
    program: str,
    speed: str,
    memory: str,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Time and memory of one program side by side over two axes of a sweep below FOLDER, or below an address
    (s3://...), and where it stops fitting (docs/sweeps.md).

    Axes are named as in [grid] of the sweep: target, tiles, constants.memoryBytesPerTile; the last part is enough."""
    from popvision.catalogue import refresh, select_reports
    from popvision.catalogue.verdicts import verdicts
    from popvision.catalogue.what_if import named_cells, what_if
    from popvision.export.cells import safe_frame

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    refresh(folder)
    frame = select_reports(folder)
    names = [str(column) for column in frame.columns if str(column).startswith("axis.")]
    held = dict(_parts(each) for each in hold)
    found = what_if(
        frame,
        program=program,
        across=_column(across, names),
        lines=_column(lines, names),
        held={_column(name, names): value for name, value in held.items()},
    )
    table = named_cells(frame, found, speed, memory)
    if as_json:
        click.echo(table.to_json(orient="records", indent=1, double_precision=15))
    elif as_csv:
        safe_frame(table).to_csv(sys.stdout, index=False)
    else:
        for sentence in verdicts(frame, found, speed):
            click.echo(printable(sentence))
        click.echo()
        echo(_table(frame, found, speed, memory))


def _parts(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is no AXIS=VALUE, such as tiles=64.", param_hint="--hold")
    return name, value


def _column(name: str, columns: list[str]) -> str:
    """The column of an axis that is named in short; what is none stays, for `what_if` to refuse."""
    return next((each for each in columns if name and (f".{name}" == each[-len(name) - 1 :])), name)


def _table(frame: pd.DataFrame, found: WhatIf, speed: str, memory: str) -> Table:
    """A row per value across; of each line its two figures side by side."""
    from popvision.analysis.compare.metrics import BY_NAME
    from popvision.catalogue.verdicts import figure_text
    from popvision.catalogue.what_if import cells

    table = cells(frame, found, speed, memory)
    by_place = {(row["line"], row["across"]): row for row in table.to_dict("records")}
    lines = range(len(found.row))
    names = [found.lines.shown(at) if found.lines is not None else "" for at in lines]
    head = [f"{name} {figure}".strip() for name in names for figure in (speed, memory)]

    def text(line: int, across: int, figure: str) -> str | None:
        row = by_place.get((line, across))
        if row is None:
            return None
        if figure == speed and row["note"]:
            return str(row["note"])
        value = row[figure]
        return figure_text(BY_NAME[figure].kind, value) if value == value else None

    places = range(len(found.across.values))
    rows = [
        (found.across.shown(at), *(text(line, at, each) for line in lines for each in (speed, memory))) for at in places
    ]
    return make_table([found.across.title, *head], rows, most=1_000, right=head)
