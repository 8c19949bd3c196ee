"""Small objects of a graph: ids, names, texts, records; and engines that are closed."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Vector, Vertex
from simulator.poplar import (
    BOOL,
    FLOAT,
    INT,
    DebugContext,
    Device,
    Engine,
    Graph,
    Interval,
    IPUModel,
    UpsampleMethod,
    compileModule,
    index_error,
    poplar_error,
)
from simulator.poplar.program import Abort, AbortOnCondition, Call, Copy, Execute, Sequence


class Twice(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self):
        self.x[:] *= 2

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + sizes["x"]


@pytest.fixture
def device() -> Device:
    model = IPUModel("ipu21")
    model.tilesPerIPU = 2
    return model.createDevice()


@pytest.fixture
def graph(device: Device) -> Graph:
    return Graph(device)


def matrix(graph: Graph):
    """Two rows of three elements: 0 1 2, 3 4 5."""
    made = graph.addVariable(FLOAT, [2, 3], "m")
    graph.setTileMapping(made, 0)
    return made


def elements(tensor) -> list[int]:
    """The places in the variable, in the tensor's order."""
    runs = tensor.getVarRegions()
    return [place for run in runs for place in range(run.interval.begin, run.interval.end)]


def test_ids_count_from_zero(graph: Graph) -> None:
    assert [graph.addComputeSet(name).getId() for name in "abc"] == [0, 1, 2]
    assert [graph.addFunction(Sequence()).getId() for _ in range(3)] == [0, 1, 2]


def test_a_host_function_has_the_handle_it_was_given(graph: Graph) -> None:
    assert graph.addHostFunction("scale", [(FLOAT, 2)], [(INT, 1)]).handle() == "scale"


def test_vertex_references_are_equal_for_the_same_vertex(graph: Graph) -> None:
    graph.addCodelets(Twice)
    cs = graph.addComputeSet("cs")
    first, second = (graph.addVertex(cs, "Twice", {"x": row}) for row in matrix(graph))
    assert first == first["x"].vertex
    assert first == type(first)(first.builder, first.row)
    assert (first == second, first == 0) == (False, False)


def test_what_a_tensor_says_of_itself(graph: Graph, capfd) -> None:
    m = matrix(graph)
    assert m.shapeToString() == "{2,3}"
    assert m[0][0].shapeToString() == "{}"
    assert m.getDebugStr() == "m:float{2,3}"
    assert m.flatten().getDebugStr() == "m:float{6}"
    m.transpose().dump()
    assert capfd.readouterr() == ("", "m:float{3,2}\n")
    m.slice(1, 3, 1).dumpRegions()
    assert capfd.readouterr() == ("", "m[1:3)\nm[4:6)\n")


def test_contiguous_is_one_run_of_one_variable(graph: Graph) -> None:
    m = matrix(graph)
    assert [t.isContiguous() for t in (m, m[1], m.flatten(), m.slice(0, 1, 0))] == [True] * 4
    assert [t.isContiguous() for t in (m.transpose(), m.slice(0, 2, 1), m.broadcast(2, 0))] == [False] * 3


def test_a_slice_by_its_region(graph: Graph) -> None:
    m = matrix(graph)
    assert elements(m.slice(region=Interval(1, 2))) == [3, 4, 5]
    columns = m.slice(region=Interval(1, 3), dimension=1)
    assert (columns.shape(), elements(columns)) == ([2, 2], [1, 2, 4, 5])
    with pytest.raises(index_error):
        m.slice(region=Interval(1, 3))


