"""Loading, running, stopping; moments; progress; what an engine says of itself."""

import io
import threading

import numpy as np
import pytest

from simulator.engine.engine import TimerTimePoint
from simulator.poplar import (
    FLOAT,
    INT,
    Device,
    Engine,
    Graph,
    IPUModel,
    compileGraph,
    graph_memory_allocation_error,
    poplar_error,
)
from simulator.poplar.program import Copy, Loop, PrintTensor, Repeat, Sequence
from tests.compiler.tiny_graphs import tutorial3
from tests.poplar.options.small import model, streaming
from tests.waiting import wait_until


def counting(device):
    """A program that prints x, and one that does nothing."""
    graph = Graph(device)
    x = graph.addVariable(INT, [2], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    return graph, [PrintTensor("x", x), Sequence()]


def test_prepare_deploy_load_and_run():
    device = model()
    engine = Engine(*counting(device))
    with pytest.raises(poplar_error, match="never loaded"):
        engine.load()
    engine.prepare(device)
    with pytest.raises(poplar_error, match="not loaded"):
        engine.run(1)
    engine.deploy()
    engine.run(1)
    engine.loadAndRun(device, 1)
    engine.writeTensor("x", np.array([1, 2], np.int32))
    engine.load()  # onto the same device: first values again
    out = np.ones(2, np.int32)
    engine.readTensor("x", out)
    assert out.tolist() == [0, 0]


def test_runs_have_names_and_numbers():
    device = model()
    engine = Engine(*counting(device), {"debug.retainDebugInformation": "true"})
    engine.setPrintTensorStream(io.StringIO())
    engine.load(device)
    engine.run()
    engine.run(1, "the second")
    names = [run.name for run in engine.getReport().execution.runs]
    assert names[1] == "the second"


def test_what_a_report_holds():
    device = model()
    engine = Engine(*counting(device), {"debug.retainDebugInformation": "true"})
    engine.load(device)
    assert len(engine.getReport().execution.runs) == 0
    engine.run(1)
    early = engine.getReport()
    engine.run(1)
    assert len(early.execution.runs) == 1  # as of then
    assert len(engine.getReport().execution.runs) == 2
    assert len(engine.getReport(reportExecution=False).execution.runs) == 0
    engine.disableExecutionProfiling()
    engine.resetExecutionProfile()
    engine.run(1)
    assert len(engine.getReport().execution.runs) == 0
    engine.enableExecutionProfiling()
    engine.run(1)
    assert len(engine.getReport().execution.runs) == 1


@pytest.mark.parametrize("ipus", [1, 2])
def test_summaries_before_and_after_runs_and_on_several_ipus(ipus):
    machine = IPUModel()
    machine.tilesPerIPU, machine.numIPUs = 4, ipus
    device = machine.createDevice()
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program)
    texts, rows = [], []
    for step in range(4):
        if step == 1:
            engine.load(device)
            engine.run()
        if step == 2:
            engine.disableExecutionProfiling()
            engine.run()
            engine.enableExecutionProfiling()
        if step == 3:
            engine.run()
        text, csv = io.StringIO(), io.StringIO()
        engine.printProfileSummary(text)
        engine.reportIntervals(csv)
        texts.append(text.getvalue())
        rows.append([line for line in csv.getvalue().splitlines() if line[:1].isdigit()])
    assert f"Number of IPUs:         {ipus}" in texts[0]
    assert "Programs executed" not in texts[0] or "Total cycles" not in texts[0]
    assert "Total cycles" in texts[1]
    assert texts[1] == texts[2] != texts[3]
    assert rows[0] == []
    assert rows[1] == rows[2]
    assert len(rows[3]) > len(rows[2])
    for row in rows[3]:
        begin, end, *tiles = (int(part) for part in row.split(","))
        assert begin < end
        assert sum(tiles) == 4 * ipus


