"""What the tracer sees of compiling and running, on the published channels."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from popvision import pva

PROGRAM = """
import numpy as np
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy

device = IPUModel().createDevice()
graph = Graph(device)
x = graph.addVariable(FLOAT, [4], "x")
graph.setTileMapping(x, 0)
engine = Engine(graph, Copy(graph.addHostToDeviceFIFO("batches", FLOAT, 4), x))
engine.connectStreamToCallback("batches", lambda memory: memory.fill(1))
engine.load(device)
engine.run()
engine.run()
"""


def flattened(events, depth=0):
    for event in events:
        yield depth, event
        yield from flattened(event.children(), depth + 1)


def test_phases_runs_and_callbacks_are_events(tmp_path):
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "PVTI_OPTIONS": json.dumps({"enable": "true", "directory": str(tmp_path)}),
        "PYTHONPATH": str(root),
    }
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, cwd=tmp_path)
    (path,) = tmp_path.glob("*.pvti")
    trace = pva.openTrace(str(path))
    found = [
        (depth, event.channel if isinstance(event.channel, str) else event.channel.name, event.label)
        for process in trace.processes
        for thread in process.threads
        for depth, event in flattened(thread.events)
    ]
    compiler = [(depth, label) for depth, channel, label in found if channel == "Poplar Compiler"]
    assert compiler[0] == (0, "poplar::core::compileGraph")
    assert (1, "poplar::core::lowerGlobally") in compiler
    runtime = [(depth, label) for depth, channel, label in found if channel == "Poplar Runtime"]
    assert runtime.count((0, "poplar::core::Engine::run")) == 2
    assert runtime.count((1, "StreamCopy batches")) == 2
    assert (0, "poplar::core::Engine::prepare") in runtime
    assert (1, "poplar::core::Engine::load") in runtime
    assert (0, "Poplar", "Prepare IPU Executable") in found


def test_reports_and_the_trace_share_a_run_id(tmp_path):
    """Read with plain SQL from both files."""
    environment = os.environ | {
        "PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)}),
        "POPLAR_ENGINE_OPTIONS": json.dumps({"autoReport.all": "true", "autoReport.directory": str(tmp_path)}),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    environment.pop("POPVISION_RUN_ID", None)
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, cwd=tmp_path)
    (path,) = tmp_path.glob("*.pvti")
    found = []
    for file, key in ((path, "run_id"), (tmp_path / "profile.pop", "runId")):
        with sqlite3.connect(file) as db:
            found += [value.strip('"') for (value,) in db.execute("select value from meta where key = ?", (key,))]
    assert len(found) == 2
    assert found[0] == found[1] != ""
