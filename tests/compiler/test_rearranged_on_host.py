"""rearrangeOnHost: memory of tiles against packets and cycles, where tiles hold several runs of a transfer."""

from __future__ import annotations

import numpy as np
import pytest

from popvision.formats.profile.reader import ProfileReader
from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, HALF, INT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence, WriteUndef
from simulator.poplibs import poputil


def device(tiles=4):
    model = IPUModel()
    model.tilesPerIPU = tiles
    model.compileIPUCode = True
    return model.createDevice()


def report(folder, on_host, scattered, kind):
    """The profile of a program that moves 64 floats, dealt to 4 tiles one by one (`scattered`) or in one run each."""
    on = device()
    graph = Graph(on)
    x = graph.addVariable(FLOAT, [64], "x")
    for i in range(64):
        graph.setTileMapping(x[i], i % 4 if scattered else i // 16)
    program = Sequence()
    if kind == "write":
        graph.createHostWrite("x", x, on_host)
    elif kind == "read":
        graph.createHostRead("x", x, on_host)
    else:
        remote = graph.addRemoteBuffer("rows", FLOAT, 64, 1, on_host)
        program.add(Copy(remote, x) if kind == "from remote" else Copy(x, remote))
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(on)
        values = np.arange(64, dtype=np.float32)
        if kind == "write":
            engine.writeTensor("x", values)
        elif kind == "read":
            engine.readTensor("x", np.zeros(64, np.float32))
        else:
            if kind == "from remote":
                engine.copyToRemoteBuffer(values, "rows", 0)
            engine.run()
    return ProfileReader(folder / "profile.pop")


def figures(reader):
    """(bytes of buffers over all tiles, bytes of host exchange code, estimated cycles of the transfers proper)."""
    sums = {"hostMessage": 0, "hostExchangeCode": 0}
    for part in reader.category_memory():
        if part.category in sums:
            sums[part.category] += int(np.sum(part.bytes))
    programs = reader.programs()
    mids = [p for p, type_ in enumerate(programs.type) if type_ == "StreamCopyMid" and programs.name[p]]
    cycles = sum(int(reader.program_on_ipu(p, 0).cycles.max()) for p in mids)
    return sums["hostMessage"], sums["hostExchangeCode"], cycles


KINDS = ("write", "read", "from remote", "to remote")


@pytest.mark.parametrize("kind", KINDS)
def test_scattered_data_costs_a_buffer_or_time(tmp_path, kind):
    """16 runs of 4 bytes on each of 4 tiles: 256 bytes of messages and one exchange within the chip; or 16 packets a
    tile: 15 more than in order, 73 cycles each, and a loop of 12 cycles for each."""
    on_tiles, on_host = (report(tmp_path / str(on_host), on_host, True, kind) for on_host in (False, True))
    assert figures(on_tiles)[0] == 256
    assert figures(on_host)[0] == 0
    assert figures(on_host)[2] == figures(on_tiles)[2] - 43 + 16 + 15 * 73 + 16 * 12  # 256 bytes at 6 a cycle
    assert figures(on_host)[1] == figures(on_tiles)[1] + 4 * 8  # the loop
    assert (len(exchanges(on_tiles)), len(exchanges(on_host))) == (1, 0)
    assert sum(message.bytes.sum() for message in exchanges(on_tiles)) == 256 * 3 // 4  # a quarter is there already


def exchanges(reader):
    """The messages of each exchange of a program with `x`, without the broadcast of the program number."""
    programs = reader.programs()
    found = [p for p, type_ in enumerate(programs.type) if type_ == "DoExchange" and "_x" in programs.name[p]]
    return [reader.messages(program, 0) for program in found]


@pytest.mark.parametrize("n", [3, 64, 1000])
def test_values_pass_through_messages_at_their_addresses(n):
    """Streams, rows of a remote buffer, a print and a host function, of halves and floats, on two IPUs; compared in the
    mode that moves bytes at addresses, with the compiler's own checks."""
    rng = np.random.default_rng(n)
    on = IPUModel()
    on.tilesPerIPU, on.numIPUs = 5, 2
    with on.createDevice() as opened:
        graph = Graph(opened)
        program, streams = Sequence(), {}
        for number, type_ in enumerate((FLOAT, HALF, FLOAT)):
            x = graph.addVariable(type_, [n], f"x{number}")
            for i, tile in enumerate(rng.integers(0, 10, n).tolist()):
                graph.setTileMapping(x[i], tile)
            values = rng.integers(0, 99, n).astype(type_.dtype)
            streams[f"in{number}"], streams[f"out{number}"] = values, np.zeros_like(values)
            split = {"splitLimit": str(n * type_.size // 2)} if number else {}
            program.add(Copy(graph.addHostToDeviceFIFO(f"in{number}", type_, n, options=split), x))
            program.add(Copy(x, graph.addDeviceToHostFIFO(f"out{number}", type_, n, options=split)))
        rows = graph.addRemoteBuffer("rows", FLOAT, n)
        program.add(Copy(x, rows))
        program.add(WriteUndef(x))
        program.add(Copy(rows, x))
        program.add(Copy(x, graph.addDeviceToHostFIFO("again", FLOAT, n)))
        streams["again"] = np.zeros(n, np.float32)
        options = {"debug.verify": "true", "popvision.addressAccurate": "true"}
        with Engine(graph, program, options) as engine:
            engine.load(opened)
            for handle, values in streams.items():
                engine.connectStream(handle, values)
            engine.run()
    for number in range(3):
        assert (streams[f"in{number}"] == streams[f"out{number}"]).all()
    assert (streams["again"] == streams["in2"]).all()


def streamed(place, n=12 * 1024, optimise=False):
    """(cycles of the transfers and of what they need within the chip, bytes) of a program that streams `n` floats in
    and out; `place` maps them to 6 tiles."""
    graph = Graph(device(6))
    x = graph.addVariable(FLOAT, [n], "x")
    place(graph, x)
    program = Sequence(
        [
            Copy(graph.addHostToDeviceFIFO("in", FLOAT, n), x, optimise),
            Copy(x, graph.addDeviceToHostFIFO("out", FLOAT, n), optimise),
        ]
    )
    compilation = compile_graph(graph.store, graph.getTarget(), [program]).compilation
    cycles = sum(int(on.cycles.max()) for on in compilation.program_on_ipu if on.cycles is not None)
    syncs = compilation.programs.type.count("Sync")
    return cycles + 100 * syncs, int(compilation.tile_memory.excluding_gaps.sum())


def in_segments(number):
    """The tensor in so many parts, each mapped linearly."""

    def place(graph, x):
        for part in range(number):
            poputil.mapTensorLinearly(graph, x.slice(part * len(x) // number, (part + 1) * len(x) // number))

    return place


def dealt(graph, x):
    for tile in range(6):
        graph.setTileMapping(x.slice(tile, len(x)).subSample(6, 0), tile)


def in_runs(begins, ends, tiles):
    """Runs of the tensor, each on a tile."""

    def place(graph, x):
        for begin, end, tile in zip(begins, ends, tiles, strict=True):
            graph.setTileMapping(x.slice(begin, end), tile)

    return place


def test_streams_take_the_mapping_into_account():
    """Linear: straight to the tiles. In segments: an exchange that moves all but what lies where it arrives. Dealt one
    by one: the same bytes in more fragments."""
    linear, segments, single = (streamed(place) for place in (in_segments(1), in_segments(5), dealt))
    assert linear[0] < segments[0] < single[0]
    assert linear[1] < segments[1] < single[1]


def test_rearranging_on_the_host_saves_memory_at_the_cost_of_speed():
    """In 20 mappings `optimiseMemory` of a stream takes more cycles and less memory."""
    rng = np.random.default_rng(20)
    for _ in range(20):
        ends = np.unique(rng.integers(1, 3000, int(rng.integers(8, 60)))).tolist()
        tiles = rng.integers(0, 6, len(ends) + 1).tolist()
        place = in_runs([0, *ends], [*ends, 3000], tiles)
        default, saving = (streamed(place, 3000, optimise) for optimise in (False, True))
        assert default[0] < saving[0]
        assert default[1] > saving[1]


def test_streams_that_follow_each_other_share_an_exchange(tmp_path):
    """Two inputs: both transfers, for which the host is asked once, then one exchange; two outputs: one exchange, then
    both transfers. One stream twice is asked for twice."""
    on = device()
    graph = Graph(on)
    program = Sequence()
    tensors = [graph.addVariable(FLOAT, [400], name) for name in "ab"]
    for x in tensors:
        for i in range(400):
            graph.setTileMapping(x[i], i % 4)
    for x, handle in zip(tensors, "ab", strict=True):
        program.add(Copy(graph.addHostToDeviceFIFO(f"in {handle}", FLOAT, 400), x))
    for x, handle in zip(tensors, "ab", strict=True):
        program.add(Copy(x, graph.addDeviceToHostFIFO(f"out {handle}", FLOAT, 400)))
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}):
        pass
    programs = ProfileReader(tmp_path / "profile.pop").programs()
    types = [
        t for t, name in zip(programs.type, programs.name, strict=True) if t == "DoExchange" or name[:2] in ("in", "ou")
    ]
    three = ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"]
    assert types == ["DoExchange", *three * 2, "DoExchange", "DoExchange", *three * 2]


@pytest.mark.parametrize("kind", KINDS)
def test_data_in_one_run_a_tile_needs_no_order(tmp_path, kind):
    on_tiles = figures(report(tmp_path / "tiles", False, False, kind))
    assert on_tiles == figures(report(tmp_path / "host", True, False, kind))
    assert on_tiles[0] == 0


def test_values_are_the_same_either_way():
    for on_host in (False, True):
        on = device()
        graph = Graph(on)
        x = graph.addVariable(INT, [10], "x")
        for i in range(10):
            graph.setTileMapping(x[i], i % 3)
        graph.createHostWrite("in", x, on_host)
        graph.createHostRead("out", x, on_host)
        with Engine(graph, Sequence()) as engine:
            engine.load(on)
            engine.writeTensor("in", np.arange(10, dtype=np.int32))
            out = np.zeros(10, np.int32)
            engine.readTensor("out", out)
            assert out.tolist() == list(range(10))
