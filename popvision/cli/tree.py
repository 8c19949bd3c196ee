"""`popvision tree`: the program tree with cycles, bytes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.answers.page import Page
from popvision.answers.tree import ORDERS, tree_answer
from popvision.cli.console import make_table
from popvision.cli.paging import open_report, page_options, show

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of the last column: indentation, type and name.
_MOST_CHARACTERS = 110


@click.command(name="tree")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--root", type=int, help="Show only the subtree of this program id.")
@click.option("--depth", type=click.IntRange(0), help="Show programs down to this depth.")
@click.option("--name", default="", help="Show only programs whose name or type contains this text (any case).")
@click.option("--type", "type_", default="", help="Show only programs of this type, for example OnTileExecute.")
@click.option("--ipu", type=int, help="Show figures of this IPU; all IPUs by default.")
@click.option(
    "--sort",
    type=click.Choice(ORDERS),
    default="tree",
    show_default=True,
    help="Order of rows: the tree's own, or the largest of a figure first.",
)
@page_options()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    report: Path,
    root: int | None,
    depth: int | None,
    name: str,
    type_: str,
    ipu: int | None,
    sort: str,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    """Show the lowered programs of REPORT as a tree. Cycles are device cycles over all recorded runs. Self cycles are
    those of the program's own steps; total cycles include the programs below it and those it calls."""
    with open_report(report) as opened:
        answer = tree_answer(
            opened, Page(offset, limit), root=root, depth=depth, name=name, type=type_, ipu=ipu, order=sort
        )
        show(answer, as_json, _tables)


def _tables(answer: dict[str, Any]) -> Sequence[Table]:
    is_indented = answer["order"] == "tree"
    rows = []
    for each in answer["rows"]:
        label = each["type"] + (f" ({each['name']})" if each["name"] else "")
        if each["type"] == "Repeat" and each["trips"] is not None:
            label += f" x {each['trips']:,}"
        figures = [each[key] for key in ("program", "self_cycles", "total_cycles", "executions", "live_bytes")]
        rows.append([*figures, "  " * each["depth"] * is_indented + label])
    columns = ("program", "self cycles", "total cycles", "executions", "live bytes", "type (name)")
    return [make_table(columns, rows, most=_MOST_CHARACTERS)]
