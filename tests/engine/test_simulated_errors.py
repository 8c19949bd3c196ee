"""Errors that are planted in a program by program id and by vertex name."""

import numpy as np
import pytest

from popvision.analysis.programs.details import program_facts
from popvision.analysis.report.source import ReportSource
from simulator.poplar import (
    FLOAT,
    INT,
    Engine,
    ErrorCode,
    ErrorLocation,
    Graph,
    RecoveryAction,
    application_runtime_error,
    poplar_error,
    recoverable_runtime_error,
    runtime_error,
    unknown_runtime_error,
    unknown_vertex_type,
    unrecoverable_runtime_error,
)
from simulator.poplar.program import Copy, Execute, Repeat, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import mapTensorLinearly
from tests.compiler.tiny_graphs import Sum
from tests.poplar.options.small import model


def summing(device, options=None):
    """Program 0: x to stream "out", sums on tiles 1 and 2, x to "out" again. Program 1: an addition of a library."""
    graph = Graph(device)
    graph.addCodelets(Sum)
    x, y = graph.addVariable(FLOAT, [4], "x"), graph.addVariable(FLOAT, [2], "y")
    graph.setTileMapping(x, 0)
    graph.setTileMapping(y, 3)
    cs = graph.addComputeSet("sums")
    for i in range(2):
        vertex = graph.addVertex(cs, "Sum", {"x": x.slice(2 * i, 2 * i + 2), "out": y[i]})
        graph.setTileMapping(vertex, 1 + i)
    out = graph.addDeviceToHostFIFO("out", FLOAT, 4)
    z = graph.addVariable(INT, [8], "z")
    mapTensorLinearly(graph, z)
    added = Sequence()
    popops.add(graph, z, z, added, "twice")
    graph.createHostRead("y", y)
    first = Sequence(Copy(x, out), Repeat(2, Execute(cs)), Copy(x, out))
    return Engine(graph, [first, added], {"debug.retainDebugInformation": "true", **(options or {})})


#: The ordinary engine and the one that keeps values at the report's addresses.
BOTH = pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["ordinary", "addresses"])


def loaded(options=None):
    device = model()
    engine = summing(device, options)
    calls = []
    engine.connectStreamToCallback("out", lambda memory: calls.append(1))
    engine.load(device)
    return engine, device, calls


def programs(engine, kind, word=""):
    return [p for p in engine.getReport().compilation.programs if str(p.type).endswith(kind) and word in p.name]


@BOTH
def test_the_example_of_the_pages(options):
    engine, _, calls = loaded(options)
    locations = engine.getSimulatedErrorLocations("Sum", 1)
    assert [location.tile for location in locations] == [1]
    engine.insertSimulatedError(ErrorCode.IPUSOFTERR, locations[0])
    with pytest.raises(runtime_error, match=r"simulated error: IPUSOFTERR on tile 1, vertex Sum") as caught:
        engine.run()
    (error,) = caught.value.errors
    assert error.isSimulated
    assert error.code == ErrorCode.IPUSOFTERR
    assert error.location == locations[0]
    assert len(calls) == 1  # the copy before, not the one after
    engine.clearSimulatedErrors()
    engine.load()
    engine.run()
    assert len(calls) == 3


def test_a_program_id_is_the_same_number_everywhere(tmp_path):
    device = model()
    engine = summing(device, {"autoReport.directory": str(tmp_path), "autoReport.outputGraphProfile": "true"})
    (launch,) = programs(engine, "OnTileExecute", "sums")
    engine.close()
    source = ReportSource(tmp_path)
    table = source.reader.programs()
    assert table.name[launch._id] == "sums"
    assert "sums" in str(program_facts(source, launch._id))
    locations = engine.getSimulatedErrorLocations(launch._id)
    assert [location.tile for location in locations] == [1, 2]
    assert locations == [ErrorLocation(t, launch._id, "", locations[0].owner) for t in (1, 2)]


@pytest.mark.parametrize(
    ("kind", "word", "calls"),
    [
        ("OnTileExecute", "sums", 1),
        ("DoExchange", "sums", 1),
        ("Repeat", "", 1),
        ("StreamCopyMid", "out", 0),
        ("Sequence", "", 0),
    ],
)
@BOTH
def test_programs_of_every_kind_can_fail(kind, word, calls, options):
    engine, _, made = loaded(options)
    program = programs(engine, kind, word)[0]
    locations = engine.getSimulatedErrorLocations(programId=program._id)
    engine.insertSimulatedError(ErrorCode.TRAP, locations[0])
    with pytest.raises(application_runtime_error, match=f"program {program._id}"):
        engine.run()
    assert len(made) == calls


