"""Run a program with tracing on in its own process, and read its traces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from popvision.formats.pvti.columns import Slices
from popvision.formats.pvti.reader import TraceReader

ROOT = Path(__file__).parents[2]
#: seconds that a program may take on a loaded machine; one that waits for a lock or for a dead worker never ends
PATIENCE = 300
PRELUDE = "import popvision.pvti as pvti\nchannel = pvti.createTraceChannel('work')\n"
#: `until_written(spans)` returns when so many are in the file of the program that runs
UNTIL_WRITTEN = """
from popvision.formats.pvti.reader import TraceReader
from tests.waiting import wait_until

def written():
    reader = TraceReader(pvti.getCurrentTraceFilename())
    return sum(len(lane) for row in reader.threads() for lane in reader.events(row.id).lanes)

def until_written(spans):
    wait_until(lambda: written() >= spans, "the spans are in the file")
"""
#: a program of twelve spans
TWELVE_STEPS = "for i in range(12):\n    with pvti.Tracepoint(channel, f'step {i}'):\n        pass\n"


def run(code: str, folder: Path, *, options: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run `code` after the prelude; `options` is the raw text of PVTI_OPTIONS, by default the folder alone."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PVTI_OPTIONS", "POPVISION_RUN_ID")}
    environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{ROOT / 'compat'}"
    environment["PVTI_OPTIONS"] = json.dumps({"directory": str(folder)}) if options is None else options
    script = folder / "program.py"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(PRELUDE + code)
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=check, timeout=PATIENCE
    )


def traces(folder: Path) -> list[TraceReader]:
    """Readers of all traces in a folder, by path."""
    return [TraceReader(path) for path in sorted(folder.glob("*.pvti"))]


def only_trace(folder: Path) -> TraceReader:
    (reader,) = traces(folder)
    return reader


def labels(reader: TraceReader, slices: Slices) -> list[str]:
    return [reader.names.label[reader.names.of_site[site]] for site in slices.site]


def tree(reader: TraceReader, thread: int) -> list[Any]:
    """A thread's events as nested (label, children) in time order."""
    events = reader.events(thread)

    def inside(depth: int, parent: int) -> list[Any]:
        if depth == len(events.lanes):
            return []
        lane = events.lanes[depth]
        named = labels(reader, lane)
        return [(named[row], inside(depth + 1, row)) for row in range(len(lane)) if lane.parent[row] == parent]

    return inside(0, 0)
