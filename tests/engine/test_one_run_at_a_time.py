"""While a program runs, its engine does nothing else, and its device cannot be reset, detached or loaded."""

import re
import threading
import time

import numpy as np
import pytest

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, TargetType, poplar_error
from simulator.poplar.program import Sequence
from tests.poplar.options.small import model, streaming

SECONDS = 20  #: far more than anything here takes
DEVICES = {
    "IPU Model": model,
    "CPU": Device.createCPUDevice,
    "hardware": lambda: DeviceManager().getDevices(TargetType.IPU, 1)[0],
}
CALLS = {
    "run": lambda engine, device: engine.run(1),
    "load": lambda engine, device: engine.load(device),
    "load again": lambda engine, device: engine.load(),
    "loadAndRun": lambda engine, device: engine.loadAndRun(device, 1),
    "prepare": lambda engine, device: engine.prepare(device),
    "deploy": lambda engine, device: engine.deploy(),
    "close": lambda engine, device: engine.close(),
    "readTensor": lambda engine, device: engine.readTensor("x", np.zeros(2, np.float32)),
    "writeTensor": lambda engine, device: engine.writeTensor("x", np.zeros(2, np.float32)),
    "reset": lambda engine, device: device.reset(),
    "detach": lambda engine, device: device.detach(),
}
METHODS = {
    "load again": "load",
    "loadAndRun": "load",
    "load another": "load",
}  #: where a call is refused under another name


def refusal(call, device):
    """The whole sentence that refuses a call."""
    method = METHODS.get(call, call)
    of_device = call in ("reset", "detach")
    holder = f"Device {device.getId()} is running a program" if of_device else "The engine is running program 0"
    return f"{holder}; call {method}() after run() has returned, not meanwhile from a callback or another thread."


def loaded(device, out, options=None):
    """An engine whose program 0 sends two numbers to `out` once, and whose program 1 does nothing."""
    device.attach()
    graph, program = streaming(device, 2, 1)
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    graph.createHostRead("x", x)
    graph.createHostWrite("x", x)
    engine = Engine(graph, [program, Sequence()], options)
    engine.connectStream("in", np.zeros(2, np.float32))
    engine.connectStreamToCallback("out", out)
    engine.load(device)
    return engine


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", DEVICES)
def test_a_callback_of_the_run_is_refused_and_the_run_goes_on(kind, call):
    device, refused = DEVICES[kind](), []

    def out(memory):
        with pytest.raises(poplar_error) as caught:
            CALLS[call](engine, device)
        refused.append(str(caught.value))

    engine = loaded(device, out)
    for _ in range(2):  # the refusal leaves nothing behind
        engine.run()
    assert refused == [refusal(call, device)] * 2
    CALLS[call](engine, device)  # afterwards it is allowed
    device.attach()
    engine.loadAndRun(device, 1)
    device.detach()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mode", ["singleThread", "dedicated"])
def test_another_thread_is_refused_until_run_has_returned(mode, call):
    device, began, release = model(), threading.Event(), threading.Event()

    def out(memory):
        began.set()
        assert release.wait(SECONDS)

    engine = loaded(device, out, {"streamCallbacks.multiThreadMode": mode})
    runner = threading.Thread(target=engine.run)
    runner.start()
    try:
        assert began.wait(SECONDS)
        with pytest.raises(poplar_error, match=re.escape(refusal(call, device))):
            CALLS[call](engine, device)
    finally:
        release.set()
        runner.join(SECONDS)
    assert not runner.is_alive()
    CALLS[call](engine, device)
    engine.loadAndRun(device, 1)


def test_a_refusal_that_the_callback_does_not_catch_ends_the_run_and_not_the_engine():
    device = model()
    engine = loaded(device, lambda memory: engine.run())
    with pytest.raises(poplar_error, match=re.escape(refusal("run", device))):
        engine.run()
    engine.run(1)
    device.reset()
    engine.loadAndRun(device, 1)


def test_a_stopped_program_runs_until_run_returns():
    device, refused = model(), []

    def out(memory):
        engine.stop()
        for call in ("run", "load", "reset"):
            with pytest.raises(poplar_error) as caught:
                CALLS[call](engine, device)
            refused.append(str(caught.value))

    engine = loaded(device, out)
    engine.run()
    assert refused == [refusal(call, device) for call in ("run", "load", "reset")]
    with pytest.raises(poplar_error, match="was stopped"):
        engine.run(1)
    device.reset()
    engine.loadAndRun(device, 1)


def test_a_device_with_fewer_tiles_is_the_same_device():
    device = model()
    seen = device.createVirtualDevice(1)
    engine = loaded(device, lambda memory: seen.reset())
    with pytest.raises(poplar_error, match=re.escape(refusal("reset", seen))):
        engine.run()
    seen.reset()
    with pytest.raises(poplar_error, match="was reset after the engine was loaded"):
        engine.run(1)


def test_one_of_many_threads_runs():
    device, inside, most = model(), [0], [0]

    def out(memory):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.001)
        inside[0] -= 1

    engine, refused, start = loaded(device, out), [], threading.Barrier(4)

    def run_often():
        start.wait(SECONDS)
        for _ in range(20):
            try:
                engine.run()
            except poplar_error as error:
                refused.append(str(error))

    runners = [threading.Thread(target=run_often) for _ in range(4)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(SECONDS)
    assert most == [1]
    assert set(refused) <= {refusal("run", device)}
