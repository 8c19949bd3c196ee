"""`popvision verify`: every file of a folder against its checksums."""

from __future__ import annotations

import json
from pathlib import Path

import click

from popvision.cli.console import echo, make_table, progress


@click.command(name="verify")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON: path, integrity, verified, lost of each file.")
def command(path: Path, as_json: bool) -> None:
    """Read every report and trace below PATH, or the file PATH, and compare all of it with its checksums.

    The exit code is 1 when a file is damaged. A file without checksums, of another tool or of an older version, is no
    damage: `verified` is "no"."""
    from popvision.answers.verification import files_to_verify, verify_file

    verified = []
    for file in files_to_verify(path):
        with progress(f"Checking {file}"):
            verified.append(verify_file(file))
    if as_json:
        click.echo(json.dumps(verified, indent=1))
    else:
        rows = [(answer["verified"], answer["integrity"], answer["path"]) for answer in verified]
        echo(make_table(("verified", "integrity", "file"), rows, most=300))
        for answer in verified:
            for loss in answer["lost"]:
                others = f" (and {loss['count'] - 1:,} more)" if loss["count"] > 1 else ""
                echo(f"{answer['path']}: lost: {loss['kind']}: {loss['first']}{others}")
    if any(answer["integrity"] == "damaged" for answer in verified):
        raise click.exceptions.Exit(1)
