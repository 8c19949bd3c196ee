"""Every exception that the Engine's pages (seed 002) name: its class, and one sentence with object, value and rule.

`line`: where the page says so, a line of the seed's text. Exceptions of the Graph's pages: tests/poplar."""

import io

import numpy as np
import pytest

from simulator.engine.devices.device import Device
from simulator.poplar import (
    FLOAT,
    DeviceManager,
    Engine,
    ErrorCode,
    Graph,
    IPUModel,
    Preallocations,
    QuarterMetadata,
    RuntimeOptions,
    TargetType,
    application_runtime_error,
    compileGraph,
    compileModule,
    graph_memory_allocation_error,
    graph_program_compilation_error,
    invalid_option,
    link_error,
    missing_graph_profile,
    poplar_error,
    profiling_disabled,
    runtime_error,
    stream_connection_error,
    tensor_metadata_error,
)
from simulator.poplar.program import Copy, Sequence
from tests.poplar.options.small import Root, model, result


class Case:
    """A small program: stream "in" -> x -> stream "out"; x is host tensor "x"; row "rows" of 3."""

    def __init__(self, device=None, **options):
        self.device = device or model()
        self.graph = Graph(self.device)
        x = self.graph.addVariable(FLOAT, [4], "x")
        self.graph.setTileMapping(x, 0)
        self.graph.createHostWrite("x", x)
        self.graph.createHostRead("x", x)
        self.graph.addRemoteBuffer("rows", FLOAT, 4, 3)
        self.graph.addHostFunction("f", [], [(FLOAT, 4)])
        into, out = self.graph.addHostToDeviceFIFO("in", FLOAT, 4), self.graph.addDeviceToHostFIFO("out", FLOAT, 4)
        self.program = Sequence(Copy(into, x), Copy(x, out))
        self.options = {name.replace("_", "."): value for name, value in options.items()}

    def engine(self, loaded=True):
        engine = Engine(self.graph, [self.program, Sequence()], self.options)
        if loaded:
            engine.load(self.device)
        return engine


def undefined():
    """A graph with an external variable that nothing places: an undefined symbol when it is linked."""
    graph = Graph(model())
    t = graph.addExternalVariable(FLOAT, [4], "table")
    y = graph.addVariable(FLOAT, [4], "y")
    graph.setTileMapping(y, 0)
    return graph, Copy(t, y)


def too_large():
    """More than a tile of simulated hardware holds."""
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [1 << 18], "x")
    graph.setTileMapping(x, 0)
    graph.createHostRead("x", x)
    return graph, Sequence()


def floats(count):
    return np.zeros(count, np.float32)


UNKNOWN, MALFORMED = {"debug.instruments": "true"}, {"debug.instrument": "yes"}
NO_OPTION = r"'debug\.instruments' \(value 'true'\) is not an engine option; did you mean 'debug\.instrument'\?"
NO_VALUE = r"Option 'debug\.instrument' cannot be 'yes'; it takes true or false"
RUNTIME = {"target.hostSyncTimeout": "3"}
ONLY_AT_RUN_TIME = r"Option 'target\.hostSyncTimeout' only matters at run time; give it to Engine or RuntimeOptions"
PLACES = Preallocations()
GONE = ErrorCode.IPUSOFTERR


def stopped():
    engine = Case().engine()
    engine.stop()
    return engine


def with_error():
    engine = Case().engine()
    location = engine.getSimulatedErrorLocations(1)[0]
    engine.insertSimulatedError(GONE, location)
    return engine, location


def invalid_operation():
    result(model(), Root, FLOAT, [-1.0], {"debug.floatPointOpException": "true"})


def ends(count):
    array = floats(count + 1)
    return array, array[count:]


def erase_twice():
    engine, location = with_error()
    engine.eraseSimulatedError(location)
    engine.eraseSimulatedError(location)


