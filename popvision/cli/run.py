"""`popvision run prog.py ...`: run a program in a child process with all reports and the host trace on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click

from popvision.formats.errors import FormatError
from popvision.package_data import package_folder

#: Values of POPVISION_TARGET.
_TARGETS = ("ipu1", "ipu2", "ipu21")
#: Constants that POPVISION_IPU_MODEL may set (simulator.engine.devices.what_if.CONSTANTS; a test keeps the two alike).
CONSTANTS = (
    "numIPUs",
    "tilesPerIPU",
    "memoryBytesPerTile",
    "tileClockFrequency",
    "exchangeBytesPerCycle",
    "memcpyBytesPerCycle",
    "interleavedMemoryElementIndex",
    "minIPUSyncDelay",
    "globalSyncCycles",
    "relativeSyncDelay",
    "compileIPUCode",
)


@click.command(
    name="run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-d", "--directory", default="./popvision_report", show_default=True, help="Folder for the reports.")
@click.option("--target", type=click.Choice(_TARGETS), help="What-if: compile for this target.")
@click.option("--tiles", type=click.IntRange(min=1), help="What-if: use this many tiles per IPU.")
@click.option(
    "--set",
    "constants",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"What-if: set a constant of the IPU Model; repeatable. Names: {', '.join(CONSTANTS)}.",
)
@click.option("--runs", type=click.IntRange(min=1), help="Record this many runs of each program (default 2).")
@click.option("--no-trace", is_flag=True, help="Do not write the host trace (.pvti).")
@click.argument("program", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    directory: str,
    target: str | None,
    tiles: int | None,
    constants: tuple[str, ...],
    runs: int | None,
    no_trace: bool,
    program: str,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with profiling on. Options set in POPLAR_ENGINE_OPTIONS take precedence. Exits with PROGRAM's exit
    code."""
    if Path(directory).exists() and not Path(directory).is_dir():
        raise FormatError(f"the report folder {directory} is a file; give another path with -d.")
    environment = dict(os.environ)
    engine = {"autoReport.all": "true", "autoReport.directory": directory, "profiler.includeFlopEstimates": "true"}
    if runs is not None:
        engine["autoReport.executionProfileProgramRunCount"] = str(runs)
    environment["POPLAR_ENGINE_OPTIONS"] = json.dumps(engine | _json_object("POPLAR_ENGINE_OPTIONS"))
    if not no_trace:
        host = {"enable": "true", "directory": directory}
        environment["PVTI_OPTIONS"] = json.dumps(host | _json_object("PVTI_OPTIONS"))
    if target is not None:
        environment["POPVISION_TARGET"] = target
    if tiles is not None:
        environment["POPVISION_TILES"] = str(tiles)
    if constants:
        environment["POPVISION_IPU_MODEL"] = _join_constants(environment.get("POPVISION_IPU_MODEL", ""), constants)
    paths = [str(package_folder("compat")), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    done = subprocess.run([sys.executable, program, *arguments], env=environment, check=False)
    click.echo(f"Reports are in {Path(directory).resolve()}; open them with: popvision view {directory}", err=True)
    raise SystemExit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _join_constants(before: str, constants: tuple[str, ...]) -> str:
    """The value already in the variable, then these constants. Raises click.UsageError for an unknown name."""
    for each in constants:
        name, equals, value = each.partition("=")
        if name not in CONSTANTS or not equals or not value:
            raise click.UsageError(f"--set {each} is not NAME=VALUE; NAME is one of {', '.join(CONSTANTS)}.")
    return ",".join(filter(None, (before, *constants)))


def _json_object(variable: str) -> dict[str, object]:
    """The JSON object in an environment variable, {} when unset. Raises click.UsageError for anything else."""
    text = os.environ.get(variable, "")
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{variable} is not JSON ({error}); it must be an object of strings.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{variable} must be a JSON object of strings, not {text!r}.")
    return value
