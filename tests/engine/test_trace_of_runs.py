"""What the simulator records of itself in the host trace: the runtime's channels and labels, and line graphs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision import pva
from popvision.opened.trace import OpenedTrace

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys, time
import numpy as np
from simulator.poplar import DeviceManager, Engine, FLOAT, Graph, TargetType
from simulator.poplar import program
from simulator.poplibs import popops, poputil

devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, IPUS)
device = next(device for device in devices if device.attach())
graph = Graph(device.getTarget())
x = graph.addVariable(FLOAT, [1024], "x")
poputil.mapTensorLinearly(graph, x)
up = graph.addHostToDeviceFIFO("up", FLOAT, 1024)
down = graph.addDeviceToHostFIFO("down", FLOAT, 1024)
prog = program.Sequence([program.Copy(up, x)])
y = popops.add(graph, x, x, prog)
popops.addInPlace(graph, x, y, prog)
prog.add(program.Copy(x, down))
engine = Engine(graph, prog)
engine.load(device)
given, result = np.ones(1024, np.float32), np.zeros(1024, np.float32)
engine.connectStream("up", given)
engine.connectStream("down", result)
before = engine.getTimeStamp().device_cycles
for _ in range(5):
    engine.run(0)
time.sleep(0.3)
for _ in range(3):
    engine.run(0)
assert result[0] == 3
print(engine.getTimeStamp().device_cycles - before)
engine.close()
"""


def run(tmp_path: Path, ipus: int) -> tuple[int, Path]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)})}
    command = [sys.executable, "-c", PROGRAM.replace("IPUS", str(ipus))]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    (path,) = tmp_path.glob("*.pvti")
    return int(done.stdout), path


@pytest.mark.parametrize("ipus", [1, 2])
def test_rates_times_windows_are_the_cycles_of_all_runs(tmp_path: Path, ipus: int) -> None:
    cycles, path = run(tmp_path, ipus)
    table = OpenedTrace(path).series()
    speed = table[table["graph"] == "Simulated cycles per second of host time"]
    assert sorted(set(speed["series"])) == [f"IPU {ipu}" for ipu in range(ipus)]
    totals = []
    for _, rows in speed.groupby("series"):
        times, rates = rows["time_us"].to_numpy(), rows["value"].to_numpy()
        totals.append(float(np.dot(rates[:-1], np.diff(times))) / 1e6)
        # Two windows, each followed by a pause.
        assert (rates > 0).tolist() == [True, False, True, False]
    assert max(totals) == pytest.approx(cycles, rel=1e-4)
    # An IPU without a last step of its own is done earlier.
    assert min(totals) > 0


def test_bytes_streamed_are_those_of_all_copies(tmp_path: Path) -> None:
    _, path = run(tmp_path, 1)
    table = OpenedTrace(path).series()
    streamed = table[table["graph"] == "Bytes streamed since the start"]
    last = streamed.groupby("series")["value"].last().to_dict()
    assert last == {"to device": 8 * 4096.0, "from device": 8 * 4096.0}


def test_the_runtimes_channels_and_labels(tmp_path: Path) -> None:
    _, path = run(tmp_path, 1)
    (process,) = pva.openTrace(path).processes
    (main,) = [thread for thread in process.threads if thread.name == "MainThread"]
    labels = {(event.channel, event.label) for event in main.events}
    assert labels >= {
        ("Poplar Runtime", "poplar::core::IPUDevice::attach"),
        ("Poplar Runtime", "poplar::core::Engine::prepare"),
        ("Poplar", "Prepare IPU Executable"),
        ("Poplar Runtime", "poplar::core::Engine::run"),
        ("Poplar Compiler", "poplar::core::compileGraph"),
        ("graphConstruction/poputil", "poputil::mapTensorLinearly"),
        ("graphConstruction/popops", "popops::add"),
        ("graphConstruction/popops", "popops::addInPlace"),
    }
    runs = [event for event in main.events if event.label == "poplar::core::Engine::run"]
    assert [[child.label for child in event.children()] for event in runs] == [["StreamCopy up", "StreamCopy down"]] * 8


STARVED = """
import os, signal, time
import popvision.pvti.session as tracer
tracer.TICK_S = 1e6  # the timer gets no time
from simulator.poplar import Engine, FLOAT, Graph, IPUModel
from simulator.poplar import program

model = IPUModel()
model.tilesPerIPU = 4
device = model.createDevice()
graph = Graph(device.getTarget())
x, y = (graph.addVariable(FLOAT, [4], name) for name in "xy")
for tensor in (x, y):
    graph.setTileMapping(tensor, 0)
engine = Engine(graph, program.Copy(x, y))
engine.load(device)
ends = []
while not ends or ends[-1] - ends[0] < 0.4:
    engine.run(0)
    ends.append(time.perf_counter())
print(sum(end < ends[-1] - 0.1 for end in ends), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_program_keeps_the_events_of_runs_but_of_the_last_tenth_of_a_second(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)})}
    command = [sys.executable, "-c", STARVED]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    (path,) = tmp_path.glob("*.pvti")
    statistics = OpenedTrace(path).statistics()
    runs = statistics[statistics.label == "poplar::core::Engine::run"]
    assert int(done.stdout) > 0
    assert int(runs["count"].iloc[0]) >= int(done.stdout)
