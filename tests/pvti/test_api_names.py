"""Every name of libpvti in every form that programs use, through `import libpvti`, with tracing and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popvision import pva
from tests.pvti.traced import run

PROGRAM = """
import libpvti as pvti, numpy as np

# Channels: any text, at import time, in functions and in threads, repeatedly.
channel = pvti.createTraceChannel("MNIST Application")
spare = pvti.createTraceChannel("spare channel \\u2713")
assert pvti.createTraceChannel("MNIST Application") is channel
for each in (pvti.traceDrivers, pvti.tracePoplar, pvti.traceFramework, channel, spare):
    on = pvti.checkTraceChannel(each)
    assert on is pvti.checkTraceChannel(pvti.traceDrivers)
    pvti.disableTraceChannel(each)
    assert pvti.checkTraceChannel(each) is False
    pvti.enableTraceChannel(each)
    assert pvti.checkTraceChannel(each) is on
listed = pvti.listTraceChannel()
assert [name for name, enabled in listed][:3] == ["Drivers", "Poplar", "Framework"]
assert [channel.name, on] in listed and [spare.name, on] in listed

# Tracepoints: a context manager, several in one `with`, pairs and instants; metadata as JSON text or an object.
with pvti.Tracepoint(channel, "outer"), pvti.Tracepoint(channel=channel, label="inner"):
    pvti.Tracepoint.begin(channel, "pair")
    pvti.Tracepoint.event(channel, "instant")
    pvti.Tracepoint.end(channel, "pair")
with pvti.Tracepoint(channel, "described", pvti.createJsonMetadata('{"name": "conv1"}')):
    pvti.Tracepoint.begin(channel, "described pair", {"step": 1})
    pvti.Tracepoint.end(channel, "described pair")
pvti.Tracepoint.begin(channel=channel, label="by keyword")
pvti.Tracepoint.end(channel=channel, label="by keyword")

# Instrumented objects and functions.
class Model:
    def __call__(self, x): return self.forward(x)
    def forward(self, x): return 2 * x
model = Model()
pvti.instrument(model, ["__call__"], channel)
pvti.instrument(model, ("forward",), channel)
assert model(2) == 4
@pvti.instrument_fn(channel)
def decorated(x, *, y=1): return x + y
assert decorated(1, y=2) == 3
assert pvti.instrument_fn(channel)(max)(1, 2) == 2

# Line graphs and heat maps, with what torch, NumPy and psutil give.
graph = pvti.Graph("CPU Load", "%")
series = graph.addSeries("CPU")
for value in (1, 2.5, np.float32(3), np.array(4), True):
    series.add(value)
pvti.Graph("Loss", "").addSeries("Training").add(0.5)
pvti.Graph("No unit").addSeries("x").add(1)
pvti.Graph("off", "", False).addSeries("x").add(1)
weights = pvti.HeatmapDouble("weights", [float(edge) for edge in range(-16, 17)], "2^x")
weights.add([0.25, 0.5, 1.0])
weights.add(np.ones((2, 2)))
pvti.HeatmapDouble("plain", np.linspace(0, 1, 5), "").add((0.1, 0.9))
pvti.HeatmapFloat("floats", [0.0, 0.1, 1.0]).add([0.1])
pvti.HeatmapInt("numbers", [0, 1, 2]).add([0, 1, 5])
assert pvti.decodeHeatmapData(b"") == []
pvti.ThreadName("renamed")
name = pvti.getCurrentTraceFilename()
assert isinstance(name, str) and bool(name) is on
pvti.closeTrace()
pvti.Tracepoint.event(channel, "after the end")
with pvti.Tracepoint(channel, "after the end"): pass
series.add(5)
weights.add([1.0])
print(on)
"""


def test_every_name_records(tmp_path: Path) -> None:
    assert run(PROGRAM, tmp_path).stdout == "True\n"
    trace = pva.openTrace(str(next(tmp_path.glob("*.pvti"))))
    (process,) = trace.processes
    (thread,) = process.threads
    assert thread.name == "renamed"

    def nested(events: list[pva.Event]) -> list[object]:
        return [(event.label, nested(list(event.children()))) for event in events]

    call = ("__main__.Model.__call__", [("__main__.Model.forward", [])])
    assert nested(list(thread.events)) == [
        ("outer", [("inner", [("pair", [("instant", [])])])]),
        ("described", [("described pair", [])]),
        ("by keyword", []),
        call,
        ("__main__.decorated", []),
        ("builtins.max", []),
    ]
    described = thread.events[1]
    assert json.loads(described.metadata or "") == {"name": "conv1"}
    assert json.loads(described.children()[0].metadata or "") == {"step": 1}
    assert {event.channel for event in thread.events} == {"MNIST Application"}


@pytest.mark.parametrize("options", ['{"enable": "false"}', '{"enable": false}'])
def test_every_name_is_callable_and_silent_without_tracing(tmp_path: Path, options: str) -> None:
    done = run(PROGRAM, tmp_path, options=options)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert list(tmp_path.glob("*.pvti*")) == []
