"""`popvision html REPORT --view memory -o page.html`: one HTML file of a view, without server and network; of a host
trace its timeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import click

from popvision.cli.console import progress
from popvision.cli.trace_files import no_cache_option, open_trace

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.source import TraceSource


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
    from popvision.formats.errors import FormatError
    from popvision.formats.foreign_traces.recognition import is_foreign_trace
    from popvision.formats.replacing import replacing
    from webapp.documents.export import ExportError, file_name

    is_trace = report.suffix == ".pvti" or is_foreign_trace(report)
    view = view or ("timeline" if is_trace else "")
    if not view:
        raise click.UsageError("--view is missing; of a report it names the view to write.")
    if is_trace and view != "timeline":
        raise FormatError(f"{report} is a host trace, which has no view {view!r}: use timeline.")
    params = dict(parse_qsl(selection.lstrip("?")))
    source: TraceSource | ReportSource
    try:
        if is_trace:
            source, page = _trace_page(report, params, against, confidential, theme)
        else:
            source, page = _report_page(report, view, params, against, confidential, theme)
    except ExportError as problem:
        raise FormatError(f"{problem}.") from None
    if output is not None and str(output) == "-":
        click.echo(page.decode("utf-8"), nl=False)
        return
    path = output or Path(file_name(source, view, confidential))
    with replacing(path) as temporary:
        temporary.write_bytes(page)
    click.echo(f"{path}: {len(page):,} B")


def _trace_page(
    path: Path, params: dict[str, str], against: Path | None, confidential: bool, theme: str
) -> tuple[TraceSource, bytes]:
    from popvision.analysis.summary.report_list import reports_beside
    from webapp.documents.export import export_trace

    if against is not None and params:
        raise click.UsageError("--selection chooses a window of one trace; leave it out with --against.")
    source = open_trace(path).source
    target = None if against is None else open_trace(against).source
    with progress("Drawing timeline"):
        reports = [(0, report) for report in reports_beside(path)] if target is None else []
        page = export_trace(source, params, confidential=confidential, theme=theme, reports=reports, target=target)
    return source, page


def _report_page(
    path: Path, view: str, params: dict[str, str], against: Path | None, confidential: bool, theme: str
) -> tuple[ReportSource, bytes]:
    from popvision.analysis.report.source import ReportSource
    from webapp.documents.export import export_document

    with progress(f"Drawing {view}"):
        source = ReportSource(path, salvage=True)
        target = None if against is None else ReportSource(against, salvage=True)
        page = export_document(source, view, params, target=target, confidential=confidential, theme=theme)
    return source, page
