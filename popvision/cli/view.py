"""`popvision view FOLDER ...`: the viewer on the reports and traces in these folders."""

from __future__ import annotations

from pathlib import Path

import click

from popvision.formats.errors import FormatError


@click.command(name="view")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--host",
    "--bind",
    "host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; another one than this machine's own loopback asks visitors for a token.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port; without it the next free one from 8050.")
@click.option("--allow-host", multiple=True, help="A further name that a browser may call this server by.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--no-upload", is_flag=True, help="Take no reports dropped on the first page.")
def command(
    folders: tuple[Path, ...],
    host: str,
    port: int | None,
    allow_host: tuple[str, ...],
    no_browser: bool,
    no_upload: bool,
) -> None:
    """Serve the reports and traces in FOLDERS and below, until Ctrl-C; without folders, the samples that come with
    popvision. A profile.pop or .pvti may stand for its folder. Of two or more, the address that compares the first
    two is printed as well."""
    from webapp.serve import ServeError, serve

    for folder in folders:
        if not folder.exists():
            raise FormatError(f"{folder} does not exist; give a folder of reports, a profile.pop or a .pvti.")

    try:
        serve(
            list(folders),
            host=host,
            port=port,
            allowed_hosts=allow_host,
            open_browser=not no_browser,
            uploads=not no_upload,
            compare=len(folders) > 1,
        )
    except ServeError as error:
        click.echo(f"popvision: {error}", err=True)
        raise SystemExit(1) from None
