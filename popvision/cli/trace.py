"""`popvision trace`: contents, statistics and export of a host trace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from popvision.cli.console import echo, make_table, progress
from popvision.cli.paging import echo_lost, page_options, show
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from rich.table import Table

    from popvision.opened.trace import OpenedTrace

_PATH = click.argument("path", type=click.Path(path_type=Path))

#: Key of a row -> title of its column.
_COLUMNS = {
    "label": "label",
    "channel": "channel",
    "count": "count",
    "total_us": "total us",
    "self_us": "self us",
    "mean_us": "mean us",
    "min_us": "min us",
    "p50_us": "p50 us",
    "p95_us": "p95 us",
    "p99_us": "p99 us",
    "max_us": "max us",
}


@click.group(name="trace")
def command() -> None:
    """Inspect and export a host trace, a .pvti or a folder that holds one. Times are microseconds of the host clock."""


@command.command()
@_PATH
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(path: Path, as_json: bool) -> None:
    """List what the trace holds: its facts, threads, channels, line graphs and heat maps."""
    from popvision.answers.page import records

    trace = _open(path)
    tables = {
        "threads": trace.threads(),
        "channels": trace.channels(),
        "line graphs": trace.series()
        .groupby(["graph", "series", "unit"], sort=False)
        .size()
        .reset_index(name="samples"),
        "heat maps": trace.heatmaps(),
    }
    facts = {"begin_ns": trace.begin_ns, "duration_us": trace.duration_us, **trace.facts}
    if as_json:
        rows: dict[str, object] = {name.replace(" ", "_"): records(table) for name, table in tables.items()}
        rows["lost"] = trace.lost
        click.echo(json.dumps({"path": str(trace.path), **facts, **rows}, indent=1))
        return
    echo(str(trace.path), make_table(("fact", "value"), list(facts.items()), header=False))
    for sentence in trace.lost:
        echo(f"Lost: {sentence}")
    for name, table in tables.items():
        if len(table):
            echo("", name.capitalize(), make_table(list(table.columns), [list(row.values()) for row in records(table)]))


@command.command()
@_PATH
@click.option("--by", default="self_us", show_default=True, help="Column to sort by.")
@click.option("--name", default="", help="Show only rows whose label or channel contains this text (any case).")
@click.option("--begin", type=float, help="Begin of the window, microseconds since the first event.")
@click.option("--end", type=float, help="End of the window, microseconds since the first event.")
@page_options()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats(
    path: Path, by: str, name: str, begin: float | None, end: float | None, limit: int, offset: int, as_json: bool
) -> None:
    """Count, total, self time and percentiles of each label. Totals and self times count the parts of events inside the
    window; mean and percentiles (by nearest rank) are those of entire durations."""
    from popvision.answers.page import Page
    from popvision.answers.trace import trace_statistics_answer

    trace = _open(path)
    with progress(f"Reading {trace.path}"):
        answer = trace_statistics_answer(trace, Page(offset, limit), name=name, by=by, begin_us=begin, end_us=end)
    show(answer, as_json, _items)


@command.command()
@_PATH
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "json", "chrome", "speedscope"]),
    required=True,
    help="csv and json: a row per event; chrome: for Perfetto and chrome://tracing; speedscope: its evented profiles.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File; stdout by default.")
def export(path: Path, format_: str, output: Path | None) -> None:
    """Write the events in another format."""
    from popvision.export.writing import write_file

    trace = _open(path)
    write = _writer(trace, format_)
    with progress(f"Writing {trace.path}"):
        if output is None:
            write(sys.stdout)
        else:
            write_file(output, write)
            click.echo(f"Wrote {output}", err=True)


@command.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(["total_us", "self_us", "count"]),
    default="total_us",
    show_default=True,
    help="Figure with the largest differences first.",
)
@click.option("--name", default="", help="Show only paths or channels that contain this text (any case).")
@page_options()
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(source: Path, target: Path, by: str, name: str, limit: int, offset: int, as_csv: bool, as_json: bool) -> None:
    """Compare two traces by call path: count, total and self time of SOURCE and TARGET, and target minus source. A path
    of one trace only counts 0 in the other."""
    from popvision.answers.page import Page
    from popvision.answers.trace import trace_difference_answer

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    before, after = _open(source), _open(target)
    with progress(f"Comparing {before.path} and {after.path}"):
        answer = trace_difference_answer(before, after, Page(offset, limit), name=name, by=by)
    if as_csv:
        _write_differences(answer)
        return
    show(answer, as_json, _difference_items)


@command.command()
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--by", type=click.Choice(["absolute", "first", "event"]), default="absolute", show_default=True)
@click.option("--label", default="", help="Label of the event that coincides, for --by event.")
@click.option("--channel", default="", help="Its channel; any by default.")
@click.option("--occurrence", type=click.IntRange(0), default=0, show_default=True, help="Its number by begin.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def align(paths: tuple[Path, ...], by: str, label: str, channel: str, occurrence: int, as_json: bool) -> None:
    """Show where traces lie on one clock: by absolute time, by their first events, or by a chosen event."""
    from popvision.answers.trace import trace_alignment_answer

    traces = [_open(path) for path in paths]
    answer = trace_alignment_answer(traces, mode=by, label=label, channel=channel, occurrence=occurrence)
    if as_json:
        click.echo(json.dumps(answer, indent=1))
        return
    columns = {"name": "trace", "begin_us": "begin us", "duration_us": "duration us", "shift_ns": "shift ns"}
    rows = [[each[key] for key in columns] for each in answer["traces"]]
    echo(f"Aligned by {by}", "", make_table(list(columns.values()), rows), *answer["notes"])


@command.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File; SOURCE.pvti by default.")
def import_(source: Path, output: Path | None) -> None:
    """Write the trace of another tool as a .pvti: Chrome trace events as JSON (plain or .gz; viztracer, PyTorch's
    profiler) or a Perfetto trace."""
    from popvision.formats.foreign_traces.importing import import_trace

    target = output or source.with_name(source.name + ".pvti")
    if target.exists():
        raise FormatError(f"{target} exists already; give another --output.")
    with progress(f"Reading {source}"):
        left_out = import_trace(source, target)
    click.echo(f"Wrote {target}", err=True)
    for what, number in sorted(left_out.items()):
        click.echo(f"Left out: {what}: {number:,}", err=True)


def _writer(trace: OpenedTrace, format_: str) -> Callable[[IO[str]], None]:
    """The function that writes the trace to a stream."""
    from popvision.export.traces.chrome import write_chrome
    from popvision.export.traces.events import event_columns
    from popvision.export.traces.speedscope import write_speedscope
    from popvision.export.writing import WRITERS

    source, provenance = trace.source, trace.provenance
    if format_ == "chrome":
        return lambda stream: write_chrome(source, provenance, stream)
    if format_ == "speedscope":
        return lambda stream: write_speedscope(source, provenance, stream)
    return lambda stream: WRITERS[format_](event_columns(source), provenance, stream)


def _open(path: Path) -> OpenedTrace:
    """The trace at a path; of a folder its only one."""
    from popvision.opened.trace import OpenedTrace

    if path.is_dir():
        traces = sorted(path.rglob("*.pvti"))
        if len(traces) != 1:
            held = ", ".join(str(each.relative_to(path)) for each in traces[:5]) or "none"
            shown = "; `popvision view FILE FILE` shows several in one timeline" if traces else ""
            count = f"{len(traces)} host traces ({held})"
            raise FormatError(f"{path} holds {count}; name one .pvti{shown}.")
        path = traces[0]
    trace = OpenedTrace(path)
    echo_lost(trace.path, trace.lost, "popvision trace info")
    return trace


def _write_differences(answer: dict[str, Any]) -> None:
    """The rows of a comparison as CSV on stdout."""
    import numpy as np

    from popvision.answers.trace import DIFFERENCES
    from popvision.export.writing import write_csv

    rows = answer["rows"]
    numbers = ["depth", *(f"{field}_{side}" for field in DIFFERENCES for side in ("source", "target", "diff"))]
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in ("path", "channel")}
    columns |= {key: np.array([row[key] for row in rows]) for key in numbers}
    write_csv(columns, f"Source {answer['source']}, target {answer['target']}; host clock", sys.stdout)


def _difference_items(answer: dict[str, Any]) -> Sequence[str | Table]:
    columns = {
        "path": "path",
        "count_source": "count",
        "count_target": "target",
        "total_us_source": "total us",
        "total_us_target": "target",
        "total_us_diff": "difference",
        "self_us_diff": "self difference",
    }
    rows = [[each[key] for key in columns] for each in answer["rows"]]
    return [
        f"Source {answer['source']}: {answer['source_duration_us']:,.1f} us",
        f"Target {answer['target']}: {answer['target_duration_us']:,.1f} us, by {answer['by']}",
        "",
        make_table(list(columns.values()), rows),
    ]


def _items(answer: dict[str, Any]) -> Sequence[str | Table]:
    rows = [[each[key] for key in _COLUMNS] for each in answer["rows"]]
    return [
        f"Trace of {answer['duration_us']:,.1f} us, by {answer['by']}",
        "",
        make_table(list(_COLUMNS.values()), rows),
    ]
