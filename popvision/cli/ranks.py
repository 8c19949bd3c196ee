"""`popvision ranks FOLDER`: the reports of the ranks of one run, side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from popvision.cli.console import echo, make_table
from popvision.opened.printable import printable

_TABLES = ("ranks", "runs", "steps")


@click.command(name="ranks")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, help="Steps; 0 = all.")
@click.option(
    "--csv", "table", type=click.Choice(_TABLES), help="Print one of the tables as CSV, with all its columns."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, an object per run and engine.")
def command(folder: Path, limit: int, table: str | None, as_json: bool) -> None:
    """Compare the ranks of a run (srun -n 4, torchrun, mpirun): cycles, memory and begin of each, the slowest, and
    each step over the ranks. FOLDER holds the reports of the ranks, or is that of one of them. Processes that shared
    a report folder are compared too, as ranks by when they came, and traces that PyTorch's profiler wrote for the
    ranks of one run, by host time."""
    from popvision.analysis.ranks.rank_set import find_rank_sets
    from popvision.analysis.ranks.trace_ranks import find_trace_sets
    from popvision.answers.ranks import ranks_answer, traces_answer
    from popvision.formats.errors import FormatError

    if table and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    sets, note = find_rank_sets(folder)
    traces = find_trace_sets(folder)
    if not sets and not traces:
        raise FormatError(
            note
            or f"{folder} holds no report of a rank: a program writes one per process where srun, torchrun or mpirun "
            "starts several (srun -n 4) or a shell starts them on one folder, and profiling is on."
        )
    answers = [*(ranks_answer(each, limit or None) for each in sets), *map(traces_answer, traces)]
    if as_json:
        click.echo(json.dumps(answers, indent=1))
    elif table:
        _print_csv(answers, {"ranks": "by_rank", "runs": "by_run", "steps": "by_step"}[table])
    else:
        for at, answer in enumerate(answers):
            echo(*([""] if at else []), *_items(answer))
        if note:
            click.echo(printable(note), err=True)


def _print_csv(answers: list[dict[str, Any]], table: str) -> None:
    import pandas as pd

    from popvision.export.cells import safe_frame

    frames = [pd.DataFrame(answer[table]).assign(run_of=answer["run"], engine=answer["engine"]) for answer in answers]
    safe_frame(pd.concat(frames, ignore_index=True)).to_csv(sys.stdout, index=False)


def _items(answer: dict[str, Any]) -> list[Any]:
    engine = f", engine {answer['engine']}" if answer["engine"] else ""
    items: list[Any] = [printable(f"{answer['ranks']} ranks of {answer['run']}{engine}"), *answer["sentences"], ""]
    columns = {
        "rank": "rank",
        "runs": "runs",
        "cycles": "device cycles",
        "of_median": "of median",
        "fullest_used": "fullest tile B",
        "used": "memory B",
        "folder": "report",
    }
    if all("trace" in row for row in answer["by_rank"]):
        columns = {"rank": "rank", "begin_us": "begins after us", "length_us": "length us", "trace": "trace"}
    items.append(_table(answer["by_rank"], columns))
    runs = {
        "run": "run",
        "name": "program",
        "begin_us": "begin apart us",
        "least": "least cycles",
        "median": "median",
        "most": "most",
        "slowest": "slowest rank",
    }
    items += ["", _table(answer["by_run"], runs)] if answer["by_run"] else []
    steps = {
        "program": "program",
        "type": "type",
        "name": "name",
        "least": "least cycles",
        "median": "median",
        "most": "most",
        "span": "span",
        "slowest": "slowest rank",
    }
    if answer["by_step"]:
        items += ["", _table(answer["by_step"], steps), f"{len(answer['by_step']):,} of {answer['steps']:,} steps."]
    return items


def _table(rows: list[dict[str, Any]], columns: dict[str, str]) -> Any:
    def cell(row: dict[str, Any], name: str) -> Any:
        value = row[name]
        return f"{100 * value:+.1f} %" if name == "of_median" and value is not None else value

    return make_table(list(columns.values()), [[cell(row, name) for name in columns] for row in rows], most=200)
