"""`popvision trace`: contents, statistics and export of host traces."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from popvision.cli.console import echo, make_table, progress
from popvision.cli.paging import page_options, show
from popvision.cli.trace_files import PATHS, clock_options, open_trace, open_traces, reading, strict_option
from popvision.cli.trace_kernels import kernel_commands
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

    from popvision.analysis.trace.columns import HostTrace
    from popvision.answers.several_traces import Clock
    from popvision.opened.trace import OpenedTrace

#: Key of a row -> title of its column.
_COLUMNS = {
    "file": "file",
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
    """Inspect and export host traces: a .pvti, several of one run, or the folder of a run. Times are microseconds of
    the host clock."""


@command.command()
@PATHS
@clock_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@strict_option
def info(paths: tuple[Path, ...], clock: Clock, as_json: bool) -> None:
    """List what a trace holds: its facts, threads, channels, line graphs and heat maps; of several files also what they
    hold together, and where each lies on one clock."""
    from popvision.answers.several_traces import files_info_answer

    traces = open_traces(paths)
    tables = [_tables(trace) for trace in traces]
    infos = [_info(trace, each) for trace, each in zip(traces, tables, strict=True)]
    answer = infos[0] if len(traces) == 1 else files_info_answer(traces, infos, clock)
    if as_json:
        click.echo(json.dumps(answer, indent=1))
    elif len(traces) == 1:
        _echo_info(traces[0], tables[0])
    else:
        _echo_infos(traces, tables, answer)


@command.command()
@PATHS
@click.option("--by", default="self_us", show_default=True, help="Column to sort by.")
@click.option("--name", default="", help="Show only rows whose label or channel contains this text (any case).")
@click.option("--begin", type=float, help="Begin of the window, microseconds since the first event.")
@click.option("--end", type=float, help="End of the window, microseconds since the first event.")
@clock_options
@page_options(counts="Labels")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@strict_option
def stats(
    paths: tuple[Path, ...],
    by: str,
    name: str,
    begin: float | None,
    end: float | None,
    clock: Clock,
    limit: int,
    offset: int,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Count, total, self time and percentiles of each label, of each file and of all together. Totals and self times
    count the parts of events inside the window; mean and percentiles (by nearest rank) are those of entire
    durations. Of several files, each label of the page has a row of all files and one per file that has it."""
    from popvision.answers.page import Page
    from popvision.answers.several_traces import files_statistics_answer

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    traces = open_traces(paths)
    page = Page(offset, limit)
    with progress(f"Reading {traces[0].path}"):
        answer = files_statistics_answer(traces, page, clock, name=name, by=by, begin_us=begin, end_us=end)
    if as_csv:
        _write_statistics(answer)
        return
    show(answer, as_json, _items)


@command.command()
@PATHS
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "json", "chrome", "speedscope"]),
    required=True,
    help="csv and json: a row per event; chrome: for Perfetto and chrome://tracing; speedscope: its evented profiles.",
)
@clock_options
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File; stdout by default.")
@strict_option
def export(paths: tuple[Path, ...], format_: str, clock: Clock, output: Path | None) -> None:
    """Write the events in another format; of several files on the clock of the first, in one file."""
    from popvision.answers.several_traces import joined, notes_of
    from popvision.export.writing import write_file

    traces = open_traces(paths)
    source = joined(traces, clock)
    for note in notes_of(source):
        click.echo(f"popvision: {note}", err=True)
    write = _writer(source, "; ".join(dict.fromkeys(trace.provenance for trace in traces)), format_)
    with progress(f"Writing {source.label}"):
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
@click.option(
    "--folded", is_flag=True, help="Print all paths as folded stacks with both self times, for flamegraph.pl."
)
@strict_option
def diff(
    source: Path,
    target: Path,
    by: str,
    name: str,
    limit: int,
    offset: int,
    as_csv: bool,
    as_json: bool,
    folded: bool,
) -> None:
    """Compare two traces by call path: count, total and self time of SOURCE and TARGET, and target minus source. A path
    of one trace only counts 0 in the other."""
    from popvision.analysis.trace.difference import trace_difference
    from popvision.answers.page import Page
    from popvision.answers.trace import trace_difference_answer

    if as_csv + as_json + folded > 1:
        raise click.UsageError("--csv, --json and --folded exclude each other.")
    if folded:
        _refuse_beside_folded("by", "name", "limit", "offset")
    before, after = open_trace(source), open_trace(target)
    if folded:
        for line in trace_difference(before.source, after.source).folded():
            click.echo(line)
        return
    with progress(f"Comparing {before.path} and {after.path}"):
        answer = trace_difference_answer(before, after, Page(offset, limit), name=name, by=by)
    if as_csv:
        _write_differences(answer)
        return
    show(answer, as_json, _difference_items)


