"""`popvision liveness`: what is live when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from popvision.cli.paging import opened, page_options, show


@click.command(name="liveness")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--ipu", type=int, help="On this IPU.")
@click.option("--tile", type=int, help="On this tile.")
@click.option("--index", type=int, help="The variables at this liveness index, in place of the peak.")
@click.option("--curve", is_flag=True, help="The curve: a row per liveness index.")
@click.option("--always", is_flag=True, help="The always-live variables.")
@click.option("--name", default="", help="Only rows whose name contains this, case aside.")
@page_options(20)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
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
    """Show the memory that is live in REPORT: its peaks, and the variables that are live at the highest, largest first.
    Over all tiles of a replica, on one IPU or on one tile; bytes."""
    from popvision.answers.liveness import liveness_answer
    from popvision.answers.page import Page

    if sum((index is not None, curve, always)) > 1:
        raise click.UsageError("give one of --index, --curve and --always.")
    if ipu is not None and tile is not None:
        raise click.UsageError("give --ipu or --tile, not both.")
    shown = "index" if index is not None else "curve" if curve else "always" if always else "peak"
    with opened(report) as found:
        answer = liveness_answer(found, Page(offset, limit), show=shown, index=index, ipu=ipu, tile=tile, name=name)
        show(answer, as_json, _text)


def _text(answer: dict[str, Any]) -> str:
    from popvision.cli.text_table import cell_text, text_table

    where = "all tiles of one replica"
    if answer["tile"] is not None:
        where = f"tile {answer['tile']}"
    elif answer["ipu"] is not None:
        where = f"IPU {answer['ipu']}"
    lines = [
        f"Live memory on {where} ({answer['capacity_bytes']:,} bytes)",
        f"  always live  {answer['always_live_bytes']:,} bytes",
    ]
    for number, each in enumerate(answer["peaks"] or [answer["peak"]]):
        label = cell_text(f"{each['type']} ({each['name']})", 80)
        head = "  peaks      " if number == 0 else "             "
        lines.append(
            f"{head}  {each['live_bytes']:,} bytes at liveness index {each['liveness_index']}, program "
            f"#{each['program']} {label}"
        )
    heads: tuple[str, ...]
    if answer["shown"] == "curve":
        heads = ("liveness_index", "program", "not_always_live_bytes", "live_bytes", "type", "name")
        title = "Curve"
    else:
        heads = ("size_bytes", "variable", "name") + (() if answer["shown"] == "always" else ("live",))
        title = "Always-live variables" if answer["shown"] == "always" else f"Variables at index {answer['index']}"
    rows = [[each[head] for head in heads] for each in answer["rows"]]
    return "\n".join([*lines, "", title, "", text_table([head.replace("_", " ") for head in heads], rows)])