def test_options_of_the_summary():
    device = model()
    tutorial = tutorial3(device.getTarget())
    engine = Engine(tutorial.graph, tutorial.program)
    engine.load(device)
    engine.run()

    def text(**options):
        out = io.StringIO()
        engine.printProfileSummary(out, options)
        return out.getvalue()

    plain = text()
    for option in ("colours", "showVarStorage", "showOptimizations", "showExecutionSteps", "showPerIpuMemoryUsage"):
        assert text(**{option: "false"}) == plain
        assert text(**{option: "true"}) != plain, option
    import re

    assert re.sub("\x1b\\[[0-9;]*m", "", text(colours="true")) == plain


# ---- stop -----------------------------------------------------------------------------------------------------------


def endless(device):
    """A program that copies from a stream for ever, and a program that does nothing."""
    graph, program = streaming(device, 2, 1)
    return graph, [Loop(program), Sequence()]


def test_a_stopped_program_ends_and_nothing_runs_before_a_reset():
    device = model()
    engine = Engine(*endless(device))
    engine.connectStream("in", np.zeros(2, np.float32))
    seen = []

    def out(memory):
        seen.append(len(seen))
        if len(seen) == 5:
            engine.stop()

    engine.connectStreamToCallback("out", out)
    engine.load(device)
    engine.run()  # returns
    assert len(seen) == 5
    for _ in range(2):
        with pytest.raises(poplar_error, match=r"was stopped by Engine\.stop\(\).*device\.reset\(\)"):
            engine.run(1)
    other = Engine(*counting(device))
    other.load(device)
    with pytest.raises(poplar_error, match="was stopped"):
        other.run(1)
    device.reset()
    with pytest.raises(poplar_error, match=r"was reset after the engine was loaded; call load"):
        engine.run(1)
    engine.load(device)
    engine.run(1)


def test_another_thread_stops_a_program():
    device = model()
    engine = Engine(*endless(device))
    begun = threading.Event()
    engine.connectStream("in", np.zeros(2, np.float32))
    engine.connectStreamToCallback("out", lambda memory: begun.set())
    engine.load(device)
    runner = threading.Thread(target=engine.run)
    runner.start()
    assert begun.wait(10)
    engine.stop()
    runner.join(10)
    assert not runner.is_alive()


def test_stop_before_loading_and_programs_that_never_speak_with_the_host():
    device = model()
    engine = Engine(*counting(device))
    with pytest.raises(poplar_error, match="nothing to stop"):
        engine.stop()
    engine.load(device)
    engine.stop()
    with pytest.raises(poplar_error, match="was stopped"):
        engine.run(1)
    device.reset()


# ---- moments --------------------------------------------------------------------------------------------------------


def test_moments_on_both_clocks():
    device = model()
    engine = Engine(*counting(device))
    engine.load(device)
    start = engine.getTimeStamp()
    engine.run(1)
    end = engine.getTimeStamp()
    cycles = end.device_cycles - start.device_cycles
    assert cycles > 0
    text = Engine.reportTiming(start, end)
    assert f"{cycles:,} cycles" in text
    assert text.startswith("Host: ")
    cpu = Device.createCPUDevice()
    on_cpu = Engine(*counting(cpu))
    assert "cycles" not in Engine.reportTiming(on_cpu.getTimeStamp(), on_cpu.getTimeStamp())
    assert TimerTimePoint() == TimerTimePoint(0, 0, 0.0)


def test_host_copies_of_tensors_take_the_time_of_their_copy_programs():
    device = model()
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [1000], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    ins, outs = graph.addHostToDeviceFIFO("ins", FLOAT, 1000), graph.addDeviceToHostFIFO("outs", FLOAT, 1000)
    engine = Engine(graph, [Copy(ins, x), Copy(x, outs)], {"debug.retainDebugInformation": "true"})
    engine.load(device)
    values = np.ones(1000, np.float32)
    engine.connectStream("ins", values)
    engine.connectStream("outs", values.copy())

    def cycles_of(act):
        before = engine.getTimeStamp().device_cycles
        act()
        return engine.getTimeStamp().device_cycles - before

    written = cycles_of(lambda: engine.writeTensor("x", values))
    assert written == cycles_of(lambda: engine.run(0)) == 1927
    assert cycles_of(lambda: engine.readTensor("x", values)) == cycles_of(lambda: engine.run(1)) == 1927
    assert engine.getReport().execution.totalCycles.total == 2 * 1927  # the two runs, without the host copies
    engine.load(device)
    assert engine.getTimeStamp().device_cycles == 0


