"""Programs that move values between tiles and host: split streams, rows of remote buffers, calls of host functions, and
the hints of copies; on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from runtime.both_engines import ACCURATE, graph_of, scattered

from simulator.poplar import FLOAT, INT, UNSIGNED_INT, Engine, Graph, IPUModel, Tensor, application_runtime_error
from simulator.poplar.program import Call, Copy, Repeat, Sequence

BOTH = pytest.mark.parametrize("options", [{}, ACCURATE])
REPORT = {"debug.retainDebugInformation": "true", "debug.instrument": "true"}


def mapped(graph, type_, shape, name, tile=0) -> Tensor:
    tensor = graph.addVariable(type_, shape, name)
    graph.setTileMapping(tensor, tile)
    return tensor


def host_nodes(engine) -> list[tuple[str, int]]:
    """(name, bytes moved) of every StreamCopyMid of the program."""
    table = engine.core.compiled.lowered.table
    found = []
    for row, type_ in enumerate(table.type):
        if type_ == "StreamCopyMid" and table.name[row]:
            moved = table.work[row].rx if table.work[row].rx is not None else table.work[row].tx
            found.append((table.name[row], int(moved.sum())))
    return found


@BOTH
@pytest.mark.parametrize(
    ("limit", "sizes"), [(16, [16, 16, 8]), (39, [36, 4]), (40, [40]), (0, [40]), (2**32 - 1, [40]), (1, [4] * 10)]
)
def test_streams_are_split_at_their_limit(options, limit, sizes):
    device, graph = graph_of(4)
    x = scattered(graph, INT, [10], "x", 1)
    into = graph.addHostToDeviceFIFO("in", INT, 10, options={"splitLimit": str(limit)})
    out = graph.addDeviceToHostFIFO("out", INT, 10, {"splitLimit": str(limit)})
    with Engine(graph, Sequence(Copy(into, x), Copy(x, out)), {**REPORT, **options}) as engine:
        given, found = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
        engine.connectStream("in", given)
        engine.connectStream("out", found)
        engine.load(device)
        engine.run()
        names = [f"in/{i}" for i in range(len(sizes))] if len(sizes) > 1 else ["in"]
        assert host_nodes(engine)[: len(sizes)] == list(zip(names, sizes, strict=True))
        assert [size for _, size in host_nodes(engine)[len(sizes) :]] == sizes
    assert found.tolist() == given.tolist()


@BOTH
def test_rows_of_a_remote_buffer(options):
    device, graph = graph_of(4)
    buffer = graph.addRemoteBuffer("rows", FLOAT, 3, 4)
    two = scattered(graph, FLOAT, [2, 3], "two", 2, 1)
    one = scattered(graph, FLOAT, [3], "one", 3, 1)
    offsets, offset = mapped(graph, UNSIGNED_INT, [2], "offsets", 3), mapped(graph, INT, [], "offset", 1)
    for tensor, handle in ((two, "two"), (offsets, "offsets"), (offset, "offset")):
        graph.createHostWrite(handle, tensor)
    graph.createHostRead("one", one)
    with Engine(
        graph, Sequence(Copy(two, buffer, offsets), Copy(buffer, one, offset)), {**REPORT, **options}
    ) as engine:
        engine.load(device)
        values = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
        engine.writeTensor("two", values)
        engine.writeTensor("offsets", np.array([3, 1], np.uint32))
        found = []
        for row in (0, 1, 3):
            engine.writeTensor("offset", np.array([row], np.int32))
            engine.run()
            found.append(np.zeros(3, np.float32))
            engine.readTensor("one", found[-1])
        assert np.array_equal(found, [np.zeros(3), values[1], values[0]])
        assert host_nodes(engine)[:2] == [("rows", 24), ("rows", 12)]
        sent = [row for row, name in enumerate(engine.core.compiled.lowered.table.name) if "offsetBroadcast" in name]
        assert len(sent) == 2
        engine.writeTensor("offset", np.array([4], np.int32))
        with pytest.raises(application_runtime_error, match=r"'rows'.*4"):
            engine.run()


@BOTH
def test_a_host_function(options):
    device, graph = graph_of(4)
    x, n = scattered(graph, FLOAT, [5], "x", 4, 2), mapped(graph, INT, [1], "n", 2)
    y = scattered(graph, FLOAT, [5], "y", 5, 2)
    argument = Graph.HostFunctionArgument
    function = graph.addHostFunction("scale", [argument(FLOAT, 5), (INT, 1)], [argument(type=FLOAT, numElements=5)])
    graph.createHostWrite("x", x)
    graph.createHostWrite("n", n)
    graph.createHostRead("y", y)
    calls = []

    def scale(inputs, outputs):
        calls.append([values.tolist() for values in inputs])
        outputs[0][:] = inputs[0] * inputs[1]

    with Engine(graph, Repeat(2, Call(function, [x, n], [y])), {**REPORT, **options}) as engine:
        engine.connectHostFunction("scale", 0, scale)
        engine.load(device)
        engine.writeTensor("x", np.arange(5, dtype=np.float32))
        engine.writeTensor("n", np.array([3], np.int32))
        engine.run()
        found = np.zeros(5, np.float32)
        engine.readTensor("y", found)
        assert host_nodes(engine)[:2] == [("scale/inputs", 24), ("scale/outputs", 20)]
    assert calls == [[[0.0, 1.0, 2.0, 3.0, 4.0], [3]]] * 2
    assert found.tolist() == [0, 3, 6, 9, 12]


def figures(program_of) -> tuple[int, int, int]:
    """(bytes of internal exchange code, of host exchange code, cycles) of a program with code."""
    model = IPUModel("ipu2")
    model.tilesPerIPU, model.compileIPUCode = 4, True
    device = model.createDevice()
    graph = Graph(device)
    with Engine(graph, program_of(graph), REPORT) as engine:
        for handle in engine.listStreams():
            engine.connectStream(handle[:-1], np.zeros(4096, np.float32))
        engine.load(device)
        engine.run()
        memory = [tile.memory.category for tile in engine.getReport().compilation.tiles]
        code = [
            sum(getattr(each, name).total for each in memory) for name in ("internalExchangeCode", "hostExchangeCode")
        ]
        return code[0], code[1], engine.core.device_cycles


def test_a_copy_that_is_not_outlined_has_code_of_its_own_at_each_use():
    def program_of(graph, apart):
        a, b = mapped(graph, FLOAT, [64], "a", 0), mapped(graph, FLOAT, [64], "b", 1)
        copy = Copy(a, b, apart)
        return Sequence(copy, Repeat(2, copy))

    shared, apart = (figures(lambda graph, flag=flag: program_of(graph, flag)) for flag in (False, True))
    assert apart[0] > shared[0]
    assert apart[1:] == shared[1:]


def test_a_stream_copy_that_saves_memory_takes_less_code_and_more_cycles():
    def program_of(graph, small):
        x = mapped(graph, FLOAT, [4096], "x", 0)
        return Copy(graph.addHostToDeviceFIFO("in", FLOAT, 4096), x, optimiseMemory=small)

    fast, small = (figures(lambda graph, flag=flag: program_of(graph, flag)) for flag in (False, True))
    assert small[1] == fast[1] - 12 * 16 + 12 + 8  # 16 packets, each with its code, or one of them in a loop
    assert small[2] == fast[2] + 12 * 16
