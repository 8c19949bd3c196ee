"""`popvision watch prog.py ...` or `main.cpp ...`: run a program at each save, and show the cost of each line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from popvision.formats.errors import FormatError

_MIB = 1 << 20


@click.command(
    name="watch",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port; by default the first free one from 8050.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--seconds", type=click.FloatRange(0.1, 86_400), default=60.0, show_default=True, help="Longest run of the program."
)
@click.option(
    "--memory",
    type=click.IntRange(16),
    default=8192,
    show_default=True,
    metavar="MIB",
    help="Memory of all its processes.",
)
@click.option("--processes", type=click.IntRange(1), default=64, show_default=True, help="Processes at once.")
@click.option(
    "--disk",
    type=click.IntRange(1),
    default=2048,
    show_default=True,
    metavar="MIB",
    help="Report, output and temporary files of a run.",
)
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    port: int | None,
    no_browser: bool,
    seconds: float,
    memory: int,
    processes: int,
    disk: int,
    program: Path,
    arguments: tuple[str, ...],
) -> None:
    """Compile and run PROGRAM, Python or C++, at each save of its files, until Ctrl-C. A page shows beside each line
    its cycles, its bytes at the peak and the bytes it receives, and how each changed. Reports lie in a private folder
    that goes at the end. A run beyond a limit is stopped."""
    from popvision.watch.limits import Limits
    from popvision.watch.session import WatchedProgram
    from webapp.shell.serve import ServeError, serve

    limits = Limits(seconds, memory * _MIB, processes, disk * _MIB)
    watched = WatchedProgram(program, arguments, limits, _engine_options())
    try:
        watched.start()
        serve([watched.folder], port=port, open_browser=not no_browser, uploads=False, watched=watched)
    except ServeError as error:
        click.echo(f"popvision: {error}", err=True)
        raise SystemExit(1) from None
    finally:
        watched.close()


def _engine_options() -> dict[str, object]:
    """The user's POPLAR_ENGINE_OPTIONS. Raises FormatError unless they are a JSON object."""
    text = os.environ.get("POPLAR_ENGINE_OPTIONS", "").strip() or "{}"
    try:
        options = json.loads(text)
    except ValueError as error:
        raise FormatError(f"POPLAR_ENGINE_OPTIONS is not JSON ({error}); it must be an object of strings.") from None
    if not isinstance(options, dict):
        raise FormatError(f"POPLAR_ENGINE_OPTIONS must be a JSON object of strings, not {text[:80]!r}.")
    return options
