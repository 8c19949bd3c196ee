"""One case for each exception that the pages on Graph name: its class, and a message with the object, the value and the
rule."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, SupervisorVertex, Vector, VectorList, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    QUARTER_METADATA,
    UNSIGNED_INT,
    Graph,
    IPUModel,
    SerializationFormat,
    Tensor,
    VariableMappingMethod,
    VertexRef,
    compileGraph,
    concat,
    graph_connection_error,
    graph_cycle_error,
    graph_object_creation_error,
    graph_object_load_error,
    graph_replication_error,
    index_error,
    invalid_tile_mapping,
    missing_perf_estimate,
    no_size_specified,
    parse_error,
    poplar_error,
    replication_factor,
    tensor_creation_error,
    type_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.program import Execute, Repeat, Sequence, Switch

Case = Callable[[Graph, Tensor], object]
TEXT = "#include <poplar/Vertex.hpp>\nclass Once : public poplar::Vertex { public: void compute() {} };"


class Plain(Vertex):
    one = Input(FLOAT)
    row = Input(Vector(FLOAT))
    edges = Vector(Input(FLOAT))
    rows = Input(VectorList(FLOAT))
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = self.one


class Outside(SupervisorVertex):
    out = Output(FLOAT)

    def compute(self) -> None: ...

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10


def new_graph(ipus: int = 1, replicas: int = 1) -> tuple[Graph, Tensor]:
    """A graph of 8 tiles an IPU, and its variable 'x' of 4 floats on tile 1."""
    model = IPUModel("ipu2")
    model.tilesPerIPU, model.numIPUs = 8, ipus
    graph = Graph(model.createDevice(), replication_factor(replicas))
    graph.addCodelets([Plain, Outside])
    x = graph.addVariable(FLOAT, [4], "x")
    graph.setTileMapping(x, 1)
    return graph, x


def metadata(graph: Graph) -> Tensor:
    return graph.addVariable(QUARTER_METADATA, [])


def field(graph: Graph, name: str):
    return graph.addVertex(graph.addComputeSet("cs"), "Plain")[name]


NO_METADATA = r"type float takes no metadata, but Tensor\(quarter_metadata, shape=\[\]\)"
LINEAR = VariableMappingMethod.LINEAR

#: what the page says -> (what is called, the exception, its message)
CASES: dict[str, tuple[Case, type[Exception], str]] = {
    "addVariable with metadata": (
        lambda g, x: g.addVariable(FLOAT, metadata(g), [2]),
        tensor_creation_error,
        f"addVariable: {NO_METADATA}",
    ),
    "addVariable with metadata and a mapping": (
        lambda g, x: g.addVariable(FLOAT, metadata(g), [2], LINEAR),
        tensor_creation_error,
        NO_METADATA,
    ),
    "addConstant of values with metadata": (
        lambda g, x: g.addConstant(FLOAT, metadata(g), [2], [1.0, 2.0]),
        tensor_creation_error,
        f"addConstant: {NO_METADATA}",
    ),
    "addConstant of one value with metadata": (
        lambda g, x: g.addConstant(FLOAT, metadata(g), [2], 1.0),
        tensor_creation_error,
        NO_METADATA,
    ),
    "clone to a type with metadata": (
        lambda g, x: g.clone(FLOAT, metadata(g), x),
        tensor_creation_error,
        f"clone: {NO_METADATA}",
    ),
    "clone with metadata": (lambda g, x: g.clone(metadata(g), x), tensor_creation_error, f"clone: {NO_METADATA}"),
    "cloneN to a type with metadata": (
        lambda g, x: g.cloneN(FLOAT, metadata(g), x, 2),
        tensor_creation_error,
        f"cloneN: {NO_METADATA}",
    ),
    "cloneN with metadata": (lambda g, x: g.cloneN(metadata(g), x, 2), tensor_creation_error, f"cloneN: {NO_METADATA}"),
    "getPerfEstimate where there is none": (
        lambda g, x: g.getPerfEstimate(without_estimate(g)),
        missing_perf_estimate,
        "Outside cannot estimate its vertices: .*estimator, registered for it, raised LookupError .*: no figure",
    ),
    "getMaxFieldDim of a dimension that is not there": (
        lambda g, x: g.getMaxFieldDim("Plain", "row", 1),
        index_error,
        "'row' of Plain has 1 dimensions; .* no 1",
    ),
    "getMaxFieldDim of a field that is not indexable": (
        lambda g, x: g.getMaxFieldDim("Plain", "one", 0),
        poplar_error,
        "'one' of Plain is not indexable",
    ),
    "getTileMapping of what is not mapped": (
        lambda g, x: g.getTileMapping(concat(x, g.addVariable(FLOAT, [2], "y"))),
        invalid_tile_mapping,
        "element 4 has no tile; call setTileMapping",
    ),
    "getTileMapping of what another graph's tiles hold": (
        lambda g, x: g.createVirtualGraph(2, 4).getTileMapping(x),
        invalid_tile_mapping,
        r"\(x\) lies on tile 1 of the device, outside this virtual graph",
    ),
    "reorderToSimplify of rank 2": (
        lambda g, x: g.reorderToSimplify(x.reshape([2, 2])),
        index_error,
        r"shape=\[2, 2\]\) is not a vector of 4",
    ),
    "reorderToSimplify of other sizes": (
        lambda g, x: g.reorderToSimplify(x, [x[:3]]),
        index_error,
        r"shape=\[3\]\) is not a vector of 4 elements",
    ),
    "serializeTensors of another graph": (
        lambda g, x: new_graph()[0].serializeTensors(io.BytesIO(), [x], SerializationFormat.Binary),
        poplar_error,
        r"serializeTensors: Tensor\(float, shape=\[4\]\) is not a tensor of this graph",
    ),
    "serializeTensors as bytes into text": (
        lambda g, x: g.serializeTensors(io.StringIO(), [x], SerializationFormat.Binary),
        poplar_error,
        "binary format needs a file that takes bytes",
    ),
    "deserializeTensors of JSON": (
        lambda g, x: g.deserializeTensors(io.StringIO("{}"), SerializationFormat.JSON),
        poplar_error,
        "SerializationFormat.JSON cannot be read",
    ),
    "deserializeTensors of something else": (
        lambda g, x: g.deserializeTensors(io.BytesIO(b"12345678"), SerializationFormat.Binary),
        parse_error,
        "deserializeTensors: the data cannot be read",
    ),
    "addCodelets of one stream twice": (
        lambda g, x: [g.addCodelets(io.StringIO(TEXT)) for _ in range(2)],
        graph_object_load_error,
        "this stream were added before; add a stream once",
    ),
    "two external exchange vertices on a tile": (
        lambda g, x: compiled(g, [external(g, 3), external(g, 3)]),
        graph_object_creation_error,
        "'sends' has more than one external exchange vertex on tile 3; map each to a tile of its own",
    ),
    "external exchange vertices among others": (
        lambda g, x: [external(g, 1), g.addVertex(sets(g), "Plain")],
        graph_object_creation_error,
        "'sends' cannot hold external exchange vertices and ordinary ones",
    ),
    "a virtual graph of tiles of two IPUs": (
        lambda g, x: new_graph(2)[0].createVirtualGraph(6, 10),
        invalid_tile_mapping,
        r"tiles \[6, 10\) are not within one IPU of 8 tiles",
    ),
    "a virtual graph of a tile that an IPU does not have": (
        lambda g, x: g.createVirtualGraph([0, 8]),
        invalid_tile_mapping,
        r"\[0, 8\] does not choose different tiles of an IPU with 8 tiles",
    ),
    "a virtual graph of a tile twice": (
        lambda g, x: g.createVirtualGraph([1, 1]),
        invalid_tile_mapping,
        r"\[1, 1\] does not choose different tiles",
    ),
    "a constant at an output": (
        lambda g, x: g.connect(field(g, "out"), g.addConstant(FLOAT, [], 1.0)),
        graph_connection_error,
        "'out' of Plain is written, but its tensor holds a constant",
    ),
    "a vector at a scalar": (
        lambda g, x: g.connect(field(g, "one"), x),
        graph_connection_error,
        r"'one' of Plain needs a tensor of rank 0, got shape \[4\]",
    ),
    "a scalar at a vector": (
        lambda g, x: g.connect(field(g, "row"), x[0]),
        graph_connection_error,
        r"'row' of Plain needs a tensor of rank 1, got shape \[\]",
    ),
    "a matrix at a vector of edges": (
        lambda g, x: g.connect(field(g, "edges"), x.reshape([2, 2])),
        graph_connection_error,
        r"'edges' of Plain needs a tensor of rank 1, got shape \[2, 2\]",
    ),
    "a vector at a vector of vectors": (
        lambda g, x: g.connect(field(g, "rows"), x),
        graph_connection_error,
        r"'rows' of Plain needs a tensor of rank 2, got shape \[4\]",
    ),
    "a list at a vector": (
        lambda g, x: g.connect(field(g, "row"), [x, x]),
        graph_connection_error,
        "'row' of Plain is not a vector of edges",
    ),
    "another type": (
        lambda g, x: g.connect(field(g, "row"), g.clone(HALF, x)),
        type_error,
        "'row' of Plain takes float elements, but the tensor holds half",
    ),
    "a field that is not there": (
        lambda g, x: field(g, "two"),
        unknown_field,
        "Plain has no field 'two'; its fields are one, row",
    ),
    "a vertex type that is not there": (
        lambda g, x: g.addVertex(g.addComputeSet(), "Fancy"),
        unknown_vertex_type,
        "'Fancy' is not a vertex type",
    ),
    "the size of a field without one": (
        lambda g, x: g.getFieldSize(field(g, "row")),
        no_size_specified,
        "field 'row' has no size yet",
    ),
    "a value by replica for another type": (
        lambda g, x: g.setInitialValue(x[0], {0: 1}),
        tensor_creation_error,
        "UNSIGNED_INT scalar, not float",
    ),
    "values that leave out a replica": (
        lambda g, x: g.setInitialValue(g.addVariable(UNSIGNED_INT, []), {1: 2}),
        graph_replication_error,
        r"given for replicas \[1\]; give one for each of 0 to 0",
    ),
    "a tile beyond the last": (
        lambda g, x: g.setTileMapping(x, 8),
        invalid_tile_mapping,
        "Tile 8 is out of range: the graph has 8 tiles",
    ),
    "intervals beyond the tensor": (
        lambda g, x: g.setTileMapping(x, [[(0, 5)]]),
        invalid_tile_mapping,
        r"4 elements; interval \[0, 5\) lies outside",
    ),
    "an element on two tiles": (
        lambda g, x: g.setTileMapping(x, [[(0, 3)], [(2, 4)]]),
        invalid_tile_mapping,
        "element 2 is mapped twice",
    ),
    "vertices that read what others of the set write": (
        lambda g, x: compiled(g, in_circles(g, x)),
        graph_cycle_error,
        "'circle'",
    ),
    "replicas that do not divide the IPUs": (
        lambda g, x: new_graph(3, 2),
        graph_replication_error,
        "factor of 2 does not divide the 3 IPUs",
    ),
}


def sets(graph: Graph):
    """The graph's compute set 'sends', made once."""
    if not hasattr(graph, "_sends"):
        graph._sends = graph.addComputeSet("sends")
    return graph._sends


