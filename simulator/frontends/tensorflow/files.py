"""Files of a compiled program: its report's folder with framework.json, and serialized executables."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from popvision.formats.replacing import replacing
from simulator.base.errors import poplar_error
from simulator.base.options.flags import OptionFlags, from_environment
from simulator.frontends.lowering.interface_text import to_json
from simulator.frontends.lowering.lowered import Interface
from simulator.poplar import Executable
from simulator.runtime.recording.report_meta import fixed_second

#: Programs of this process whose folders are named without time and process.
_programs = itertools.count()


class ReportFiles:
    """The folder of one program's report: <autoReport.directory>/tf_report__<date>__<time>.<ms>__<pid>. With
    SOURCE_DATE_EPOCH the time is that second, in UTC, and the last number counts the programs of the process."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """`options` are the Engine's; those of POPLAR_ENGINE_OPTIONS win over them, as in the Engine. Raises
        invalid_option for a malformed variable."""
        self._options = OptionFlags(options) | from_environment(os.environ, "POPLAR_ENGINE_OPTIONS")

    @cached_property
    def name(self) -> str:
        """Of the folder. Raises invalid_option for a SOURCE_DATE_EPOCH that is no second."""
        second = fixed_second(os.environ)
        now = datetime.now() if second is None else datetime.fromtimestamp(second, UTC)
        number = os.getpid() if second is None else next(_programs)
        return f"tf_report__{now:%Y-%m-%d__%H-%M-%S}.{now.microsecond // 1000:03d}__{number}"

    @property
    def are_wanted(self) -> bool:
        """Whether any report is asked for."""
        return any(value == "true" for name, value in self._options.items() if name.startswith("autoReport."))

    @property
    def folder(self) -> Path:
        return Path(self._options.get("autoReport.directory", ".")) / self.name

    def write_framework_file(self, facts: Mapping[str, Any]) -> None:
        """Write framework.json where autoReport.all is on. Raises poplar_error where it cannot be written."""
        if self._options.get("autoReport.all") == "true":
            _write(self.folder / "framework.json", json.dumps(facts, indent=2).encode())


def serialize(folder: Path, key: str, executable: Executable, interface: Interface) -> None:
    """Write an executable as <key>.ipu_bin, and what the host must know of it as <key>.json. Raises poplar_error where
    they cannot be written."""
    binary = folder / f"{key}.ipu_bin"
    binary.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(binary) as temporary, temporary.open("wb") as file:
            executable.serialize(file)
    except OSError as error:
        raise poplar_error(f"The executable cannot be written to {binary} ({error.strerror}).") from error
    _write(folder / f"{key}.json", to_json(interface))


def _write(path: Path, data: bytes) -> None:
    """Write a file in one step: it is there as a whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise poplar_error(f"{path} cannot be written ({error.strerror}).") from error
