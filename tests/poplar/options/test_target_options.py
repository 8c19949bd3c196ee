"""target.*, and debug.outputAllSymbols: the same program with two values."""

import subprocess

import numpy as np
import pytest

from popvision.formats.archive import read_archive
from popvision.formats.profile.reader import ProfileReader
from simulator.codelets.vertex import InOut, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    UNSIGNED_INT,
    Engine,
    Graph,
    IPUModel,
    TargetType,
    VariableMappingMethod,
    compileGraph,
    invalid_option,
    poplar_error,
    stream_memory_allocation_error,
)
from simulator.poplar.program import Call, Copy, Execute, Sequence
from tests.poplar.options.small import Root, model, one_vertex, result


class Step(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self):
        self.x[:] += 1

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 * sizes["x"]


def test_rows_of_remote_buffers_are_padded_to_64_bytes():
    device, count = model(), 1 << 28  # rows of one float take 64 bytes: 16 GiB in all
    for repeats, refused in ((count, False), (count + 1, True)):
        graph = Graph(device)
        x = graph.addVariable(FLOAT, [1], "x")
        graph.setTileMapping(x, 0)
        far = graph.addRemoteBuffer("far", FLOAT, 1, repeats)
        if refused:
            with pytest.raises(stream_memory_allocation_error, match=f"The remote buffers need {64 * repeats} bytes"):
                Engine(graph, Copy(x, far))
        else:
            Engine(graph, Copy(x, far)).close()


def test_extended_memory():
    device = model()
    outcomes = []
    for on in ("true", "false"):
        graph = Graph(device)
        x = graph.addVariable(FLOAT, [1 << 20], "x")
        graph.setTileMapping(x.slice(0, 1 << 19), 0)
        graph.setTileMapping(x.slice(1 << 19, 1 << 20), 1)
        far = graph.addRemoteBuffer("far", FLOAT, 1 << 20, 4097)
        try:
            Engine(graph, Copy(x, far), {"target.extendedMemory": on})
        except stream_memory_allocation_error as error:
            outcomes.append(str(error))
        else:
            outcomes.append("")
    assert outcomes[0] == ""
    assert outcomes[1].startswith(f"The remote buffers need {4097 << 22} bytes, more than {16 << 30} (16 GiB)")
    old = Graph(_mk1())
    with pytest.raises(invalid_option, match=r"extendedMemory' cannot be 'true'; the target is a Mk1 system"):
        Engine(old, Sequence(), {"target.extendedMemory": "true"})


def large(count):
    """(graph, tensor of `count` floats) on a whole IPU."""
    graph = Graph(IPUModel().createDevice())
    x = graph.addVariable(FLOAT, [count], VariableMappingMethod.LINEAR, "x")
    return graph, x


def test_a_stream_has_a_buffer_of_at_most_128_mib():
    """Splitting is what makes longer ones fit, and it is on by default."""
    count = (128 << 20) // 4
    message = (
        rf"'in' needs a buffer of {4 * count + 4} bytes, more than {4 * count} \(128 MiB\); set its option splitLimit"
    )
    for limit, fits in ((None, True), ("0", False), (str(4 * count), True), (str(1 << 30), False)):
        graph, x = large(count + 1)
        options = {} if limit is None else {"splitLimit": limit}
        program = Copy(graph.addHostToDeviceFIFO("in", FLOAT, count + 1, options=options), x)
        if fits:
            assert compileGraph(graph, [program]).getTarget().getNumIPUs() == 1
        else:
            with pytest.raises(stream_memory_allocation_error, match=message):
                compileGraph(graph, [program])


def test_a_copy_of_a_remote_buffer_moves_at_most_128_mib():
    graph, x = large(3 << 24)
    rows = graph.addVariable(UNSIGNED_INT, [3], VariableMappingMethod.LINEAR, "rows")
    far = graph.addRemoteBuffer("far", FLOAT, 1 << 24, 4)
    program = Copy(x.reshape([3, 1 << 24]), far, rows)
    with pytest.raises(stream_memory_allocation_error, match=rf"'far' moves {3 << 26} bytes at a time \(3 rows\)"):
        compileGraph(graph, [program])
    assert compileGraph(graph, [Copy(x.slice(0, 1 << 24), far)]).getTarget().getNumIPUs() == 1
    with pytest.raises(stream_memory_allocation_error, match="make several copies of fewer"):
        compileGraph(graph, [Call(graph.addFunction(program))])


