"""`popvision liveness`: live memory over the static order of programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import make_table
from popvision.cli.paging import open_report, page_options, show

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of the type and name of a peak's program.
_MOST_CHARACTERS = 80


@click.command(name="liveness")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--ipu", type=int, help="Show the memory of this IPU.")
@click.option("--tile", type=int, help="Show the memory of this tile.")
@click.option("--index", type=int, help="List the variables at this liveness index instead of the peak.")
@click.option("--curve", is_flag=True, help="List live bytes at every liveness index.")
@click.option("--always", is_flag=True, help="List the always-live variables.")
@click.option("--name", default="", help="Show only rows whose name contains this text (any case).")
@page_options(20)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    report: Path,
    ipu: int | None,
    tile: int | None,
    index: int | None,
    curve: bool,
    always: bool,
    name: str,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    """Show the live memory of REPORT in bytes: its peaks, and the variables live at the highest peak, largest first.
    Covers all tiles of a replica, one IPU or one tile."""
    from popvision.answers.liveness import liveness_answer
    from popvision.answers.page import Page

    if sum((index is not None, curve, always)) > 1:
        raise click.UsageError("give only one of --index, --curve and --always.")
    if ipu is not None and tile is not None:
        raise click.UsageError("give --ipu or --tile, not both.")
    shown = "index" if index is not None else "curve" if curve else "always" if always else "peak"
    with open_report(report) as opened:
        answer = liveness_answer(opened, Page(offset, limit), show=shown, index=index, ipu=ipu, tile=tile, name=name)
        show(answer, as_json, _items)


def _items(answer: dict[str, Any]) -> Sequence[str | Table]:
    scope = "all tiles of one replica"
    if answer["tile"] is not None:
        scope = f"tile {answer['tile']}"
    elif answer["ipu"] is not None:
        scope = f"IPU {answer['ipu']}"
    peaks = [
        [each["live_bytes"], each["liveness_index"], each["program"], f"{each['type']} ({each['name']})"]
        for each in answer["peaks"] or [answer["peak"]]
    ]
    columns = ("live_bytes", "liveness_index", "program", "type (name)")
    title, rows = _rows(answer)
    return [
        f"Live memory on {scope}, capacity {answer['capacity_bytes']:,} bytes",
        f"Always live: {answer['always_live_bytes']:,} bytes",
        "",
        "Peaks",
        "",
        make_table([each.replace("_", " ") for each in columns], peaks, most=_MOST_CHARACTERS),
        "",
        title,
        "",
        rows,
    ]


def _rows(answer: dict[str, Any]) -> tuple[str, Table]:
    """The title and the table of the requested rows."""
    columns: tuple[str, ...]
    if answer["shown"] == "curve":
        title, columns = (
            "Curve",
            ("liveness_index", "program", "not_always_live_bytes", "live_bytes", "type", "name"),
        )
    elif answer["shown"] == "always":
        title, columns = "Always-live variables", ("size_bytes", "variable", "name")
    else:
        title, columns = f"Variables at liveness index {answer['index']}", ("size_bytes", "variable", "name", "live")
    rows = [[each[key] for key in columns] for each in answer["rows"]]
    return title, make_table([each.replace("_", " ") for each in columns], rows)
