"""A load replaces what was on a device: engines and modules, all kinds of devices, views of one device."""

import gc
import re
import threading
import weakref

import numpy as np
import pytest

from simulator.poplar import (
    INT,
    Device,
    DeviceManager,
    Engine,
    Executable,
    Graph,
    IPUModel,
    ModuleRuntime,
    Preallocations,
    TargetType,
    compileGraph,
    compileModule,
    poplar_error,
    replication_factor,
)
from simulator.poplar.program import Copy, Sequence
from tests.poplar.options.small import model

SECONDS = 20  #: far more than anything here takes


def hardware(ipus=1):
    device = DeviceManager().getDevices(TargetType.IPU, ipus)[0]
    assert device.attach()
    return device


def models(ipus):
    device = IPUModel()
    device.tilesPerIPU, device.numIPUs = 4, ipus
    return device.createDevice()


ONE_PROGRAM = {
    "IPU Model": model,
    "two IPU Models": lambda: models(2),
    "hardware": hardware,
    "a pair": lambda: hardware(2),
}


@pytest.fixture(params=ONE_PROGRAM)
def device(request):
    made = ONE_PROGRAM[request.param]()
    yield made
    made.detach()


def executable(device, replicas=1) -> Executable:
    """A program that copies x to y."""
    graph = Graph(device.getTarget(), replication_factor(replicas))
    x, y = graph.addVariable(INT, [2], "x"), graph.addVariable(INT, [2], "y")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    return compileGraph(graph, [Copy(x, y), Sequence()])


def replaced(device, call="run"):
    return re.escape(f"Device {device.getId()} holds another program now; call load(device) again before {call}().")


def test_a_load_replaces_what_was_on_the_device(device):
    one, two = Engine(executable(device)), Engine(executable(device))
    one.load(device)
    one.writeTensor("x", np.array([3, 4], np.int32))
    one.run()
    two.load(device)
    out = np.zeros(2, np.int32)
    for _ in range(2):
        with pytest.raises(poplar_error, match=replaced(device)):
            one.run()
    with pytest.raises(poplar_error, match=replaced(device, "readTensor")):
        one.readTensor("y", out)
    with pytest.raises(poplar_error, match=replaced(device, "writeTensor")):
        one.writeTensor("x", out)
    with pytest.raises(poplar_error, match="nothing to stop"):
        one.stop()
    two.run()
    one.load()
    with pytest.raises(poplar_error, match=replaced(device)):
        two.run()
    one.run()
    one.readTensor("y", out)
    assert out.tolist() == [0, 0]  # first values again


def test_replicas_are_one_program():
    device = models(2)
    one, two = Engine(executable(device, 2)), Engine(executable(device))
    one.load(device)
    one.run()
    two.load(device)
    with pytest.raises(poplar_error, match=replaced(device)):
        one.run()


def test_a_cpu_holds_any_number():
    device = Device.createCPUDevice()
    engines = [Engine(executable(device)) for _ in range(3)]
    for number, engine in enumerate(engines):
        engine.load(device)
        engine.writeTensor("x", np.full(2, number, np.int32))
    out = np.zeros(2, np.int32)
    for number, engine in enumerate(engines):
        engine.run()
        engine.readTensor("y", out)
        assert out.tolist() == [number] * 2
    device.reset()
    for engine in engines:
        with pytest.raises(poplar_error, match="was reset after the engine was loaded; call load"):
            engine.run()


def test_devices_are_separate_and_an_engine_leaves_the_one_it_was_on():
    first, second = model(), model()
    one, two = Engine(executable(first)), Engine(executable(first))
    one.load(first)
    two.load(second)
    one.run()
    two.run()
    one.load(second)
    first.reset()  # nothing is on it
    one.run()
    with pytest.raises(poplar_error, match=replaced(second)):
        two.run()


def test_a_prepared_device_keeps_its_program_until_another_one_is_deployed():
    device = model()
    one, two = Engine(executable(device)), Engine(executable(device))
    one.load(device)
    two.prepare(device)
    one.run()
    two.deploy()
    with pytest.raises(poplar_error, match=replaced(device)):
        one.run()
    two.run()