@command.command()
@PATHS
@click.option("--by", type=click.Choice(["absolute", "first", "event"]), default="absolute", show_default=True)
@click.option("--label", default="", help="Label of the event that coincides, for --by event.")
@click.option("--channel", default="", help="Its channel; any by default.")
@click.option("--occurrence", type=click.IntRange(0), default=0, show_default=True, help="Its number by begin.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@strict_option
def align(paths: tuple[Path, ...], by: str, label: str, channel: str, occurrence: int, as_json: bool) -> None:
    """Show where traces lie on one clock: by absolute time, by their first events, or by a chosen event."""
    from popvision.answers.several_traces import Clock, trace_alignment_answer

    answer = trace_alignment_answer(open_traces(paths), Clock(by, label, channel, occurrence))
    if as_json:
        click.echo(json.dumps(answer, indent=1))
        return
    columns = {"name": "trace", "begin_us": "begin us", "duration_us": "duration us", "shift_ns": "shift ns"}
    rows = [[each[key] for key in columns] for each in answer["traces"]]
    echo(f"Aligned by {by}", "", make_table(list(columns.values()), rows), *answer["notes"])


@command.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File; SOURCE.pvti by default.")
@click.option(
    "--unit",
    type=click.Choice(["us", "ns", "ms"]),
    default="us",
    show_default=True,
    help="What times of Chrome trace events count; the format has microseconds.",
)
@strict_option
def import_(source: Path, output: Path | None, unit: str) -> None:
    """Write the trace of another tool as a .pvti: Chrome trace events as JSON (viztracer, PyTorch's profiler), a
    Perfetto trace, a speedscope profile or a .cpuprofile, plain or packed as .gz, .zst or .zip of one file."""
    from popvision.formats.foreign_traces.importing import import_trace

    target = output or source.with_name(source.name + ".pvti")
    if target.exists():
        raise FormatError(f"{target} exists already; give another --output.")
    with reading(source):
        import_trace(source, target, unit)
    click.echo(f"Wrote {target}", err=True)
    # What was lost stands in the new file.
    open_trace(target)


@command.command()
@click.option("--clear", is_flag=True, help="Remove all that no program has open.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache(clear: bool, as_json: bool) -> None:
    """List the imports of other tools' traces that are kept, with their files and sizes, opened last first; or remove
    them."""
    from popvision.formats.foreign_traces.kept_imports import clear_imports, kept_imports, kept_imports_folder

    if clear:
        number, size = clear_imports()
        click.echo(f"Removed {number:,} import{'s' * (number != 1)}, {size / 2**20:,.1f} MiB.")
        return
    kept = kept_imports()
    if as_json:
        rows = [
            {"origin": each.origin, "bytes": each.bytes, "opened_unix": each.opened, "path": str(each.path)}
            for each in kept
        ]
        click.echo(json.dumps({"folder": str(kept_imports_folder()), "imports": rows}, indent=1))
        return
    total = sum(each.bytes for each in kept)
    table = [[each.origin, each.bytes, _date(each.opened)] for each in kept]
    echo(f"{len(kept):,} import{'s' * (len(kept) != 1)} in {kept_imports_folder()}, {total / 2**20:,.1f} MiB")
    if kept:
        echo("", make_table(["trace", "bytes", "opened"], table))


@command.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--unit", type=click.Choice(["us", "ns", "ms"]), default="us", help="As of `import`.")
@click.option("--fix", is_flag=True, help="Write a sound trace of what could be read to --output.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A .json, .json.gz or .pvti.")
@click.option("--strict", is_flag=True, help="Exit with code 1 where there is something to say.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(path: Path, unit: str, fix: bool, output: Path | None, strict: bool, as_json: bool) -> None:
    """Say what is wrong with the trace of any tool, what reading it repaired, and what its producer should change. With
    --fix, write what could be read as a sound trace, in which `check` finds nothing."""
    from popvision.analysis.trace.findings import trace_findings

    if fix != (output is not None):
        raise click.UsageError("--fix needs an --output to write to, and --output is for --fix.")
    with reading(path):
        findings = trace_findings(path, unit)
    if as_json:
        click.echo(json.dumps({"path": str(path), "findings": [asdict(finding) for finding in findings]}, indent=1))
    elif not findings:
        echo(f"{path}: nothing to say.")
    else:
        echo(str(path))
        for finding in findings:
            echo(f"{finding.kind}: {finding.count:,} {finding.what}", f"    producer: {finding.advice}")
    if output is not None:
        _write_fixed(path, output, unit)
    if strict and findings:
        raise click.exceptions.Exit(1)


def _write_fixed(path: Path, output: Path, unit: str) -> None:
    from popvision.export.traces.repaired import write_repaired

    with progress(f"Writing {output}"):
        write_repaired(path, output, unit)
    click.echo(f"Wrote {output}", err=True)


def _refuse_beside_folded(*options: str) -> None:
    context = click.get_current_context()
    for option in options:
        if context.get_parameter_source(option) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--folded prints all paths; leave out --{option}.")


for _command in kernel_commands():
    command.add_command(_command)


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


def _writer(source: HostTrace, provenance: str, format_: str) -> Callable[[IO[str]], None]:
    """The function that writes a trace to a stream."""
    from popvision.export.traces.chrome import write_chrome
    from popvision.export.traces.events import event_columns
    from popvision.export.traces.speedscope import write_speedscope
    from popvision.export.writing import WRITERS

    if format_ == "chrome":
        return lambda stream: write_chrome(source, provenance, stream)
    if format_ == "speedscope":
        return lambda stream: write_speedscope(source, provenance, stream)
    return lambda stream: WRITERS[format_](event_columns(source), provenance, stream)


def _tables(trace: OpenedTrace) -> dict[str, DataFrame]:
    """What a trace holds, kind by kind."""
    series = trace.series().groupby(["graph", "series", "unit"], sort=False).size()
    return {
        "threads": trace.threads(),
        "channels": trace.channels(),
        "line graphs": series.reset_index(name="samples"),
        "heat maps": trace.heatmaps(),
    }


def _facts(trace: OpenedTrace) -> dict[str, object]:
    return {"begin_ns": trace.begin_ns, "duration_us": trace.duration_us, **trace.facts}


def _info(trace: OpenedTrace, tables: Mapping[str, DataFrame]) -> dict[str, object]:
    """What `info` prints of one trace as JSON."""
    from popvision.answers.page import records

    rows: dict[str, object] = {name.replace(" ", "_"): records(table) for name, table in tables.items()}
    return {"path": str(trace.path), **_facts(trace), **rows, "lost": trace.lost, "verified": trace.verified}


def _echo_info(trace: OpenedTrace, tables: Mapping[str, DataFrame]) -> None:
    from popvision.answers.page import records

    echo(str(trace.path), make_table(("fact", "value"), list(_facts(trace).items()), header=False))
    for sentence in trace.source.lost:
        echo(f"Lost: {sentence}")
    for name, table in tables.items():
        if len(table):
            echo("", name.capitalize(), make_table(list(table.columns), [list(row.values()) for row in records(table)]))


def _echo_infos(
    traces: Sequence[OpenedTrace], tables: Sequence[Mapping[str, DataFrame]], answer: dict[str, Any]
) -> None:
    """What several traces hold together, then each on its own."""
    together = {key: answer[key] for key in ("duration_us", "processes", "threads", "events", "instants", "channels")}
    columns = {"path": "file", "begin_us": "begin us", "duration_us": "duration us", "shift_ns": "shift ns"}
    rows = [
        [*(each[key] for key in columns), len(each["threads"]), trace.source.events]
        for each, trace in zip(answer["files"], traces, strict=True)
    ]
    echo(
        f"{len(traces)} files, aligned by {answer['align']}",
        make_table(("fact", "value"), list(together.items()), header=False),
        "",
        make_table([*columns.values(), "threads", "events"], rows),
        *answer["notes"],
    )
    for trace, each in zip(traces, tables, strict=True):
        echo("")
        _echo_info(trace, each)


def _columns(answer: dict[str, Any]) -> dict[str, str]:
    """Key and title of the columns that the rows have; figures that are no time name their unit."""
    rows = answer["rows"]
    unit = answer.get("unit", "")
    titles = {key: title for key, title in _COLUMNS.items() if not rows or key in rows[0]}
    return {key: _in_unit(title, unit) for key, title in titles.items()}


def _in_unit(title: str, unit: str) -> str:
    """The title of a column whose figures are no time but count a unit."""
    return title.removesuffix("us") + unit if unit and title.endswith(" us") else title


def _write_statistics(answer: dict[str, Any]) -> None:
    """The rows of statistics as CSV on stdout."""
    import numpy as np

    from popvision.export.writing import write_csv

    texts = ("file", "label", "channel")
    columns: dict[str, Any] = {
        key: [row[key] for row in answer["rows"]] if key in texts else np.array([row[key] for row in answer["rows"]])
        for key in _columns(answer)
    }
    write_csv(columns, _with_notes(f"{answer['provenance']}; total and self time in the window", answer), sys.stdout)


def _with_notes(provenance: str, answer: dict[str, Any]) -> str:
    """The first line of a CSV file, with what must stand beside the figures."""
    return "; ".join([provenance, *answer.get("notes", ())])


def _write_differences(answer: dict[str, Any]) -> None:
    """The rows of a comparison as CSV on stdout."""
    import numpy as np

    from popvision.analysis.trace.difference import DIFFERENCES
    from popvision.export.writing import write_csv

    rows = answer["rows"]
    fields = [field for field in DIFFERENCES if not rows or f"{field}_diff" in rows[0]]
    numbers = ["depth", *(f"{field}_{side}" for field in fields for side in ("source", "target", "diff"))]
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in ("path", "channel")}
    columns |= {key: np.array([row[key] for row in rows]) for key in numbers}
    files = f"Source {answer['source']}, target {answer['target']}"
    write_csv(columns, _with_notes(f"{files}; {answer['provenance']}", answer), sys.stdout)


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
    unit = answer.get("unit", "")
    if "samples" in answer:
        columns = {key: title for key, title in columns.items() if not key.startswith("count")}
    rows = [[row[key] for key in columns] for row in answer["rows"]]
    return [
        f"Source {answer['source']}: {answer['source_duration_us']:,.1f} {unit or 'us'}",
        f"Target {answer['target']}: {answer['target_duration_us']:,.1f} {unit or 'us'}, by {answer['by']}",
        *answer.get("notes", ()),
        "",
        make_table([_in_unit(title, unit) for title in columns.values()], rows),
    ]


def _items(answer: dict[str, Any]) -> Sequence[str | Table]:
    columns = {key: title for key, title in _columns(answer).items() if key != "file" or "files" in answer}
    rows = [[each[key] for key in columns] for each in answer["rows"]]
    files = f"{len(answer['files'])} files, aligned by {answer['align']}, " if "files" in answer else "Trace "
    return [
        f"{files}of {answer['duration_us']:,.1f} {answer.get('unit', 'us')}, by {answer['by']}",
        *answer.get("notes", ()),
        "",
        make_table(list(columns.values()), rows),
    ]
