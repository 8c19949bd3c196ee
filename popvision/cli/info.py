"""`popvision info`: the contents of a report folder, a profile.pop or a .pvti. Starts fast: imports no NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from popvision.cli.console import progress
from popvision.formats.errors import FormatError


@click.command(name="info")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--verify", is_flag=True, help="Read everything, check every checksum and list what is lost.")
@click.option("--schema", is_flag=True, help="List tables, columns, row counts and blob sizes, without contents.")
def command(path: Path, as_json: bool, verify: bool, schema: bool) -> None:
    """List what PATH (a report folder, a profile.pop or a .pvti) holds; of a damaged one also what is lost."""
    files = _files(path)
    facts = {str(file): _schema(file) if schema else _facts(file, verify) for file in files}
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    for file, contents in facts.items():
        click.echo(file)
        _print(contents, "  ")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FormatError(f"{path} does not exist; give a report folder, a profile.pop or a .pvti.")
    if not path.is_dir():
        return [path]
    files = sorted([*path.rglob("profile.pop"), *path.rglob("*.pvti")])
    if not files:
        raise FormatError(
            f"{path} holds no profile.pop and no .pvti, and neither do its sub-folders; "
            "run a program with POPLAR_ENGINE_OPTIONS or PVTI_OPTIONS set, or with `popvision run`."
        )
    return files


def _facts(file: Path, verify: bool) -> dict[str, Any]:
    """The overview; with `verify` also "integrity", "verified" and "lost". For a file that SQLite cannot read: the
    problem and these."""
    try:
        facts = _overview(file)
    except FormatError as problem:
        found = _verification(file)
        if all(each["kind"] == "file" for each in found["lost"]):
            raise
        kind = ".pvti host trace" if file.suffix == ".pvti" else "profile.pop"
        return {"kind": kind, "problem": str(problem), **found}
    return facts | _verification(file) if verify else facts


def _verification(file: Path) -> dict[str, Any]:
    from popvision.answers.verification import verify_file

    with progress(f"Checking {file}"):
        found = verify_file(file)
    return {"integrity": found["integrity"], "verified": found["verified"], "lost": found["lost"]}


def _overview(file: Path) -> dict[str, Any]:
    if file.suffix == ".pvti":
        from popvision.formats.pvti.overview import overview as trace_overview

        return trace_overview(file)
    from popvision.formats.profile.overview import overview

    return overview(file)


def _schema(file: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from popvision.formats.profile.connection import SqliteFile
    from popvision.formats.profile.schema_report import schema_report

    return asdict(schema_report(SqliteFile(file, "database")))


def _print(value: Any, indent: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                click.echo(f"{indent}{key}:")
                _print(item, indent + "  ")
            else:
                click.echo(f"{indent}{key}: {_text(item)}")
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                click.echo(f"{indent}- {item}")
                continue
            click.echo(f"{indent}- {', '.join(f'{k} {_text(v)}' for k, v in item.items() if not isinstance(v, list))}")
            for part in (v for v in item.values() if isinstance(v, list)) if isinstance(item, dict) else ():
                _print(part, indent + "    ")


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
