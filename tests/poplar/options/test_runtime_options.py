"""Runtime options: of the engine, of prepare, of a run, and of the environment."""

import threading

import numpy as np
import pytest

from popvision.formats.profile.reader import ProfileReader
from simulator.codelets.vertex import InOut, Vector, Vertex
from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    Engine,
    ErrorCode,
    Graph,
    RuntimeOptions,
    compileGraph,
    invalid_option,
    runtime_error,
    unknown_runtime_error,
)
from simulator.poplar.program import Copy, Execute, Repeat, Sequence
from simulator.runtime.host import callback_threads
from tests.compiler.tiny_graphs import hardware
from tests.poplar.options.small import Root, model, one_vertex, streaming
from tests.poplar.options.test_host_options import Counting


class Slow(Vertex):
    """x += 1, in 60,000 cycles."""

    x = InOut(Vector(FLOAT))

    def compute(self):
        self.x[:] += 1

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10_000


def ran(options=None, run_options=None, prepare_options=None, device=None):
    """The device cycles of one run of a small program."""
    device = device or model()
    engine = Engine(*one_vertex(device, Root, FLOAT, [1] * 40), options)
    engine.prepare(device, prepare_options)
    engine.deploy()
    if run_options is None:
        engine.run()
    else:
        engine.run(0, "named", run_options)
    return engine.getTimeStamp().device_cycles


def test_a_device_that_is_silent_too_long():
    assert ran() > 300
    with pytest.raises(unknown_runtime_error, match=r"did not synchronise .* target\.hostSyncTimeout=1e-07") as caught:
        ran({"target.hostSyncTimeout": "1e-7"})
    assert [error.code for error in caught.value.errors] == [ErrorCode.HOST_SYNC_TIMEOUT]
    assert ran({"target.hostSyncTimeout": "0"}) == ran()


@pytest.mark.parametrize("addresses", ["false", "true"])
def test_what_comes_after_a_late_synchronisation_does_not_happen(addresses):
    """Stream out, something slow, stream out: with a short timeout the second transfer never takes place."""
    device = model()
    graph = Graph(device)
    graph.addCodelets(Slow)
    x = graph.addVariable(FLOAT, [2], "x")
    graph.setTileMapping(x, 0)
    cs = graph.addComputeSet("slow")
    graph.setTileMapping(graph.addVertex(cs, "Slow", {"x": x}), 0)
    out = graph.addDeviceToHostFIFO("out", FLOAT, 2)
    again = Repeat(3, Sequence(Execute(cs), Copy(x, out)))
    engine = Engine(graph, [Sequence(Copy(x, out), again), Copy(x, out)], {"popvision.addressAccurate": addresses})
    seen = []
    engine.connectStreamToCallback("out", lambda p: seen.append(float(p[0])))
    engine.load(device)
    clock = device.getTarget().getTileClockFrequency()
    short = {"target.hostSyncTimeout": 5_000 / clock}
    with pytest.raises(unknown_runtime_error, match=r"did not synchronise .* target\.hostSyncTimeout="):
        engine.run(0, "", short)
    assert seen == [0]
    assert 5_000 < engine.getTimeStamp().device_cycles < 10_000 + 250_000e-6 * clock
    engine.run(1, "", short)  # in time
    engine.run(0)
    assert seen == [0, 1, 1, 2, 3, 4]


def test_flags_become_runtime_options():
    with pytest.raises(unknown_runtime_error):
        ran(None, {"target.hostSyncTimeout": "1e-7"})
    with pytest.raises(unknown_runtime_error):
        ran(None, None, {"target.hostSyncTimeout": "1e-7"})
    with pytest.raises(invalid_option, match=r"'debug\.trace' .* is not a runtime option"):
        ran(None, {"debug.trace": "true"})


def test_who_has_the_last_word(monkeypatch):
    short, off = RuntimeOptions({"target.hostSyncTimeout": "1e-7"}), RuntimeOptions({"target.hostSyncTimeout": "0"})
    ran({"target.hostSyncTimeout": "1e-7"}, off)  # run over engine
    ran({"target.hostSyncTimeout": "1e-7"}, None, off)  # prepare over engine
    ran(None, off, short)  # run over prepare
    with pytest.raises(runtime_error):
        ran({"target.hostSyncTimeout": "0"}, None, short)
    monkeypatch.setenv("POPLAR_RUNTIME_OPTIONS", '{"target.hostSyncTimeout": "1e-7"}')
    with pytest.raises(runtime_error):
        ran({"target.hostSyncTimeout": "0"})
    with pytest.raises(runtime_error):
        ran(None, RuntimeOptions({"target.hostSyncTimeout": "0"}))


def test_a_run_with_options_leaves_those_of_the_engine_alone():
    device = model()
    engine = Engine(*one_vertex(device, Root, FLOAT, [1] * 40))
    engine.load(device)
    with pytest.raises(runtime_error):
        engine.run(0, "", RuntimeOptions({"target.hostSyncTimeout": "1e-7"}))
    engine.run()