@BOTH
def test_what_another_program_runs_does_not_matter(options):
    engine, _, _ = loaded(options)
    inside = programs(engine, "OnTileExecute", "twice")[0]
    engine.insertSimulatedError(ErrorCode.INVALID_ADDRESS, engine.getSimulatedErrorLocations(inside._id)[0])
    engine.run(0)
    with pytest.raises(application_runtime_error):
        engine.run(1)


def test_several_errors_and_taking_them_back():
    engine, _, _ = loaded()
    (launch,) = programs(engine, "OnTileExecute", "sums")
    first, second = engine.getSimulatedErrorLocations(launch._id)
    (later,) = engine.getSimulatedErrorLocations("Sum", 2)
    for location in (first, second, later):
        engine.insertSimulatedError(ErrorCode.MEMORY_ERROR, location)
    with pytest.raises(runtime_error) as caught:
        engine.run()
    assert {error.location for error in caught.value.errors} == {first, second, later}
    with pytest.raises(poplar_error, match=r"is simulated at tile 1, program \d+ already"):
        engine.insertSimulatedError(ErrorCode.TRAP, first)
    for location in (first, second, later):
        engine.eraseSimulatedError(location)
    with pytest.raises(poplar_error, match="no error is simulated at tile 1"):
        engine.eraseSimulatedError(first)
    engine.run()


def test_tensors_that_the_host_reads_fail_too():
    engine, _, _ = loaded()
    mid = programs(engine, "StreamCopyMid", "y")[-1]
    engine.insertSimulatedError(ErrorCode.HOST_LINK_DOWN, engine.getSimulatedErrorLocations(mid._id)[0])
    engine.run()
    with pytest.raises(recoverable_runtime_error):
        engine.readTensor("y", np.zeros(2, np.float32))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.FLOATING_POINT_OVERFLOW, application_runtime_error),
        (ErrorCode.EXCHANGE_ERROR, recoverable_runtime_error),
        (ErrorCode.LINK_DOWN, recoverable_runtime_error),
        (ErrorCode.IPU_MEMORY_FAILURE, unrecoverable_runtime_error),
        (ErrorCode.UNKNOWN, unknown_runtime_error),
    ],
)
def test_classes_of_errors(code, kind):
    engine, _, _ = loaded()
    engine.insertSimulatedError(code, engine.getSimulatedErrorLocations("Sum")[0])
    with pytest.raises(kind) as caught:
        engine.run()
    if kind is recoverable_runtime_error:
        action = RecoveryAction.IPU_RESET if code is ErrorCode.EXCHANGE_ERROR else RecoveryAction.PARTITION_RESET
        assert caught.value.getRecoveryAction() is action


def test_locations_that_there_are_not():
    device = model()
    engine = summing(device)
    locations = engine.getSimulatedErrorLocations("Sum")
    with pytest.raises(poplar_error, match=r"not loaded; call load\(device\) before insertSimulatedError"):
        engine.insertSimulatedError(ErrorCode.TRAP, locations[0])
    engine.load(device)
    with pytest.raises(poplar_error, match=r"NONE.* is not an error"):
        engine.insertSimulatedError(ErrorCode.NONE, locations[0])
    other = summing(device)
    other.load(device)
    with pytest.raises(poplar_error, match="is not a location of this engine"):
        other.insertSimulatedError(ErrorCode.TRAP, locations[0])
    with pytest.raises(poplar_error, match="There is no program with id 9999; the ids of this engine are 0 to"):
        engine.getSimulatedErrorLocations(9999)
    with pytest.raises(unknown_vertex_type, match=r"No vertex of this engine is called 'Product'; .* Sum"):
        engine.getSimulatedErrorLocations(vertexName="Product")
    with pytest.raises(poplar_error, match="no tile 4; the device has 4, 0 to 3"):
        engine.getSimulatedErrorLocations("Sum", 4)
    assert engine.getSimulatedErrorLocations("Sum", 0) == []
    assert engine.getSimulatedErrorLocations("Sum", 0xFFFFFFFF) == locations
