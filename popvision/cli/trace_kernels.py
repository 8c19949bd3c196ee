"""`popvision trace kernels`, `communication` and `idle`: accelerators in traces of PyTorch's profiler."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from popvision.cli.console import make_table, progress
from popvision.cli.paging import page_options, show
from popvision.cli.trace_files import PATHS, open_traces, strict_option

if TYPE_CHECKING:
    from rich.table import Table

#: Command -> its help.
_HELP = {
    "kernels": "Kernels of each stream by name: count, total, mean, shortest, longest, share of the rank's kernel "
    "time, occupancy where the trace has it.",
    "communication": "Kernels whose names begin with nccl or rccl: their time, and the part in which a compute kernel "
    "of the device runs; time of all of a device counts once.",
    "idle": "Time of each stream's window in which none of its kernels runs, by reason: the host had not launched the "
    "next one, communication of another stream ran, or other.",
}

#: Questions whose rows have labels.
_WITH_LABELS = ("kernels", "communication")

_name_option = click.option("--name", default="", help="Show only rows whose label contains this text (any case).")


def kernel_commands() -> list[click.Command]:
    """The commands."""
    return [_command(question) for question in _HELP]


def _command(question: str) -> click.Command:
    @PATHS
    @click.option("--by", default="", help="Column to sort by; total or idle time by default.")
    @page_options()
    @click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, with the formula of each figure.")
    @strict_option
    def command(
        paths: tuple[Path, ...], by: str, limit: int, offset: int, as_csv: bool, as_json: bool, name: str = ""
    ) -> None:
        from popvision.answers.kernels import kernels_answer
        from popvision.answers.page import Page

        if as_csv and as_json:
            raise click.UsageError("--csv and --json exclude each other.")
        traces = open_traces(paths)
        with progress(f"Reading {traces[0].path}"):
            answer = kernels_answer(traces, question, Page(offset, limit), name=name, by=by)
        if as_csv:
            _write(answer)
        else:
            show(answer, as_json, _items)

    add = click.command(name=question, help=f"{_HELP[question]} Of traces of PyTorch's profiler, one a rank.")
    return add(_name_option(command) if question in _WITH_LABELS else command)


def _write(answer: dict[str, Any]) -> None:
    """The rows as CSV on stdout."""
    import numpy as np

    from popvision.export.writing import write_csv

    names = list(answer["rows"][0]) if answer["rows"] else []
    columns: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in answer["rows"]]
        is_text = name in ("label", "kind")
        columns[name] = values if is_text else np.array([np.nan if value is None else value for value in values])
    write_csv(columns, answer["provenance"], sys.stdout)


def _items(answer: dict[str, Any]) -> Sequence[str | Table]:
    names = list(answer["rows"][0]) if answer["rows"] else []
    formulas = [f"{_title(name)}: {text}" for name, text in answer["formulas"].items()]
    table = make_table([_title(name) for name in names], [[row[name] for name in names] for row in answer["rows"]])
    return [f"{answer['question'].capitalize()}, by {answer['by']}", *answer.get("notes", ()), "", table, "", *formulas]


def _title(column: str) -> str:
    return column.replace("_", " ")
