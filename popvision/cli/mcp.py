"""`popvision mcp`: reports as tools for agents."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(name="mcp")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
def command(folders: tuple[Path, ...]) -> None:
    """Serve the reports and traces below FOLDERS to an agent over the Model Context Protocol, on stdin and stdout.
    Tools: insights, summary, tree, operations, liveness, explain, tiles, exchanges, query. Reads only these folders and
    writes nothing; answers are bounded and come in pages. Ends with stdin."""
    from popvision.agents.catalogue import Catalogue
    from popvision.agents.protocol import serve

    catalogue = Catalogue(folders)
    reports, traces = len(catalogue.reports), len(catalogue.traces)
    count = f"{reports:,} report{'s' * (reports != 1)} and {traces:,} trace{'s' * (traces != 1)}"
    click.echo(f"popvision mcp: {count}; waiting for an agent on stdin.", err=True)
    try:
        serve(catalogue, sys.stdin.buffer, sys.stdout.buffer)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
