"""`popvision html REPORT --view memory -o page.html`: one HTML file of a view, without server and network; of a host
trace its timeline."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import click

from popvision.cli.console import progress
from popvision.cli.paging import echo_lost
from popvision.cli.trace_files import no_cache_option, say_not_kept


@click.command(name="html")
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--view",
    metavar="VIEW",
    help="summary, memory, liveness, program_tree, source, operations, execution or exchange; timeline of a trace.",
)
@click.option("--selection", default="", help='The selection, as in the address of the view: "tiles=3&liveness=17".')
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="A second report: the file begins with what changed in it, and shows the view of both. Or of a trace another.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write; - = stdout.")
@click.option("--confidential", is_flag=True, help="Replace names by stand-ins; leave out paths, values and sources.")
@click.option(
    "--theme", type=click.Choice(["both", "light", "dark"]), default="both", show_default=True, help="Colours."
)
@no_cache_option
def command(
    report: Path,
    view: str | None,
    selection: str,
    against: Path | None,
    output: Path | None,
    confidential: bool,
    theme: str,
) -> None:
    """Write a view of REPORT, a profile.pop or its folder, as one HTML file to share; it loads nothing from elsewhere.
    For a damaged report it shows what is readable and lists what is lost. Of a host trace (.pvti, Chrome, Perfetto) it
    writes the timeline, and --view may be left out; below the threads it draws the device of a report of the same
    execution in the trace's folder or a folder right below. With --against and a second trace it draws both as one
    flame graph, coloured by the difference."""
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.summary.report_list import reports_beside
    from popvision.analysis.trace.source import TraceSource
    from popvision.formats.errors import FormatError
    from popvision.formats.foreign_traces.recognition import is_foreign_trace
    from popvision.formats.replacing import replacing
    from webapp.documents.export import ExportError, export_document, export_trace, file_name

    is_trace = report.suffix == ".pvti" or is_foreign_trace(report)
    view = view or ("timeline" if is_trace else "")
    if not view:
        raise click.UsageError("--view is missing; of a report it names the view to write.")
    if is_trace and view != "timeline":
        raise FormatError(f"{report} is a host trace, which has no view {view!r}: use timeline.")
    params = dict(parse_qsl(selection.lstrip("?")))
    if is_trace and against is not None and params:
        raise click.UsageError("--selection chooses a window of one trace; leave it out with --against.")
    source: TraceSource | ReportSource
    try:
        with progress(f"Drawing {view}"):
            if is_trace:
                source = TraceSource(report)
                say_not_kept(source)
                echo_lost(report, source.lost, "popvision trace info", state=source.loss_state)
                target = None if against is None else TraceSource(against)
                if target is not None:
                    say_not_kept(target)
                    echo_lost(target.path, target.lost, "popvision trace info", state=target.loss_state)
                reports = [(0, each) for each in reports_beside(report)] if target is None else []
                page = export_trace(
                    source, params, confidential=confidential, theme=theme, reports=reports, target=target
                )
            else:
                source = ReportSource(report, salvage=True)
                other = None if against is None else ReportSource(against, salvage=True)
                page = export_document(source, view, params, target=other, confidential=confidential, theme=theme)
    except ExportError as problem:
        raise FormatError(f"{problem}.") from None
    if output is not None and str(output) == "-":
        click.echo(page.decode("utf-8"), nl=False)
        return
    path = output or Path(file_name(source, view, confidential))
    with replacing(path) as temporary:
        temporary.write_bytes(page)
    click.echo(f"{path}: {len(page):,} B")