def external(graph: Graph, tile: int) -> object:
    v = graph.addExternalExchangeVertex(sets(graph), "Outside", 1, True, False)
    y = graph.addVariable(FLOAT, [])
    graph.setTileMapping(y, tile)
    graph.setTileMapping(v, tile)
    graph.connect(v["out"], y)
    return sets(graph)


def without_estimate(graph: Graph) -> VertexRef:
    def estimator(vertex: object, target: object) -> int:
        raise LookupError("no figure")

    graph.registerPerfEstimator("Outside", estimator)
    return graph.addVertex(graph.addComputeSet(), "Outside")


def in_circles(graph: Graph, x: Tensor) -> list[object]:
    cs = graph.addComputeSet("circle")
    for a, b in ((0, 1), (1, 0)):
        v = graph.addVertex(cs, "Plain", {"one": x[a], "row": x[2:], "edges": [x[2]], "rows": [x[2:]], "out": x[b]})
        graph.setTileMapping(v, 1)
    return [cs]


def compiled(graph: Graph, compute_sets: list[object]) -> object:
    return compileGraph(graph, Sequence([Execute(cs) for cs in compute_sets]))


@pytest.mark.parametrize("name", CASES)
def test_the_class_and_the_message_of(name: str) -> None:
    call, error, message = CASES[name]
    graph, x = new_graph()
    with pytest.raises(error, match=message) as caught:
        call(graph, x)
    assert type(caught.value) is error
    assert isinstance(caught.value, poplar_error)
    assert "\n" not in str(caught.value)


