"""The seconds that compilation spends on writing its report: compileGraph writes it, so that no clock around the call
tells the two apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from simulator.runtime.recording.report_folder import ReportFolder


@contextmanager
def writing_seconds(clock: Callable[[], float]) -> Iterator[list[float]]:
    """A list that gets the seconds, by `clock`, of each report written in the block."""
    seconds: list[float] = []
    write = ReportFolder.write_compilation

    def timed(folder: ReportFolder, *arguments: Any) -> None:
        began = clock()
        write(folder, *arguments)
        seconds.append(clock() - began)

    with mock.patch.object(ReportFolder, "write_compilation", timed):
        yield seconds
