"""The environment in which a child process runs a program with profiling on: `popvision run`, and points of sweeps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from popvision.package_data import package_folder

#: Values of POPVISION_TARGET.
TARGETS = ("ipu1", "ipu2", "ipu21")

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

#: The variables that `profiling_environment` sets.
VARIABLES = ("POPLAR_ENGINE_OPTIONS", "PVTI_OPTIONS", "POPVISION_TARGET", "POPVISION_TILES", "POPVISION_IPU_MODEL")


def profiling_environment(
    directory: str | Path,
    *,
    runs: int | None = None,
    trace: bool = True,
    target: str | None = None,
    tiles: int | None = None,
    constants: str = "",
    options: Mapping[str, object] | None = None,
    trace_options: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """Variables that turn on every report, and the host trace with `trace`, into `directory`.

    `options` and `trace_options` go before what is set here; `constants` is "name=value,name=value". What is None or
    empty leaves the variable as it is in this process. `compat` stands first in PYTHONPATH."""
    engine: dict[str, object] = {
        "autoReport.all": "true",
        "autoReport.directory": str(directory),
        "profiler.includeFlopEstimates": "true",
    }
    if runs is not None:
        engine["autoReport.executionProfileProgramRunCount"] = str(runs)
    environment = {"POPLAR_ENGINE_OPTIONS": json.dumps(engine | dict(options or {}))}
    if trace:
        host: dict[str, object] = {"enable": "true", "directory": str(directory)}
        environment["PVTI_OPTIONS"] = json.dumps(host | dict(trace_options or {}))
    if target is not None:
        environment["POPVISION_TARGET"] = target
    if tiles is not None:
        environment["POPVISION_TILES"] = str(tiles)
    if constants:
        environment["POPVISION_IPU_MODEL"] = constants
    paths = [str(package_folder("compat")), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def program_command(program: str | Path, arguments: Sequence[str]) -> list[str]:
    """How a program is run: a compiled one by itself, a script by this Python."""
    with Path(program).open("rb") as file:
        compiled = file.read(4) == b"\x7fELF"
    return [str(Path(program).absolute()), *arguments] if compiled else [sys.executable, str(program), *arguments]
