"""rearrangeOnHost: memory of tiles against packets and cycles, where tiles hold several runs of a transfer."""

from __future__ import annotations

import numpy as np
import pytest

from popvision.formats.profile.reader import ProfileReader
from simulator.poplar import FLOAT, INT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence


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
    """16 runs of 4 bytes on each of 4 tiles: 256 bytes of buffers, or 16 packets a tile, 12 cycles each, in a loop."""
    on_tiles = figures(report(tmp_path / "tiles", False, True, kind))
    on_host = figures(report(tmp_path / "host", True, True, kind))
    assert (on_tiles[0], on_host[0]) == (256, 0)
    assert on_host[2] == on_tiles[2] + 16 * 12
    assert on_host[1] == on_tiles[1] + 4 * 8  # the loop


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
