"""Buffers, pointers, callbacks, host functions and remote buffers at the host's end."""

import ctypes

import numpy as np
import pytest

from simulator.base.quarter import QuarterMetadata
from simulator.poplar import (
    FLOAT,
    INT,
    QUARTER,
    UNSIGNED_INT,
    Engine,
    Graph,
    HostCallback,
    HostCallbackHandle,
    IPUModel,
    LegacyStreamCallback,
    StreamCallback,
    StreamCallbackHandle,
    application_runtime_error,
    graph_object_creation_error,
    poplar_error,
    replication_factor,
    stream_connection_error,
    tensor_metadata_error,
    type_error,
)
from simulator.poplar.program import Call, Copy, Sequence
from tests.poplar.options.small import model, streaming


def moved(begin, *end, elements=2, repeat=2, name="in"):
    """What a stream brings to the device from memory given in some form."""
    device = model()
    engine = Engine(*streaming(device, elements, repeat))
    out = np.zeros(elements * repeat, np.float32)
    engine.connectStream("out", out)
    engine.connectStream(name, begin, *end)
    engine.load(device)
    engine.run()
    return out.tolist()


def test_forms_of_memory():
    data = np.arange(8, dtype=np.float32)
    assert moved(data) == [0, 1, 2, 3]
    assert moved(data, data[2:]) == [0, 1, 0, 1]  # begin and end: two elements, wrapped
    assert moved(data[4:], data[8:]) == [4, 5, 6, 7]
    pointer = data.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    assert moved(pointer) == [0, 1, 0, 1]  # a pointer alone is a fixed place
    end = ctypes.c_void_p(data.ctypes.data + 16)
    assert moved(ctypes.c_void_p(data.ctypes.data), end) == [0, 1, 2, 3]
    assert moved(bytearray(data.tobytes())) == [0, 1, 2, 3]


