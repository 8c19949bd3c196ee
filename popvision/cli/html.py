"""`popvision html REPORT --view memory -o page.html`: one HTML file of a view, without server and network."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import click

from popvision.cli.console import progress


@click.command(name="html")
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--view",
    required=True,
    metavar="VIEW",
    help="summary, memory, liveness, program_tree, source, operations, execution or exchange.",
)
@click.option("--selection", default="", help='The selection, as in the address of the view: "tiles=3&liveness=17".')
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write; - = stdout.")
@click.option("--confidential", is_flag=True, help="Replace names by stand-ins; leave out paths, values and sources.")
@click.option(
    "--theme", type=click.Choice(["both", "light", "dark"]), default="both", show_default=True, help="Colours."
)
def command(report: Path, view: str, selection: str, output: Path | None, confidential: bool, theme: str) -> None:
    """Write a view of REPORT, a profile.pop or its folder, as one HTML file to share; it loads nothing from elsewhere.
    For a damaged report it shows what is readable and lists what is lost."""
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.errors import FormatError
    from popvision.formats.replacing import replacing
    from webapp.documents.export import ExportError, export_document, file_name

    source = ReportSource(report, salvage=True)
    params = dict(parse_qsl(selection.lstrip("?")))
    try:
        with progress(f"Drawing {view}"):
            page = export_document(source, view, params, confidential=confidential, theme=theme)
    except ExportError as problem:
        raise FormatError(f"{problem}.") from None
    if output is not None and str(output) == "-":
        click.echo(page.decode("utf-8"), nl=False)
        return
    path = output or Path(file_name(source, view, confidential))
    with replacing(path) as temporary:
        temporary.write_bytes(page)
    click.echo(f"{path}: {len(page):,} B")