#: what is none of what a call takes -> (what is called, the exception, its message)
WRONG: dict[str, tuple[Case, type[Exception], str]] = {
    "a name": (lambda g, x: g.addComputeSet(3), graph_object_creation_error, "3 is not a debug context; give a name"),
    "a stream's handle": (
        lambda g, x: g.addHostToDeviceFIFO(3, FLOAT, 1),
        graph_object_creation_error,
        "handle of a stream is a str",
    ),
    "a buffer's handle": (
        lambda g, x: g.addRemoteBuffer(None, FLOAT, 1),
        graph_object_creation_error,
        "of a remote buffer is a str",
    ),
    "a host function's handle": (
        lambda g, x: g.addHostFunction(1, [], []),
        graph_object_creation_error,
        "of a host function is a str",
    ),
    "a file": (lambda g, x: g.outputComputeGraph(None), poplar_error, "None is not a file to write to"),
    "a binary file": (
        lambda g, x: g.serialize(3, SerializationFormat.Binary),
        poplar_error,
        "3 is not a file to write to",
    ),
    "a tensor": (lambda g, x: concat([x, None]), tensor_creation_error, "concat: None is not a tensor"),
    "an estimator": (
        lambda g, x: g.registerPerfEstimator("Plain", 5),
        poplar_error,
        "registerPerfEstimator: 5 for Plain cannot be",
    ),
    "a value": (lambda g, x: g.setInitialValue(x, None), type_error, "None is not a value of type float"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not(name: str) -> None:
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call(*new_graph())


def test_numbers_of_numpy_are_numbers() -> None:
    graph, _ = new_graph()
    two = np.int64(2)
    assert type(Repeat(two, Sequence()).count) is int
    n = graph.addVariable(INT, [])
    assert Switch(n, [(two, Sequence())]).cases[0][0] == 2
    assert graph.addRemoteBuffer("rows", FLOAT, two, two).getRepeats() == 2
    assert graph.addHostFunction("f", [(FLOAT, two)], []).inputs == ((FLOAT, 2),)