def test_pointers_stand_for_void_pointers_everywhere():
    """c_void_p, a typed pointer and byref, for tensors, streams and remote buffers; a null pointer is refused."""
    device = model()
    graph = Graph(device)
    x = graph.addVariable(FLOAT, [4], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    graph.addRemoteBuffer("far", FLOAT, 4, 2)
    engine = Engine(graph, Sequence())
    engine.load(device)
    whole = ctypes.c_float * 4
    for number, pointer in enumerate(
        (
            lambda a: ctypes.cast(a, ctypes.c_void_p),
            lambda a: ctypes.cast(a, ctypes.POINTER(ctypes.c_float)),
            ctypes.byref,
        )
    ):
        source, back = whole(*range(number, number + 4)), whole()
        first, last = pointer(source), ctypes.c_void_p(ctypes.addressof(source) + 16)
        engine.writeTensor("x", first, last)
        engine.readTensor("x", pointer(back), ctypes.c_void_p(ctypes.addressof(back) + 16))
        assert list(back) == list(source)
        back = whole()
        engine.readTensor("x", pointer(back))
        assert list(back) == list(source)
        engine.copyToRemoteBuffer(first, "far", 1)
        back = whole()
        engine.copyFromRemoteBuffer("far", pointer(back), 1)
        assert list(back) == list(source)
    for move in (
        lambda: engine.readTensor("x", ctypes.c_void_p()),
        lambda: engine.copyFromRemoteBuffer("far", ctypes.c_void_p(), 0),
        lambda: engine.copyToRemoteBuffer(ctypes.POINTER(ctypes.c_float)(), "far", 0),
    ):
        with pytest.raises(stream_connection_error, match="the pointer is null"):
            move()


def test_memory_that_cannot_be():
    data = np.arange(8, dtype=np.float32)
    for given, what in (
        ((data[:1],), "moves 2 elements at a time, but the buffer holds 1"),
        ((data[4:], data), "ends before it begins"),
        ((data, np.zeros(1, np.float64)), "not within the buffer|ends before"),
        ((ctypes.POINTER(ctypes.c_float)(),), "pointer is null"),
        ((3, 4), "neither a pointer nor memory"),
        ((data.astype(np.float64),), "holds float, but the buffer holds float64"),
        ((data[::2],), "not contiguous"),
    ):
        with pytest.raises(stream_connection_error, match=what):
            moved(*given)
    with pytest.raises(stream_connection_error, match="no stream 'into'; the streams of this engine are: in, out"):
        moved(data, name="into")
    with pytest.raises(type_error, match="give a buffer"):
        Engine(*streaming(model())).connectStream("in")


def test_tensors_take_begin_and_end_too():
    device = model()
    graph = Graph(device)
    x = graph.addVariable(INT, [3], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    engine = Engine(graph, Sequence())
    engine.load(device)
    data, out = np.arange(6, dtype=np.int32), np.zeros(5, np.int32)
    engine.writeTensor("x", data[1:], data[4:])
    engine.readTensor("x", out, out[3:])
    assert out.tolist() == [1, 2, 3, 0, 0]
    engine.readTensor(handle="x", buffer=out[:3])
    engine.readTensor("x", out, out[4:])  # there is room for all
    assert out.tolist() == [1, 2, 3, 0, 0]
    with pytest.raises(stream_connection_error, match="has 3 elements, but the buffer holds 2"):
        engine.readTensor("x", out, out[2:])
    with pytest.raises(stream_connection_error, match="has 3 elements, but the buffer holds 4"):
        engine.writeTensor("x", out, out[4:])
    for known, verb in ((engine.readTensor, "read"), (engine.writeTensor, "written")):
        with pytest.raises(stream_connection_error, match=f"No tensor can be {verb} as 'y'.*Known: x"):
            known("y", out)
    with pytest.raises(tensor_metadata_error, match="has no metadata"):
        engine.readTensor("x", QuarterMetadata(), out[:3])


class Old(LegacyStreamCallback):
    def fetch(self, p):
        p[:] = 5


def test_callbacks_of_every_kind():
    assert StreamCallback.Result.Success is not StreamCallback.Result.NotAvailable
    old = Old()
    assert old.prefetch(None) is StreamCallback.Result.NotAvailable
    for callback in (old, lambda p: p.fill(5), StreamCallbackHandle(old)):
        device = model()
        engine = Engine(*streaming(device, 2, 1))
        out = np.zeros(2, np.float32)
        engine.connectStream("out", out)
        engine.connectStreamToCallback("in", callback)
        engine.load(device)
        engine.run()
        assert out.tolist() == [5, 5]
    with pytest.raises(stream_connection_error, match="neither callable nor an object with fetch"):
        engine.connectStreamToCallback("in", 3)
    with pytest.raises(type_error, match="takes"):
        engine.connectStreamToCallback("in")


def test_callbacks_by_replica_and_by_name():
    machine = IPUModel()
    machine.tilesPerIPU, machine.numIPUs = 2, 2
    device = machine.createDevice()
    graph = Graph(device, replication_factor(2))
    t = graph.addVariable(FLOAT, [2], "t")
    graph.setTileMapping(t, 0)
    graph.createHostRead("t", t)
    engine = Engine(graph, Copy(graph.addHostToDeviceFIFO("in", FLOAT, 2), t))
    for index in (0, 1):
        engine.connectStreamToCallback(handle="in", index=index, f=lambda p, value=index: p.fill(value))
    engine.load(device)
    engine.run()
    out = np.zeros((2, 2), np.float32)
    engine.readTensor("t", out)
    assert out.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(stream_connection_error, match="has no replica 2; it has replicas 0 to 1"):
        engine.connectStreamToCallback("in", 2, print)


# ---- host functions -------------------------------------------------------------------------------------------------


def calling(replicas=1):
    machine = IPUModel()
    machine.tilesPerIPU, machine.numIPUs = 2, replicas
    device = machine.createDevice()
    graph = Graph(device, replication_factor(replicas))
    x, y = graph.addVariable(INT, [2], "x"), graph.addVariable(FLOAT, [3], "y")
    for tensor in (x, y):
        graph.setTileMapping(tensor, 1)
    index = graph.addReplicationIndexConstant()
    graph.setTileMapping(index, 0)
    graph.setInitialValue(x, [4, 5])
    graph.createHostRead("y", y)
    function = graph.addHostFunction("sum", [(INT, 2), (UNSIGNED_INT, 1)], [(FLOAT, 3)])
    engine = Engine(graph, Call(function, [x, index], [y]))
    engine.load(device)
    return engine


class Adding(HostCallback):
    def __call__(self, inputs, outputs):
        outputs[0][:2] = inputs[0].sum() + inputs[1][0]


@pytest.mark.parametrize("form", [Adding(), HostCallbackHandle(Adding()), Adding().__call__])
def test_a_host_function_computes_between_two_transfers(form):
    engine = calling()
    engine.connectHostFunction("sum", 0, form)
    engine.run()
    out = np.ones(3, np.float32)
    engine.readTensor("y", out)
    assert out.tolist() == [9, 9, 0]


def test_host_functions_by_replica_and_what_is_refused():
    engine = calling(2)
    engine.connectHostFunction(handle="sum", index=0, f=Adding())
    with pytest.raises(stream_connection_error, match=r"'sum' is called by the program but not connected in replica 1"):
        engine.run()
    engine.connectHostFunction("sum", 1, Adding())
    engine.run()
    out = np.ones((2, 3), np.float32)
    engine.readTensor("y", out)
    assert out.tolist() == [[9, 9, 0], [10, 10, 0]]
    with pytest.raises(stream_connection_error, match=r"no host function 'product'; .* are: sum"):
        engine.connectHostFunction("product", 0, Adding())
    with pytest.raises(stream_connection_error, match="has no replica 2"):
        engine.connectHostFunction("sum", 2, Adding())
    with pytest.raises(stream_connection_error, match="cannot be called"):
        engine.connectHostFunction("sum", 0, 7)


def test_inputs_of_a_host_function_cannot_be_written():
    engine = calling()
    engine.connectHostFunction("sum", 0, lambda inputs, outputs: inputs[0].fill(1))
    with pytest.raises(ValueError, match="read-only"):
        engine.run()


# ---- remote buffers -------------------------------------------------------------------------------------------------


def far(replicas=1, offset=None, repeats=4):
    machine = IPUModel()
    machine.tilesPerIPU, machine.numIPUs = 2, replicas
    device = machine.createDevice()
    graph = Graph(device, replication_factor(replicas))
    x = graph.addVariable(INT, [3], "x")
    graph.setTileMapping(x, 1)
    at = graph.addVariable(UNSIGNED_INT, [1], "at")
    graph.setTileMapping(at, 0)
    buffer = graph.addRemoteBuffer("far", INT, 3, repeats)
    graph.createHostWrite("x", x)
    graph.createHostRead("x", x)
    graph.createHostWrite("at", at)
    engine = Engine(graph, [Copy(x, buffer, at), Copy(buffer, x, at)])
    with pytest.raises(stream_connection_error, match="before the engine is loaded"):
        engine.copyFromRemoteBuffer("far", np.zeros(3, np.int32), 0)
    engine.load(device)
    return engine, device


def test_rows_go_both_ways_and_are_zeros_at_first():
    engine, device = far()
    row = np.ones(3, np.int32)
    engine.copyFromRemoteBuffer("far", row, 2)
    assert row.tolist() == [0, 0, 0]
    engine.copyToRemoteBuffer(np.array([1, 2, 3], np.int32), "far", 2)
    engine.writeTensor("at", np.array([2], np.uint32))
    engine.run(1)
    engine.readTensor("x", row)
    assert row.tolist() == [1, 2, 3]
    engine.writeTensor("at", np.array([3], np.uint32))
    engine.run(0)
    row[:] = 0
    engine.copyFromRemoteBuffer(handle="far", buffer=row, repeatIndex=3, replicationIndex=0)
    assert row.tolist() == [1, 2, 3]
    engine.copyToRemoteBuffer(buffer=row + 1, handle="far", repeatIndex=3)
    engine.copyFromRemoteBuffer("far", row, 3)
    assert row.tolist() == [2, 3, 4]
    engine.load(device)
    engine.copyFromRemoteBuffer("far", row, 3)
    assert row.tolist() == [0, 0, 0]


def test_each_replica_has_rows_of_its_own():
    engine, _ = far(2)
    for replica in (0, 1):
        engine.copyToRemoteBuffer(np.full(3, 10 + replica, np.int32), "far", 1, replica)
    engine.writeTensor("at", np.array([1, 1], np.uint32))
    engine.run(1)
    out = np.zeros((2, 3), np.int32)
    engine.readTensor("x", out)
    assert out[:, 0].tolist() == [10, 11]


def test_rows_replicas_and_sizes_that_there_are_not():
    engine, _ = far()
    row = np.zeros(3, np.int32)
    for call, what in (
        (lambda: engine.copyFromRemoteBuffer("near", row, 0), "no remote buffer 'near'; .* are: far"),
        (lambda: engine.copyFromRemoteBuffer("far", row, 4), "has no row 4; its rows are 0 to 3"),
        (lambda: engine.copyFromRemoteBuffer("far", row, 0, 1), "has no replica 1; it has 0 to 0"),
        (lambda: engine.copyToRemoteBuffer(row[:2], "far", 0), "moves 3 elements at a time, but the buffer holds 2"),
        (lambda: engine.copyToRemoteBuffer(row.astype(np.int64), "far", 0), "holds int, but the buffer holds int64"),
    ):
        with pytest.raises(stream_connection_error, match=what):
            call()
    engine.writeTensor("at", np.array([9], np.uint32))
    for program in (0, 1):
        with pytest.raises(application_runtime_error, match="'far': a program asks for row 9, but its rows are 0"):
            engine.run(program)


def test_a_huge_buffer_takes_memory_only_where_it_is_written():
    engine, _ = far(repeats=1 << 27)
    engine.copyToRemoteBuffer(np.array([7, 8, 9], np.int32), "far", (1 << 27) - 1)
    row = np.zeros(3, np.int32)
    engine.copyFromRemoteBuffer("far", row, (1 << 27) - 1)
    assert row.tolist() == [7, 8, 9]


def test_handles_sizes_and_types_of_remote_buffers():
    graph = Graph(model())
    graph.addRemoteBuffer("far", INT, 3)
    for arguments in (("far", INT, 3), ("b", INT, 0), ("c", INT, 3, 0), ("d", int, 3)):
        with pytest.raises(graph_object_creation_error):
            graph.addRemoteBuffer(*arguments)
    graph.addHostFunction("f", [], [])
    for arguments in (("f", [], []), ("g", [(INT, 0)], []), ("h", [INT], []), ("i", [], [(int, 3)])):
        with pytest.raises(graph_object_creation_error):
            graph.addHostFunction(*arguments)


# ---- quarter --------------------------------------------------------------------------------------------------------


def test_quarter_tensors_and_streams_move_their_metadata():
    device = model()
    graph = Graph(device)
    t = graph.addVariable(QUARTER, [4], "t")
    graph.setTileMapping(t, 0)
    graph.setTileMapping(t.getMetadata(), 0)
    graph.createHostWrite("t", t)
    graph.createHostRead("t", t)
    into, out = graph.addHostToDeviceFIFO("in", QUARTER, 4), graph.addDeviceToHostFIFO("out", QUARTER, 4)
    engine = Engine(graph, [Copy(into, t), Copy(t, out)])
    engine.load(device)
    data, back = np.array([1, 2, 3, 4], np.uint8), np.zeros(4, np.uint8)
    mine, theirs = QuarterMetadata(QuarterMetadata.Format.F152, 3), QuarterMetadata()
    engine.writeTensor("t", mine, data)
    engine.readTensor("t", theirs, back)
    assert theirs == mine
    assert back.tolist() == [1, 2, 3, 4]
    arriving = QuarterMetadata(QuarterMetadata.Format.F143, -5)
    leaving = QuarterMetadata()
    engine.connectStream("in", [arriving], data + 4)
    engine.connectStream("out", [leaving], back)
    engine.run(0)
    engine.run(1)
    assert leaving == arriving
    assert back.tolist() == [5, 6, 7, 8]
    with pytest.raises(tensor_metadata_error, match="give a QuarterMetadata in front of the buffer"):
        engine.readTensor("t", back)
    with pytest.raises(tensor_metadata_error, match="give a QuarterMetadata in front of the buffer"):
        engine.connectStream("in", data)
    with pytest.raises(tensor_metadata_error, match="has 1 replicas, but 2 metadata objects"):
        engine.connectStream("in", [arriving, arriving], data)


def test_nothing_moves_before_the_engine_is_loaded():
    device = model()
    graph = Graph(device)
    x = graph.addVariable(INT, [2], "x")
    graph.setTileMapping(x, 0)
    graph.createHostWrite("x", x)
    engine = Engine(graph, Sequence())
    with pytest.raises(poplar_error, match="not loaded"):
        engine.writeTensor("x", np.zeros(2, np.int32))
