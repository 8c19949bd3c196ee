"""A traced program on hardware: the wait of the device and the transfer of the host that was late are one row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.execution.timeline import TYPE_NAMES, timeline
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


def test_the_three_parts_of_a_copy_are_the_steps_of_its_stream(tmp_path: Path) -> None:
    """Begin, transfer and end are the steps with the name of the stream, and each step names its copy."""
    waits, _, report = traced(tmp_path)
    steps, names = timeline(report, 0), report.reader.programs().name
    for stream in ("in", "out"):
        own = [each == stream for each in waits.stream]
        for type_, cycles in (
            ("StreamCopyBegin", waits.cycles),
            ("StreamCopyMid", waits.mid_cycles),
            ("StreamCopyEnd", waits.end_cycles),
        ):
            of_type = np.flatnonzero(steps.type == TYPE_NAMES.index(type_)).tolist()
            parts = [step for step in of_type if names[int(steps.program[step])] == stream]
            assert len(parts) == 5
            lengths = [int(steps.end[step] - steps.begin[step]) for step in parts]
            assert min(lengths) > 0
            assert cycles[own].tolist() == lengths
            assert [waits.row_of_step(step) for step in parts] == np.flatnonzero(own).tolist()
    assert waits.copy_cycles.tolist() == (waits.cycles + waits.mid_cycles + waits.end_cycles).tolist()
