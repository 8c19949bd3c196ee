"""Programs that write a report and a trace, and say what has become of it: children of test_power_loss.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileWriter

RUNS = 3
TURNS = 6


def append_runs(writer: ProfileWriter, runs: int = RUNS) -> Iterator[int]:
    """Appends runs of 43 cycles; the number of each after it was appended."""
    from tests.reports import tiny_run

    for number in range(runs):
        writer.append_run(replace(tiny_run(), base=tiny_run().base + 43 * number))
        yield number


def _report(folder: str, name: str, runs: int) -> ProfileWriter:
    from popvision.formats.profile import ProfileWriter
    from tests.reports import tiny_compilation

    writer = ProfileWriter(Path(folder) / "profile.pop")
    compilation = tiny_compilation()
    writer.write_compilation(replace(compilation, meta={**compilation.meta, "reportId": name}))
    print("compiled", flush=True)
    for _ in append_runs(writer, runs):
        print("run", flush=True)
    return writer


def write_report(folder: str) -> None:
    """Announces the compilation and each run."""
    _report(folder, "new", RUNS).close()


def write_report_again(folder: str) -> None:
    """A program that is killed after two runs, then one that ends."""
    child = os.fork()
    if child == 0:
        _report(folder, "old", 2)
        os._exit(0)
    os.waitpid(child, 0)
    print("killed", flush=True)
    write_report(folder)


def write_trace(folder: str) -> None:
    """Announces each turn after it was synced."""
    from popvision.formats.pvti.finalise import finalise
    from tests.formats.mutated_formats import begun_journal, write_turn

    path = Path(folder) / "trace.pvti"
    writer = begun_journal(path)
    writer.connection.execute("PRAGMA wal_autocheckpoint = 4")
    writer.sync()
    print("begun", flush=True)
    for turn in range(TURNS):
        write_turn(writer, turn)
        writer.sync()
        print("turn", flush=True)
    writer.close()
    finalise(path)


def run_engine(folder: str) -> None:
    """A traced program with all files of a report; announces each run."""
    os.environ["PVTI_OPTIONS"] = f'{{"enable":"true","directory":"{folder}"}}'
    from tests.compiler.tiny_graphs import reporting_engine

    engine = reporting_engine(folder, RUNS)
    print("loaded", flush=True)
    for _ in range(RUNS):
        engine.run()
        print("run", flush=True)


def _of_format(name: str) -> Callable[[str], None]:
    """Announces a file of that format."""

    def write(folder: str) -> None:
        from tests.formats.mutated_formats import FORMATS

        FORMATS[name].make(Path(folder) / FORMATS[name].file)
        print("there", flush=True)

    return write


#: Name of a program -> the program.
WRITERS: dict[str, Callable[[str], None]] = {
    **{name: _of_format(name) for name in ("debug information", "graph", "archive")},
    "report": write_report,
    "report in the place of another": write_report_again,
    "trace": write_trace,
    "engine": run_engine,
}