# ---- construction ---------------------------------------------------------------------------------------------------


def test_a_callback_that_blocks_does_not_hold_up_compilation():
    device = model()
    release, calls, returned = threading.Event(), [], []

    def callback(done, maximum):
        calls.append((done, maximum, threading.get_ident()))
        returned.append(release.wait(60))

    Engine(*counting(device), progressCallBack=callback)
    assert returned == []
    release.set()
    wait_until(lambda: calls and calls[-1][0] == calls[-1][1], "the last call")
    assert len({thread for _, _, thread in calls}) == 1
    assert calls[0][2] != threading.get_ident()


def test_a_callback_slower_than_compilation_delays_it_by_a_bounded_time():
    """All calls come, but neither compilation nor the end of the engine waits for them."""
    ended, calls = threading.Event(), []

    def slow(done, maximum):
        ended.wait(60)
        calls.append((done, maximum))

    Engine(*counting(model()), progressCallBack=slow).close()
    assert calls == []
    ended.set()
    wait_until(lambda: calls and calls[-1][0] == calls[-1][1], "the last call")
    assert len(calls) > 1


def test_every_form_of_compileGraph_and_the_constructor():
    device = model()
    graph, programs = counting(device)
    options, calls = {"debug.retainDebugInformation": "true"}, []
    from simulator.poplar import Preallocations

    def progress(done, maximum):
        calls.append(done)

    forms = [
        compileGraph(graph, programs, options, progress, "a name"),
        compileGraph(graph, programs, True, options, progress, "a name"),
        compileGraph(graph, programs, Preallocations(), options, progress, "a name"),
        compileGraph(graph, programs, Preallocations(), False, options, progress, "a name"),
        compileGraph(graph=graph, progs=programs, checkOptionFlags=True, opt=options, debugContext="a name"),
    ]
    for executable in forms:
        engine = Engine(executable, options)
        engine.load(device)
        engine.run(1)
        assert executable.name == "a name"
    assert len(calls) >= 4
    one = Engine(graph=graph, prog=programs[1])
    one.loadAndRun(device)
    with pytest.raises(poplar_error, match="needs a graph and programs"):
        Engine("graph", programs)
    with pytest.raises(poplar_error, match="compileGraph has no overload"):
        compileGraph(graph, programs, Preallocations(), Preallocations())


def test_out_of_memory_is_a_link_error_of_hardware_only(tmp_path):
    from simulator.poplar import DeviceManager, TargetType, link_error

    (device,) = DeviceManager().getDevices(TargetType.IPU, 1)[:1]
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [1 << 20], "x")
    graph.setTileMapping(x, 0)
    with pytest.raises(link_error, match="Out of memory") as caught:
        compileGraph(graph, PrintTensor(x))
    assert isinstance(caught.value, graph_memory_allocation_error)


def test_streams_are_listed_and_options_given_back(monkeypatch):
    device = model()
    graph, program = streaming(device)
    t = graph.addVariable(FLOAT, [1], "u")
    graph.setTileMapping(t, 0)
    graph.createHostRead("u", t)
    graph.createHostWrite("u", t)
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"debug.instrument": "true"}')
    engine = Engine(graph, program, {"target.hostSyncTimeout": 3})
    assert engine.listStreams() == ["in+", "out-", "u-", "u+"]
    assert dict(engine.getEngineOptions()) == {"target.hostSyncTimeout": "3", "debug.instrument": "true"}


def test_loops_of_copies_end_where_the_buffer_ends():
    device = model()
    graph, program = streaming(device, 2, 3)
    engine = Engine(graph, Repeat(1, program))
    data, out = np.arange(4, dtype=np.float32), np.zeros(6, np.float32)
    engine.connectStream("in", data)
    engine.connectStream("out", out)
    engine.load(device)
    engine.run()
    assert out.tolist() == [0, 1, 2, 3, 0, 1]
    assert isinstance(Copy, type)