#: (line, what is done, class, message)
EXCEPTIONS = [
    (33, lambda c: compileGraph(c.graph, [c.program], UNKNOWN), invalid_option, NO_OPTION),
    (33, lambda c: compileGraph(c.graph, [c.program], MALFORMED), invalid_option, NO_VALUE),
    (35, lambda c: compileGraph(*undefined()), link_error, "Undefined symbol 'table'.*Preallocations"),
    (
        35,
        lambda c: compileGraph(*too_large()),
        graph_memory_allocation_error,
        "need more than 638976 bytes, tile 0 needs .* Set autoReport",
    ),
    (49, lambda c: compileGraph(c.graph, [c.program], True, RUNTIME), invalid_option, ONLY_AT_RUN_TIME),
    (58, lambda c: compileGraph(c.graph, [c.program], False, UNKNOWN), invalid_option, NO_OPTION),
    (60, lambda c: compileGraph(*undefined(), True), link_error, "Undefined symbol 'table'"),
    (81, lambda c: compileModule(*undefined(), MALFORMED), invalid_option, NO_VALUE),
    (83, lambda c: compileModule(*undefined()), link_error, "Undefined symbol 'table'"),
    (67, lambda c: compileModule(c.graph, c.program), graph_program_compilation_error, "data stream 'x', but a module"),
    (106, lambda c: compileModule(*undefined(), PLACES, UNKNOWN), invalid_option, NO_OPTION),
    (108, lambda c: compileModule(*undefined(), PLACES), link_error, "Undefined symbol 'table'"),
    (131, lambda c: compileGraph(c.graph, [c.program], PLACES, MALFORMED), invalid_option, NO_VALUE),
    (133, lambda c: compileGraph(*undefined(), PLACES), link_error, "Undefined symbol 'table'"),
    (149, lambda c: compileGraph(c.graph, [c.program], PLACES, True, RUNTIME), invalid_option, ONLY_AT_RUN_TIME),
    (158, lambda c: compileGraph(c.graph, [c.program], PLACES, False, UNKNOWN), invalid_option, NO_OPTION),
    (160, lambda c: compileGraph(*undefined(), PLACES, True), link_error, "Undefined symbol 'table'"),
    (
        215,
        lambda c: invalid_operation(),
        application_runtime_error,
        r"Program \d+ \('apply'\) stopped at an invalid fl",
    ),
    (445, lambda c: Engine(c.graph, [c.program], UNKNOWN), invalid_option, NO_OPTION),
    (447, lambda c: Engine(*undefined()), link_error, "Undefined symbol 'table'"),
    (468, lambda c: Engine(c.graph, c.program, MALFORMED), invalid_option, NO_VALUE),
    (470, lambda c: Engine(*too_large()), link_error, "Out of memory"),
    (484, lambda c: Engine(compileGraph(c.graph, [c.program]), UNKNOWN), invalid_option, NO_OPTION),
    (
        480,
        lambda c: Engine(compileGraph(c.graph, [c.program]), {"debug.instrument": "true"}),
        invalid_option,
        "'debug.instrument' is 'true' but the executable was compiled with 'false'; give both the same",
    ),
    (513, lambda c: c.engine(loaded=False).deploy(), poplar_error, r"not prepared; call prepare\(device\)"),
    (529, lambda c: c.engine(loaded=False).run(), poplar_error, r"not loaded; call load\(device\)"),
    (532, lambda c: c.engine().run(2), poplar_error, "no program 2; the engine has 2, numbered from 0"),
    (
        540,
        lambda c: stopped().run(1),
        poplar_error,
        r"stopped by Engine\.stop\(\) and is undefined; call device\.reset",
    ),
    (549, lambda c: c.engine().run(7, "", RuntimeOptions()), poplar_error, "no program 7; the engine has 2"),
    (552, lambda c: RuntimeOptions(UNKNOWN), invalid_option, r"'debug\.instruments' .* is not a runtime option"),
    (563, lambda c: c.engine(loaded=False).loadAndRun(c.device, 2), poplar_error, "no program 2; the engine has 2"),
    (593, lambda c: c.engine().getReport(), missing_graph_profile, r"debug\.retainDebugInformation or autoReport\."),
    (593, lambda c: on_cpu().getReport(), missing_graph_profile, "A CPU target has no graph profile; use an IPUModel"),
    (643, lambda c: on_cpu().printProfileSummary(io.StringIO()), profiling_disabled, "CPU target .* use an IPUModel"),
    (
        645,
        lambda c: c.engine().printProfileSummary(io.StringIO(), {"colour": "true"}),
        invalid_option,
        "'colour' is not an option of printProfileSummary; the options are colours",
    ),
    (
        645,
        lambda c: c.engine().printProfileSummary(io.StringIO(), {"colours": "on"}),
        invalid_option,
        "'colours' cannot be 'on'; use 'true' or 'false'",
    ),
    (673, lambda c: on_cpu().reportIntervals(io.StringIO()), profiling_disabled, "CPU target .* use an IPUModel"),
    (
        679,
        lambda c: c.engine().readTensor("y", floats(4)),
        stream_connection_error,
        "'y'.*Graph.createHostRead. Known: x",
    ),
    (
        679,
        lambda c: c.engine().readTensor("x", floats(5), floats(5)[3:]),
        stream_connection_error,
        "Tensor 'x': the end given is not within|Tensor 'x': the buffer ends before",
    ),
    (696, lambda c: c.engine().readTensor("x", QuarterMetadata(), floats(4)), tensor_metadata_error, "'x' holds float"),
    (712, lambda c: c.engine().readTensor("x", floats(3)), stream_connection_error, "'x' has 4 elements.* holds 3"),
    (
        740,
        lambda c: c.engine().writeTensor("x", QuarterMetadata(), floats(4)),
        tensor_metadata_error,
        "'x' holds float",
    ),
    (756, lambda c: c.engine().writeTensor("x", floats(5)), stream_connection_error, "'x' has 4 elements.* holds 5"),
    (723, lambda c: c.engine().writeTensor("y", floats(4)), stream_connection_error, "'y'.*Graph.createHostWrite"),
    (767, lambda c: c.engine().connectStream("in", *ends(3)), stream_connection_error, "'in' moves 4 .* holds 3"),
    (
        784,
        lambda c: c.engine().connectStream("in", [QuarterMetadata()], floats(4)),
        tensor_metadata_error,
        "'in' holds float",
    ),
    (800, lambda c: c.engine().connectStream("in", floats(3)), stream_connection_error, "'in' moves 4 .* holds 3"),
    (800, lambda c: c.engine().connectStream("no", floats(4)), stream_connection_error, "no stream 'no'; .* in, out"),
    (822, lambda c: c.engine().run(0), stream_connection_error, "'in' is used .* not connected; call connectStream"),
    (
        842,
        lambda c: c.engine().connectStreamToCallback("in", 1, print),
        stream_connection_error,
        "no replica 1; it has",
    ),
    (855, lambda c: c.engine().connectHostFunction("f", 1, print), stream_connection_error, "'f' has no replica 1"),
    (
        872,
        lambda c: c.engine().copyFromRemoteBuffer("rows", floats(4), 3),
        stream_connection_error,
        "'rows' has no row 3; its rows are 0 to 2",
    ),
    (
        891,
        lambda c: c.engine().copyToRemoteBuffer(floats(5), "rows", 0),
        stream_connection_error,
        "'rows'.* 4 elements.* 5",
    ),
    (952, lambda c: with_error()[0].run(), runtime_error, "simulated error: IPUSOFTERR on tile 0, program 1"),
    (
        957,
        lambda c: with_error()[0].insertSimulatedError(GONE, with_error()[1]),
        poplar_error,
        "tile 0, program 1.* is not a location of this engine's|program=1.* is not a location of this engine's",
    ),
    (
        963,
        lambda c: (lambda e, at: e.insertSimulatedError(GONE, at))(*with_error()),
        poplar_error,
        "at tile 0, program 1 al",
    ),
    (
        937,
        lambda c: c.engine(loaded=False).insertSimulatedError(GONE, None),
        poplar_error,
        r"not loaded; call load\(dev",
    ),
    (976, lambda c: erase_twice(), poplar_error, "no error is simulated at tile 0, program 1"),
    (
        1001,
        lambda c: c.engine().getSimulatedErrorLocations(1, 4),
        poplar_error,
        "no tile 4; the device has 4, 0 to 3",
    ),
]


def on_cpu():
    device = Device.createCPUDevice()
    return Case(device).engine()


@pytest.mark.parametrize(
    ("line", "act", "kind", "message"),
    EXCEPTIONS,
    ids=[f"{line}-{kind.__name__}-{i}" for i, (line, _, kind, _) in enumerate(EXCEPTIONS)],
)
def test_exception(line, act, kind, message, monkeypatch, tmp_path):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path))
    monkeypatch.setenv("POPVISION_TILES", "4")
    case = Case()
    with pytest.raises(kind, match=message) as caught:
        act(case)
    assert str(caught.value).count("\n") == 0
    assert isinstance(caught.value, poplar_error)
    assert str(caught.value).endswith((".", ")", "?"))
    assert line > 0


def test_a_hardware_engine_without_counters_has_no_intervals(monkeypatch, tmp_path):
    """Line 673: the device has no profiling enabled."""
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path))
    monkeypatch.setenv("POPVISION_TILES", "4")
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    engine = Case(device).engine(loaded=False)
    with pytest.raises(profiling_disabled, match=r"set debug\.instrument on simulated hardware"):
        engine.reportIntervals(io.StringIO())
    assert IPUModel().numIPUs == 1