def _mk1():
    from dataclasses import replace

    from simulator.poplar import IPUModel

    old = IPUModel("ipu1")
    old.tilesPerIPU = 4
    return replace(old.createDevice().getTarget(), type=TargetType.IPU)


def lanes(folder, options):
    device = model()
    graph = Graph(device)
    graph.addCodelets(Step)
    x = graph.addVariable(FLOAT, [160], "x")
    graph.setTileMapping(x, 0)
    cs = graph.addComputeSet("cs")
    for i in range(40):
        graph.setTileMapping(graph.addVertex(cs, "Step", {"x": x.slice(4 * i, 4 * i + 4)}), 0)
    reports = {"autoReport.directory": str(folder), "autoReport.outputGraphProfile": "true"}
    with Engine(graph, Execute(cs), {**reports, **options}) as engine:
        engine.load(device)
        engine.run()
        cycles = engine.getTimeStamp().device_cycles
    found = ProfileReader(folder / "profile.pop").vertex_lanes(0, 0)
    return found.worker.tolist(), cycles


def test_workers_may_differ(tmp_path):
    fixed = [lanes(tmp_path / f"a{i}", {}) for i in range(2)]
    portable = lanes(tmp_path / "p", {"target.deterministicWorkers": "portable"})
    free = [lanes(tmp_path / f"b{i}", {"target.deterministicWorkers": "false"}) for i in range(12)]
    assert fixed[0] == fixed[1] == portable
    assert len({tuple(workers) for workers, _ in free}) > 1
    assert {cycles for _, cycles in free} == {fixed[0][1]}
    counts = [sorted(np.bincount(workers).tolist()) for workers, _ in [*free, fixed[0]]]
    assert all(count == counts[0] for count in counts)


def test_vertex_graph_is_saved(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    device = model()
    result(device, Root, FLOAT, [1])
    assert list(tmp_path.iterdir()) == []
    result(device, Root, FLOAT, [1], {"target.saveOutputVertexGraph": "~/vertices.dot"})
    assert "Root" in (tmp_path / "vertices.dot").read_text()
    with pytest.raises(poplar_error, match=r"cannot be written to .*; give target\.saveOutputVertexGraph another path"):
        result(device, Root, FLOAT, [1], {"target.saveOutputVertexGraph": str(tmp_path / "no" / "way")})


def symbols(path):
    return {symbol.name for member in read_archive(path).members for symbol in member.image.symbols}


def test_symbols_of_shared_memory(tmp_path):
    found = {}
    for on in ("true", "false"):
        device = model()
        graph, program = one_vertex(device, Root, FLOAT, [1] * 8)
        z = graph.addVariable(FLOAT, [8], "inBetween")
        graph.setTileMapping(z, 1)
        first, last = graph.addVariable(FLOAT, [8], "first"), graph.addVariable(FLOAT, [8], "last")
        for tensor in (first, last):
            graph.setTileMapping(tensor, 1)
        path = tmp_path / f"{on}.a"
        options = {"target.saveArchive": str(path), "debug.outputAllSymbols": on}
        Engine(graph, Sequence(Copy(first, z), Copy(z, last), program), options).close()
        found[on] = symbols(path)
    assert found["true"] > found["false"]
    assert any("inBetween" in name for name in found["true"] - found["false"])
    subprocess.run(["ar", "x", str(tmp_path / "true.a")], cwd=tmp_path, check=True)
    texts = [
        subprocess.run(["readelf", "-sW", str(p)], capture_output=True, text=True, check=True).stdout
        for p in sorted(tmp_path.iterdir())
        if p.suffix != ".a"
    ]
    assert any("inBetween" in text for text in texts)