def test_a_device_with_fewer_tiles_is_the_same_device():
    device = hardware()
    seen = device.createVirtualDevice(4)
    one, two = Engine(executable(device)), Engine(executable(seen))
    one.load(device)
    two.load(seen)
    with pytest.raises(poplar_error, match=replaced(device)):
        one.run()
    device.detach()
    assert not seen.isAttached()
    with pytest.raises(poplar_error, match=r"is not attached; call device\.attach\(\) and load\(device\) before run"):
        two.run()
    assert seen.attach()
    assert device.isAttached()
    with pytest.raises(poplar_error, match=r"was detached after the engine was loaded; call load\(device\) again"):
        two.run()
    two.load(seen)
    two.run()
    seen.detach()


def test_groups_share_their_ipus_by_detaching():
    pair = hardware(2)
    one = Engine(executable(pair))
    one.load(pair)
    pair.detach()
    single = hardware()
    two = Engine(executable(single))
    two.load(single)
    two.run()
    single.detach()
    assert pair.attach()
    with pytest.raises(poplar_error, match="was detached after the engine was loaded"):
        one.run()
    one.load()
    one.run()
    pair.detach()


def test_modules_take_the_place_of_engines_and_engines_theirs():
    device = model()
    graph = Graph(device)
    table = graph.addExternalVariable(INT, [2], "table")
    x = graph.addVariable(INT, [2], "x")
    graph.setTileMapping(x, 0)
    runtime = ModuleRuntime(compileModule(graph, Copy(table, x), Preallocations({"table": 1})))
    engine = Engine(executable(device))
    values = np.zeros(2, np.int32)
    engine.load(device)
    runtime.load(device)
    with pytest.raises(poplar_error, match=replaced(device)):
        engine.run()
    runtime.run()
    runtime.writeExternal("table", values)
    engine.load(device)
    for call, act in {
        "run": runtime.run,
        "writeExternal": lambda: runtime.writeExternal("table", values),
        "readExternal": lambda: runtime.readExternal("table", values),
    }.items():
        with pytest.raises(poplar_error, match=replaced(device, call)):
            act()
    runtime.load(device)
    device.reset()
    with pytest.raises(poplar_error, match="was reset after the module was loaded; call load"):
        runtime.run()


def test_a_closed_engine_is_not_on_the_device():
    device = model()
    engine = Engine(executable(device))
    engine.load(device)
    engine.close()
    device.reset()
    with pytest.raises(poplar_error, match=re.escape("The engine is not loaded; call load(device) before run().")):
        engine.run()
    engine.load(device)
    engine.run()


def test_a_load_that_fails_leaves_nothing_on_the_device(monkeypatch):
    device = model()
    one, two = Engine(executable(device)), Engine(executable(device))
    one.load(device)

    def fail():
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(two.core, "load", fail)
        with pytest.raises(MemoryError):
            two.load(device)
    with pytest.raises(poplar_error, match=replaced(device)):
        one.run()
    with pytest.raises(poplar_error, match="The engine is not loaded"):
        two.run()
    two.load(device)
    two.run()


def test_the_device_keeps_no_engine():
    device = model()
    engine = Engine(executable(device))
    engine.load(device)
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    device.reset()


@pytest.mark.parametrize("call", ["load", "prepare"])
def test_a_device_that_runs_is_not_loaded(call):
    device = model()
    graph = Graph(device)
    x = graph.addVariable(INT, [2], "x")
    graph.setTileMapping(x, 0)
    one = Engine(graph, Copy(x, graph.addDeviceToHostFIFO("out", INT, 2)))
    two = Engine(executable(device))
    began, release = threading.Event(), threading.Event()

    def out(memory):
        began.set()
        assert release.wait(SECONDS)

    one.connectStreamToCallback("out", out)
    one.load(device)
    runner = threading.Thread(target=one.run)
    runner.start()
    try:
        assert began.wait(SECONDS)
        sentence = f"Device 0 is running a program; call {call}() after run() has returned"
        with pytest.raises(poplar_error, match=re.escape(sentence)):
            getattr(two, call)(device)
    finally:
        release.set()
        runner.join(SECONDS)
    one.run(0)
    two.load(device)
    two.run()