def test_a_host_that_polls_late_makes_hardware_wait(tmp_path):
    cycles = {}
    target = hardware()
    device = Device(target)
    device.attach()
    for name, options in (
        ("default", {}),
        ("late", {"target.syncPollPeriodUs": "20"}),
        ("woken", {"target.syncPollPeriodUs": "20", "target.syncMethod": "hybrid"}),
    ):
        graph, program = streaming(device, 4, 1)
        folder = tmp_path / name
        reports = {"autoReport.directory": str(folder), "autoReport.outputExecutionProfile": "true"}
        with Engine(graph, program, {**reports, **options}) as engine:
            engine.connectStream("in", np.zeros(4, np.float32))
            engine.connectStream("out", np.zeros(4, np.float32))
            engine.load(device)
            engine.run()
        cycles[name] = int(ProfileReader(folder / "profile.pop").runs().cycles[0])
    each = round(10e-6 * target.getTileClockFrequency())
    assert cycles["late"] - cycles["default"] == each  # the copy in; the copy out finds a free place
    assert cycles["woken"] == cycles["default"]


def test_the_host_notices_failures_late():
    clocks = []
    for period in ("0", "1000"):
        device = model()
        engine = Engine(*one_vertex(device, Root, FLOAT, [1]), {"target.exceptionPollPeriodUs": period})
        engine.load(device)
        engine.insertSimulatedError(ErrorCode.TRAP, engine.getSimulatedErrorLocations("Root")[0])
        with pytest.raises(runtime_error):
            engine.run()
        clocks.append(engine.getTimeStamp().device_cycles)
    assert clocks == [0, round(1e-3 * device.getTarget().getTileClockFrequency())]


class Threads(Counting):
    def __init__(self):
        super().__init__()
        self.names = {"fetch": set(), "prefetch": set(), "complete": set()}

    def fetch(self, p):
        self.names["fetch"].add(threading.current_thread().name.split("_")[0])
        super().fetch(p)

    def prefetch(self, p):
        self.names["prefetch"].add(threading.current_thread().name.split("_")[0])
        return super().prefetch(p)

    def complete(self):
        self.names["complete"].add(threading.current_thread().name.split("_")[0])
        super().complete()


def threads(mode, workers):
    device = model()
    graph, program = streaming(device, 2, 3)
    options = {"streamCallbacks.multiThreadMode": mode, "streamCallbacks.numWorkerThreads": workers}
    callback = Threads()
    with Engine(graph, program, options) as engine:
        out = np.zeros((3, 2), np.float32)
        engine.connectStream("out", out)
        engine.connectStreamToCallback("in", callback)
        engine.load(device)
        engine.run()
        assert out[:, 0].tolist() == [0, 1, 2]
    return callback.names


def test_threads_of_callbacks():
    main = {threading.current_thread().name.split("_")[0]}
    other = {"stream-callback-0"}
    assert threads("singleThread", "4") == dict.fromkeys(("fetch", "prefetch", "complete"), main)
    assert threads("collaborative", "0") == dict.fromkeys(("fetch", "prefetch", "complete"), main)
    assert threads("collaborative", "2") == {"fetch": main, "prefetch": other, "complete": main}
    assert threads("dedicated", "auto") == dict.fromkeys(("fetch", "prefetch", "complete"), other)


def test_numa_nodes_have_threads_of_their_own(monkeypatch):
    monkeypatch.setattr(callback_threads, "_numa_nodes", lambda: 2)
    pools = {}
    for aware in (True, False):
        made = callback_threads.CallbackThreads("dedicated", 4, aware)
        pools[aware] = [pool._max_workers for pool in made.pools]
        made.close()
    assert pools == {True: [2, 2], False: [4]}
    with pytest.raises(invalid_option, match=r"numaAware' cannot be 'true'; .* 'singleThread'"):
        ran({"streamCallbacks.numaAware": "true"})


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ({"target.hostSyncTimeout": "-1"}, "cannot be '-1'"),
        ({"debug.trace": "true"}, "'debug.trace' .* is not a runtime option"),
        ({"target.syncMethod": "sleeping"}, "one of polling, hybrid, default"),
    ],
)
def test_what_is_no_runtime_option(flags, what):
    with pytest.raises(invalid_option, match=what):
        RuntimeOptions(flags)


def test_an_executable_may_get_other_runtime_options_but_no_others():
    device = model()
    options = {"debug.instrument": "true"}
    executable = compileGraph(*one_vertex(device, Root, FLOAT, [1] * 40), True, options)
    engine = Engine(executable, options | {"target.hostSyncTimeout": "1e-7"})
    engine.load(device)
    with pytest.raises(runtime_error):
        engine.run()
    with pytest.raises(invalid_option, match=r"'debug\.instrument' is 'false' but .* 'true'"):
        Engine(executable, {"target.hostSyncTimeout": "1"})
    with pytest.raises(invalid_option, match=r"'debug\.instrument' is 'false' but .* 'true'"):
        Engine(executable)
