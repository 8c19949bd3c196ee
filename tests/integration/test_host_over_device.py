"""A traced program on hardware: the wait of the device and the transfer of the host that was late are one row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.device_strip import HostWaits, device_strip, host_waits
from popvision.analysis.trace.source import TraceSource

PROGRAM = """
import sys, time
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, TargetType, replication_factor
from simulator.poplar.program import Copy, Repeat, Sequence

replicas = int(sys.argv[1])
device = DeviceManager().getDevices(TargetType.IPU, replicas)[0]
graph = Graph(device.getTarget(), replication_factor(replicas))
x = graph.addVariable(FLOAT, [4], "x")
graph.setTileMapping(x, 0)
stream, back = graph.addHostToDeviceFIFO("in", FLOAT, 4), graph.addDeviceToHostFIFO("out", FLOAT, 4)
calls = 0

def late(memory):
    global calls
    calls += 1
    time.sleep(0.05 if calls == 3 * replicas else 0)
    memory[:] = 1

with device, Engine(graph, Repeat(5, Sequence(Copy(stream, x), Copy(x, back)))) as engine:
    for replica in range(replicas):
        engine.connectStreamToCallback("in", replica, late)
        engine.connectStreamToCallback("out", replica, lambda memory: None)
    assert device.attach()
    engine.load(device)
    engine.run(0)
"""


def traced(folder: Path, replicas: int = 1) -> tuple[HostWaits, TraceSource, ReportSource]:
    environment = {
        **os.environ,
        "POPVISION_TILES": "4",
        "POPLAR_ENGINE_OPTIONS": f'{{"autoReport.all":"true", "autoReport.directory":"{folder}"}}',
        "PVTI_OPTIONS": f'{{"enable":"true", "directory":"{folder}"}}',
    }
    run = [sys.executable, "-c", PROGRAM, str(replicas)]
    subprocess.run(run, env=environment, check=True, capture_output=True, text=True, timeout=120)
    trace, report = TraceSource(next(folder.glob("*.pvti"))), ReportSource(folder)
    return host_waits(trace, report, 0), trace, report


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_late_transfer_is_that_of_the_third_wait(replicas: int, tmp_path: Path) -> None:
    waits, trace, report = traced(tmp_path, replicas)
    assert waits.stream == ["in", "out"] * 5
    assert (waits.thread >= 0).all()
    late = int(np.argmax(waits.end - waits.begin))
    assert late == 4  # in, out, in, out, in
    assert waits.end[late] - waits.begin[late] >= 50_000_000
    # The modelled wait does not depend on the host's clock.
    assert set(waits.cycles[0::2].tolist()) == {int(waits.cycles[0])}
    lane = trace.threads[int(waits.thread[late])].lanes[int(waits.depth[late])]
    label = trace.names.label[int(lane.name[int(waits.position[late])])]
    assert label == "StreamCopy in"
    assert waits.row_of_step(int(waits.step[late])) == late
    strip = device_strip(trace, report, 0)
    assert int(strip.end[0] - strip.begin[0]) >= 50_000_000
