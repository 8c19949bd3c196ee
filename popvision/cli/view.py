"""`popvision view FOLDER ...`: serve the viewer for the reports and traces in these folders."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from popvision.cli.trace_files import no_cache_option
from popvision.formats.errors import FormatError

#: Bytes that are fetched from an address to be viewed.
_MOST_FETCHED = 4 * 2**30


@click.command(name="view")
@click.argument("folders", nargs=-1)
@click.option(
    "--host",
    "--bind",
    "host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Beyond the loopback address, visitors need a token.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port; by default the first free one from 8050.")
@click.option("--allow-host", multiple=True, help="Accept requests for this host name too.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--no-upload", is_flag=True, help="Refuse reports dropped on the first page.")
@no_cache_option
@click.option("--follow", is_flag=True, help="Show what programs add to their host traces while a timeline is open.")
def command(
    folders: tuple[str, ...],
    host: str,
    port: int | None,
    allow_host: tuple[str, ...],
    no_browser: bool,
    no_upload: bool,
    follow: bool,
) -> None:
    """Serve the reports and traces in FOLDERS and below until Ctrl-C; without FOLDERS, the sample reports of popvision.
    A profile.pop stands for its folder. With several FOLDERS, also print the address that compares the first
    two; with several .pvti, those of one timeline for all and of the comparison of the first two. An address such as
    s3://bucket/runs/one is fetched first and forgotten at the end."""
    from webapp.shell.serve import ServeError, serve

    with ExitStack() as until_the_end:
        paths = [_local(each, until_the_end) for each in folders]
        try:
            serve(
                paths,
                host=host,
                port=port,
                allowed_hosts=allow_host,
                open_browser=not no_browser,
                uploads=not no_upload,
                compare=len(folders) > 1,
                follow=follow,
            )
        except ServeError as error:
            click.echo(f"popvision: {error}", err=True)
            raise SystemExit(1) from None


def _local(folder: str, until_the_end: ExitStack) -> Path:
    """The folder or file, of an address what was fetched from it. Raises FormatError."""
    if "://" in folder:
        from popvision.catalogue.places import fetched

        return until_the_end.enter_context(fetched(folder, _MOST_FETCHED))
    path = Path(folder)
    if not path.exists():
        raise FormatError(f"{folder} does not exist; give a folder of reports, a profile.pop or a .pvti.")
    return path