def test_upsample_repeats_every_element(graph: Graph) -> None:
    m = matrix(graph)
    assert elements(m.upsample(2, 1)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    rows = m.upsample(2, 0, UpsampleMethod.REPEAT)
    assert (rows.shape(), elements(rows)) == ([4, 3], [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5])
    assert m.upsample(0, 0).shape() == [0, 3]


def test_a_path_name_joins_the_names_of_all_parents(graph: Graph) -> None:
    outer = graph.addDebugInfo("outer", "layer")
    inner = graph.addDebugInfo(DebugContext("inner", outer), "layer")
    assert DebugContext("leaf", inner).getPathName() == "outer/inner/leaf"
    assert DebugContext(inner).getPathName() == "outer/inner"
    assert DebugContext().getPathName() == ""


def test_a_record_keeps_arguments_and_outputs(graph: Graph) -> None:
    info = graph.addDebugInfo("operation", "layer", first=1)
    info.setValue("second", [2, 3])
    info.setOutputs(out="m", more=4)
    info.setOutputs(more=5)
    kept = info.store.debug_infos[info.id]
    assert kept["arguments"] == {"first": 1, "second": [2, 3]}
    assert kept["outputs"] == {"out": "m", "more": 5}


def test_programs_keep_their_names_and_messages(graph: Graph) -> None:
    flag = graph.addVariable(BOOL, [], "flag")
    both = Abort("too hot", "heat")
    assert (both.message, both.debug.getPathName()) == ("too hot", "heat")
    condition = AbortOnCondition(flag, message="too cold", debugContext="frost")
    assert (condition.message, condition.debug.getPathName()) == ("too cold", "frost")
    assert condition.predicate is flag
    call = Call(graph.addFunction(Sequence()), debugContext="again")
    assert call.debug.getPathName() == "again"


def test_only_sequences_without_programs_are_empty(graph: Graph) -> None:
    assert Abort().isEmpty() is False
    assert Sequence().isEmpty() is True
    assert Sequence([Abort()], "named").isEmpty() is False


def test_a_list_of_programs_is_a_sequence_with_a_name() -> None:
    first, second = Abort("1"), Abort("2")
    both = Sequence([first, second], "both")
    assert list(both.nested()) == [first, second]
    assert both.debug.getPathName() == "both"


def test_a_module_knows_its_target(graph: Graph, device: Device) -> None:
    graph.addCodelets(Twice)
    cs = graph.addComputeSet("cs")
    graph.setTileMapping(graph.addVertex(cs, "Twice", {"x": matrix(graph).flatten()}), 1)
    target = compileModule(graph, Execute(cs)).getTarget()
    assert target == device.getTarget()
    assert (target.getNumTiles(), target.getTargetArchString()) == (2, "ipu21")


def loaded(graph: Graph, device: Device) -> Engine:
    m = matrix(graph)
    engine = Engine(graph, [Copy(m[0], m[1])])
    engine.load(device)
    engine.run(0)
    return engine


def test_a_closed_engine_has_given_its_memory_back(graph: Graph, device: Device) -> None:
    engine = loaded(graph, device)
    engine.close()
    with pytest.raises(poplar_error, match="not loaded"):
        engine.run(0)
    engine.close()


def test_an_engine_is_closed_at_the_end_of_its_block(graph: Graph, device: Device) -> None:
    with loaded(graph, device) as engine:
        engine.run(0)
    with pytest.raises(poplar_error, match="not loaded"):
        engine.run(0)


def test_an_engine_is_closed_by_an_error_too_and_lets_it_through(graph: Graph, device: Device) -> None:
    engine = loaded(graph, device)
    with pytest.raises(ZeroDivisionError), engine:
        raise ZeroDivisionError
    with pytest.raises(poplar_error, match="not loaded"):
        engine.run(0)


@pytest.mark.parametrize("make", [lambda: IPUModel().createDevice(), Device.createCPUDevice], ids=["model", "cpu"])
def test_a_device_supports_the_remote_buffers_that_run_on_it(make) -> None:
    device = make()
    assert device.supportsRemoteBuffers() is True
    assert device.hasRemoteBuffers() is True
    graph = Graph(device)
    x = graph.addVariable(INT, [3], "x")
    graph.setTileMapping(x, 0)
    graph.createHostRead("x", x)
    engine = Engine(graph, [Copy(graph.addRemoteBuffer("far", INT, 3), x)])
    engine.load(device)
    engine.copyToRemoteBuffer(np.array([1, 2, 3], np.int32), "far", 0)
    engine.run(0)
    got = np.zeros(3, np.int32)
    engine.readTensor("x", got)
    assert got.tolist() == [1, 2, 3]
