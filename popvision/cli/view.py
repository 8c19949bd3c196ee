"""`popvision view FOLDER ...`: the viewer on the reports and traces in these folders."""

from __future__ import annotations

from pathlib import Path

import click

from popvision.formats.errors import FormatError


@click.command(name="view")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; without it the next free one from 8050.")
@click.option("--allow-host", multiple=True, help="A further name that a browser may call this server by.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(
    folders: tuple[Path, ...], host: str, port: int | None, allow_host: tuple[str, ...], no_browser: bool
) -> None:
    """Serve the reports and traces in FOLDERS and below, until Ctrl-C; without folders, the samples that come with
    popvision. A profile.pop or .pvti may stand for its folder."""
    from webapp.serve import ServeError, serve

    for folder in folders:
        if not folder.exists():
            raise FormatError(f"{folder} does not exist; give a folder of reports, a profile.pop or a .pvti.")

    try:
        serve(list(folders), host=host, port=port, allowed_hosts=allow_host, open_browser=not no_browser)
    except ServeError as error:
        click.echo(f"popvision: {error}", err=True)
        raise SystemExit(1) from None
