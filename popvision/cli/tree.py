"""`popvision tree`: the program tree with cycles, bytes and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from popvision.cli.paging import opened, page_options, show

_ORDERS = (
    "tree",
    "self_cycles",
    "total_cycles",
    "executions",
    "received_bytes",
    "sent_bytes",
    "live_bytes",
    "code_bytes",
)


@click.command(name="tree")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--root", type=int, help="Only the tree below this program id.")
@click.option("--depth", type=click.IntRange(0), help="No deeper than this.")
@click.option("--name", default="", help="Only programs whose name or type contains this, case aside.")
@click.option("--type", "type_", default="", help="Only programs of this type, for example OnTileExecute.")
@click.option("--ipu", type=int, help="Figures of this IPU; of all of them by default.")
@click.option(
    "--sort", type=click.Choice(_ORDERS), default="tree", show_default=True, help="As it stands, or by a figure."
)
@page_options()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
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
    """Show the lowered programs of REPORT as a tree. Cycles are device cycles over all recorded runs: self = the
    program's own steps, total = with everything below and what it calls."""
    from popvision.answers.page import Page
    from popvision.answers.tree import tree_answer

    with opened(report) as found:
        answer = tree_answer(
            found, Page(offset, limit), root=root, depth=depth, name=name, type=type_, ipu=ipu, order=sort
        )
        show(answer, as_json, _text)


def _text(answer: dict[str, Any]) -> str:
    from popvision.cli.text_table import text_table

    indented = answer["order"] == "tree"
    heads = ["program", "self cycles", "total cycles", "executions", "live bytes", "type (name)"]
    rows = []
    for each in answer["rows"]:
        label = each["type"] + (f" ({each['name']})" if each["name"] else "")
        if each["type"] == "Repeat" and each["trips"] is not None:
            label += f" x {each['trips']:,}"
        figures = [each[key] for key in ("program", "self_cycles", "total_cycles", "executions", "live_bytes")]
        rows.append([*figures, "  " * each["depth"] * indented + label])
    return text_table(heads, rows, widest=110)
