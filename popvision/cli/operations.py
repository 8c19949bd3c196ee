"""`popvision operations`: the operations of a software layer with their costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import make_table
from popvision.cli.paging import open_report, page_options, show

if TYPE_CHECKING:
    from rich.table import Table

#: Key of a row -> title of its column.
_COLUMNS = {
    "name": "operation",
    "operations": "calls",
    "total_cycles": "cycles",
    "total_cycles_percent": "%",
    "code_bytes": "code bytes",
    "flops": "flops",
    "received_bytes": "received bytes",
    "always_live_bytes": "always live bytes",
    "peak_live_bytes": "bytes at peak",
    "first_index": "first index",
    "last_index": "last index",
}


@click.command(name="operations")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--layer", default="", help="Software layer; by default the framework's, else PopLibs.")
@click.option("--level", type=click.IntRange(0), default=0, help="Group by this many parts of the name; 0 = no groups.")
@click.option("--under", default="", help="Show only operations whose name begins with this, for example layer1/fwd.")
@click.option("--by", default="total_cycles", show_default=True, help="Column to sort by.")
@click.option("--ipu", type=int, help="Count cycles of this IPU; all IPUs by default.")
@click.option("--name", default="", help="Show only rows whose name contains this text (any case).")
@page_options()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all columns.")
def command(
    report: Path,
    layer: str,
    level: int,
    under: str,
    by: str,
    ipu: int | None,
    name: str,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    """Show the operations of REPORT: calls of a software layer, with cycles over all recorded runs, code, floating
    point operations, exchanged bytes and memory of everything created under them. Rows add up to the
    report's totals."""
    from popvision.answers.page import Page
    from popvision.answers.question import question_answer
    from popvision.questions import operations

    chosen = {"layer": layer, "level": level, "under": under, "by": by, "ipu": ipu}
    with open_report(report) as opened:
        answer = question_answer(operations.operations, opened.source, Page(offset, limit), chosen, name=name)
        show(answer, as_json, _items)


def _items(answer: dict[str, Any]) -> Sequence[str | Table]:
    columns, by = _COLUMNS, answer["by"]
    if by not in columns:
        columns = {"name": "operation", by: by.replace("_", " ")} | columns
    rows = [[each[key] for key in columns] for each in answer["rows"]]
    title = f"Operations of layer {answer['layer']} (layers: {', '.join(answer['layers'])})"
    sentences = [*answer["missing"], *([answer["apart"]] if answer["apart"] else [])]
    notes = [line for sentence in sentences for line in ("", sentence)]
    return [title, "", make_table(list(columns.values()), rows), *notes]
