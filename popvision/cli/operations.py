"""`popvision operations`: what each call of a software layer takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from popvision.cli.paging import opened, page_options, show


@click.command(name="operations")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--layer", default="", help="Software layer; PopLibs by default, else the most frequent one.")
@click.option(
    "--level", type=click.IntRange(0), default=0, help="Group by so many parts of the name; 0 = each by itself."
)
@click.option("--under", default="", help="Only operations whose names begin so, for example layer1/fwd.")
@click.option("--by", default="total_cycles", show_default=True, help="Column to sort by.")
@click.option("--ipu", type=int, help="Cycles of this IPU; of all of them by default.")
@click.option("--name", default="", help="Only rows whose name contains this, case aside.")
@page_options()
@click.option("--json", "as_json", is_flag=True, help="As JSON, with all columns.")
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
    """Show the operations of REPORT: the calls of a software layer that made its programs, with cycles over all
    recorded runs, code, floating point operations, exchanged bytes and memory. Rows add up to the report's totals."""
    from popvision.answers.operations import operations_answer
    from popvision.answers.page import Page

    with opened(report) as found:
        answer = operations_answer(
            found, Page(offset, limit), layer=layer, level=level, under=under, by=by, ipu=ipu, name=name
        )
        show(answer, as_json, _text)


def _text(answer: dict[str, Any]) -> str:
    from popvision.cli.text_table import text_table

    heads = {
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
    by = answer["by"]
    if by not in heads:
        heads = {"name": "operation", by: by.replace("_", " ")} | heads
    rows = [[each[key] for key in heads] for each in answer["rows"]]
    layers = ", ".join(answer["layers"])
    lines = [f"Operations of layer {answer['layer']} (of {layers})", "", text_table(list(heads.values()), rows)]
    return "\n".join(lines + [f"\n{sentence}" for sentence in answer["missing"]])
