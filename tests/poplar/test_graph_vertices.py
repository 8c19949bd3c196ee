"""Vertices: blocks made one by one and in bulk are equal; wrong connections are refused by name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Input, MultiVertex, Output, SupervisorVertex, Vector, VectorList, Vertex
from simulator.compiler.checks.completeness import check_graph
from simulator.graph.vertices import FieldEdges
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    UNSIGNED_INT,
    ComputeSet,
    Engine,
    Graph,
    IPUModel,
    Target,
    TargetType,
    Tensor,
    VertexPerfEstimate,
    VertexRef,
    concat,
    file_load_error,
    graph_connection_error,
    graph_object_load_error,
    invalid_tile_mapping,
    missing_perf_estimate,
    poplar_error,
    tensor_creation_error,
    type_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.program import Execute


class Sum(Vertex):
    """Adds up."""

    x = Input(Vector(FLOAT))
    out = Output(FLOAT)
    scale = INT

    def compute(self):
        self.out = self.scale * self.x.sum()

    @classmethod
    def estimate(cls, sizes, values, target):
        return 9 + 3 * sizes["x"], sizes["x"]


class Rows(Vertex):
    rows = Vector(Input(Vector(FLOAT)))
    picks = Vector(Input(FLOAT))
    out = InOut(Vector(FLOAT))

    def compute(self):
        for i, row in enumerate(self.rows):
            self.out[i] += row.sum() + self.picks[i]


class Half(SupervisorVertex):
    x = Input(Vector(HALF, layout="one_ptr"))
    y = Output(Vector(HALF))

    def compute(self):
        assert self.x.dtype == np.float32
        self.y = self.x * 3

    def compute_batch(self):
        self.y = self.x * 3


class Strided(MultiVertex):
    y = Output(Vector(INT))

    def compute(self, workerId):
        self.y[workerId::6] = workerId


def new_graph(tiles: int = 8) -> Graph:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles))
    assert graph.addCodelets([Sum, Rows, Half, Strided])
    return graph


def test_a_block_of_single_vertices_is_the_bulk_block() -> None:
    graph = new_graph()
    x, out = graph.addVariable(FLOAT, [6, 4]), graph.addVariable(FLOAT, [6])
    one, many = graph.addComputeSet("one"), graph.addComputeSet("many")
    for i in range(6):
        v = graph.addVertex(one, "Sum", {"x": x[i], "out": out[i], "scale": i})
        graph.setTileMapping(v, i)
    graph.addVertices(many, "Sum", np.arange(6), {"x": x, "out": out}, {"scale": np.arange(6)})
    first, second = graph.store.blocks
    assert [first.first_id, second.first_id, graph.getNumVertices()] == [0, 6, 12]
    assert np.array_equal(first.tiles, second.tiles)
    assert np.array_equal(first.values["scale"], second.values["scale"])
    for name in ("x", "out"):
        a, b = first.edges[name], second.edges[name]
        assert a.offsets is None
        assert b.offsets is None
        assert np.array_equal(a.starts, b.starts)
        assert np.array_equal(a.lengths, b.lengths)


def test_bulk_rows_of_scattered_tensors_are_those_of_single_vertices() -> None:
    graph = new_graph()
    x, out = graph.addVariable(FLOAT, [4, 6]), graph.addVariable(FLOAT, [6, 2])
    columns = x.transpose()
    one, many = graph.addComputeSet(), graph.addComputeSet()
    for i in range(6):
        v = graph.addVertex(one, "Rows", {"rows": columns[i].reshape([2, 2]), "picks": columns[i], "out": out[i]})
        graph.setTileMapping(v, 0)
    rows = columns.reshape([6, 2, 2])
    graph.addVertices(many, "Rows", np.zeros(6, int), {"rows": rows, "picks": columns, "out": out})
    first, second = graph.store.blocks
    for name in ("rows", "picks", "out"):
        a, b = first.edges[name], second.edges[name]
        assert np.array_equal(a.starts, b.starts), name
        assert np.array_equal(a.lengths, b.lengths), name
        assert (a.offsets is None) == (b.offsets is None)
        assert a.offsets is None or np.array_equal(a.offsets, b.offsets)
        assert a.row_offsets is None or np.array_equal(a.row_offsets, b.row_offsets)
        assert (
            a.elements_per_vertex(6).tolist()
            == b.elements_per_vertex(6).tolist()
            == [len(x) if name != "out" else 2] * 6
        )
    assert second.edges["picks"].starts.tolist()[:5] == [0, 6, 12, 18, 1]


def test_scattered_edges_keep_their_order_whenever_they_are_connected() -> None:
    graph = new_graph()
    x = graph.addVariable(FLOAT, [3, 4])
    out = graph.addVariable(FLOAT, [2])
    cs = graph.addComputeSet()
    v0 = graph.addVertex(cs, "Sum", {"out": out[0], "scale": 1})
    v1 = graph.addVertex(cs, "Sum", {"out": out[1], "scale": 1})
    graph.connect(v1["x"], x[0])
    graph.connect(v0["x"], x.transpose()[1])
    edges = graph.store.blocks[0].edges["x"]
    assert edges.starts.tolist() == [1, 5, 9, 0]
    assert edges.lengths.tolist() == [1, 1, 1, 4]
    assert edges.offsets is not None
    assert edges.offsets.tolist() == [0, 3, 4]
    assert edges.elements_per_vertex(2).tolist() == [3, 4]
    assert edges.vertex_of_region(2).tolist() == [0, 0, 0, 1]


def test_vectors_of_vectors() -> None:
    graph = new_graph()
    x, out = graph.addVariable(FLOAT, [3, 4]), graph.addVariable(FLOAT, [3])
    cs = graph.addComputeSet()
    graph.addVertex(cs, "Rows", {"rows": x, "picks": x[0].slice(0, 3), "out": out})
    ragged = [x[0].slice(0, 0), concat(x[1], x[0]), x[2].slice(1, 2)]
    graph.addVertex(cs, "Rows", {"rows": ragged, "picks": [x[0][0], x[1][1], x[0][1]], "out": out})
    rows = graph.store.blocks[0].edges["rows"]
    assert rows.offsets is not None
    assert rows.row_offsets is not None
    assert rows.offsets.tolist() == [0, 3, 6]
    assert rows.row_offsets.tolist() == [0, 1, 2, 3, 3, 5, 6]
    assert rows.starts.tolist() == [0, 4, 8, 4, 0, 9]
    assert rows.elements_per_vertex(2).tolist() == [12, 9]
    assert graph.store.blocks[0].edges["picks"].starts.tolist() == [0, 0, 5, 1]


def test_values_given_to_inputs_become_constants_on_the_tile_of_the_vertex() -> None:
    graph = new_graph()
    out = graph.addVariable(FLOAT, [])
    v = graph.addVertex(graph.addComputeSet(), "Sum", {"x": [1.0, 2.0], "out": out, "scale": 2})
    graph.setTileMapping(v, 5)
    edges = graph.store.blocks[0].edges["x"]
    assert edges.lengths.tolist() == [2]
    constant = int(graph.store.variable_of(edges.starts)[0])
    assert graph.store.variables.constant[constant].tolist() == [1.0, 2.0]
    assert graph.store.mapping_of(constant)[1].tolist() == [5]


@pytest.mark.parametrize(
    ("connections", "error", "message"),
    [
        (
            lambda g: {"z": g.addVariable(FLOAT, [1])},
            unknown_field,
            "Sum has no field 'z'; its fields are x, out, scale",
        ),
        (lambda g: {"scale": g.addVariable(INT, [])}, graph_connection_error, "'scale' of Sum is a simple field"),
        (
            lambda g: {"x": g.addVariable(INT, [1])},
            type_error,
            "'x' of Sum takes float elements, but the tensor holds int",
        ),
        (lambda g: {"x": g.addVariable(FLOAT, [1, 1])}, graph_connection_error, "needs a tensor of rank 1, got shape"),
        (lambda g: {"out": g.addVariable(FLOAT, [1])}, graph_connection_error, "needs a tensor of rank 0, got shape"),
        (lambda g: {"out": g.addConstant(FLOAT, [], 1)}, graph_connection_error, "holds a constant: use a variable"),
        (lambda g: {"x": [g.addVariable(FLOAT, [1])]}, graph_connection_error, "connect one tensor, not a list"),
        (lambda g: {"x": new_graph().addVariable(FLOAT, [1])}, graph_connection_error, "is of another graph"),
        (lambda g: {"out": 3.0}, graph_connection_error, "'out' of Sum needs a tensor, got 3.0"),
        (lambda g: {"scale": "many"}, type_error, "'many' is not a value for field 'scale'"),
    ],
)
def test_wrong_connections_are_refused(connections, error, message: str) -> None:
    graph = new_graph()
    with pytest.raises(error, match=message):
        graph.addVertex(graph.addComputeSet(), "Sum", connections(graph))


def test_writing_an_element_twice_is_refused() -> None:
    graph = new_graph()
    v = graph.addVariable(INT, [1])
    with pytest.raises(graph_connection_error, match="holds an element twice"):
        graph.addVertex(graph.addComputeSet(), "Strided", {"y": v.broadcast(6, 0)})
    with pytest.raises(graph_connection_error, match="holds an element twice"):
        graph.addVertex(graph.addComputeSet(), "Strided", {"y": concat(v, v)})


def test_what_is_missing_at_the_end_is_named() -> None:
    graph = new_graph()
    cs = graph.addComputeSet("adding")
    v = graph.addVertex(cs, "Sum", {"x": graph.addVariable(FLOAT, [3]), "scale": 1})
    with pytest.raises(
        graph_connection_error, match="Vertex 0 of type Sum in compute set 'adding': field 'out' is not"
    ):
        check_graph(graph.store)
    graph.connect(v["out"], graph.addVariable(FLOAT, []))
    with pytest.raises(invalid_tile_mapping, match="Vertex 0 of type Sum in compute set 'adding' has no tile"):
        check_graph(graph.store)
    graph.setTileMapping(v, 2)
    check_graph(graph.store)
    w = graph.addVertex(cs, "Sum", {"x": graph.addVariable(FLOAT, [3]), "out": graph.addVariable(FLOAT, [])})
    graph.setTileMapping(w, 1)
    with pytest.raises(graph_connection_error, match=r"Vertex 1 .* field 'scale' has no value"):
        check_graph(graph.store)
    graph.setInitialValue(w["scale"], 4)
    check_graph(graph.store)
    assert graph.store.blocks[0].values["scale"].tolist() == [1, 4]


def test_connecting_a_field_twice_is_refused_at_once_or_at_the_end() -> None:
    graph = new_graph()
    x, y = graph.addVariable(FLOAT, [3]), graph.addVariable(FLOAT, [2])
    cs = graph.addComputeSet("cs")
    v = graph.addVertex(cs, "Sum", {"x": x, "out": graph.addVariable(FLOAT, []), "scale": 1})
    with pytest.raises(graph_connection_error, match=r"Vertex 0 of type Sum .*'x' is connected twice"):
        graph.connect(v["x"], y)
    w = graph.addVertex(cs, "Sum", {"x": x, "out": graph.addVariable(FLOAT, []), "scale": 1})
    graph.connect(v["x"], y)
    for vertex in (v, w):
        graph.setTileMapping(vertex, 0)
    with pytest.raises(graph_connection_error, match=r"Vertex 0 of type Sum .*'x' is connected twice"):
        check_graph(graph.store)
    rows = graph.addVertex(cs, "Rows", {"rows": [x, y]})
    with pytest.raises(graph_connection_error, match="'rows' is connected twice"):
        graph.connect(rows["rows"], [x])
    with pytest.raises(tensor_creation_error, match="refers to nothing"):
        graph.connect(rows["out"], Tensor())


def test_bulk_calls_refuse_columns_that_do_not_fit() -> None:
    graph = new_graph()
    x, out = graph.addVariable(FLOAT, [2, 3]), graph.addVariable(FLOAT, [2])
    cs = graph.addComputeSet()
    with pytest.raises(graph_connection_error, match=r"needs its fields \['out', 'scale'\] too"):
        graph.addVertices(cs, "Sum", [0, 1], {"x": x})
    with pytest.raises(unknown_field, match="no such field"):
        graph.addVertices(cs, "Sum", [0, 1], {"x": x, "out": out, "zz": x}, {"scale": 1})
    with pytest.raises(graph_connection_error, match="needs rank 2 and first dimension 3"):
        graph.addVertices(cs, "Sum", [0, 1, 2], {"x": x, "out": out}, {"scale": 1})
    with pytest.raises(invalid_tile_mapping, match="Tile 8 is out of range"):
        graph.addVertices(cs, "Sum", [0, 8], {"x": x, "out": out}, {"scale": 1})
    outside = FieldEdges(np.array([0, 100]), np.array([1, 1]))
    with pytest.raises(graph_connection_error, match="reaches outside all variables"):
        graph.addVertices(cs, "Sum", [0, 1], {"x": outside, "out": out}, {"scale": 1})
    assert graph.getNumVertices() == 0


def test_unknown_vertex_types_and_fields() -> None:
    graph = new_graph()
    with pytest.raises(unknown_vertex_type, match="'Product' is not a vertex type of this graph"):
        graph.addVertex(graph.addComputeSet(), "Product")
    v = graph.addVertex(graph.addComputeSet(), "Sum")
    with pytest.raises(unknown_field, match="Sum has no field 'y'"):
        v["y"]


def test_estimates_explicit_registered_own_and_guessed() -> None:
    graph = new_graph()
    cs = graph.addComputeSet()
    x, out = graph.addVariable(FLOAT, [5]), graph.addVariable(FLOAT, [])
    v = graph.addVertex(cs, "Sum", {"x": x, "out": out, "scale": 1})
    graph.setTileMapping(v, 0)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(9 + 15, 5)
    graph.registerPerfEstimator("Sum", lambda vertex, target: 100 + vertex.getFieldInfo("x").size())
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(105, 0)
    assert graph.store.blocks[0].type.costs is graph.store.vertex_types["Sum"].costs
    graph.setPerfEstimate(v, 7, 3)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(7, 3)
    assert graph.store.blocks[0].cycles.tolist() == [7]
    guessed = graph.addVertex(cs, "Strided", {"y": graph.addVariable(INT, [13])})
    # Multi-vertex, in tile cycles: worker 0 writes three: entry 5, pointer and size 2, a store and a loop trip each.
    assert graph.guessPerfEstimate(guessed).cycles == 6 * 13
    with pytest.raises(missing_perf_estimate, match="Strided has no performance estimate before an engine has run"):
        graph.getPerfEstimate(guessed)
    assert graph.guessPerfEstimate(v) == VertexPerfEstimate(7, 3)
    assert (
        graph.store.blocks[1].type.costs(graph.store.blocks[1], {"y": np.array([13])}, graph.getTarget()).provenance
        == "guess"
    )

    def broken(vertex, target):
        raise ValueError("no idea")

    graph.registerPerfEstimator("Strided", broken)
    with pytest.raises(
        missing_perf_estimate, match=r"Strided cannot estimate its vertices: .*broken, .* raised ValueError.*: no idea"
    ):
        graph.getPerfEstimate(guessed)


def test_a_codelet_without_estimator_has_its_estimate_once_the_graph_was_executed() -> None:
    device = IPUModel().createDevice()
    graph = Graph(device)
    graph.addCodelets([Strided])
    y = graph.addVariable(INT, [13])
    graph.setTileMapping(y, 0)

    def add() -> tuple[ComputeSet, VertexRef]:
        cs = graph.addComputeSet()
        v = graph.addVertex(cs, "Strided", {"y": y})
        graph.setTileMapping(v, 0)
        return cs, v

    (first, before), (_, idle) = add(), add()
    with Engine(graph, Execute(first)) as engine:
        _, late = add()
        engine.load(device)
        with pytest.raises(missing_perf_estimate, match="before an engine has run the graph"):
            graph.getPerfEstimate(before)
        engine.run()
    assert graph.getPerfEstimate(before) == graph.getPerfEstimate(idle) == graph.guessPerfEstimate(late)
    with pytest.raises(missing_perf_estimate, match="before an engine has run the graph"):
        graph.getPerfEstimate(late)


def test_running_codelets_writes_outputs_in_place() -> None:
    graph = new_graph()
    types = graph.store.vertex_types
    fields = SimpleNamespace(x=np.arange(4, dtype=np.float32), out=np.zeros((), np.float32), scale=np.int32(2))
    types["Sum"].compute(fields)
    assert fields.out == 12
    plain = SimpleNamespace(x=np.arange(4, dtype=np.float32), out=np.float32(0), scale=np.int32(2))
    types["Sum"].compute(plain)
    assert plain.out == 12
    assert plain.out.dtype == np.float32
    y = np.zeros(8, np.int32)
    types["Strided"].compute(SimpleNamespace(y=y))
    assert y.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    out = np.ones(2, np.float32)
    rows = [np.array([1, 2], np.float32), np.array([3], np.float32)]
    types["Rows"].compute(SimpleNamespace(rows=rows, picks=[np.float32(10), np.float32(20)], out=out))
    assert out.tolist() == [14, 24]


def test_half_is_float_inside_and_rounded_once() -> None:
    type_ = new_graph().store.vertex_types["Half"]
    x = np.array([[0.1, 40000], [-30000, 1]], np.float16)
    one, batch = np.zeros((2, 2), np.float16), np.zeros((2, 2), np.float16)
    for i in range(2):
        type_.compute(SimpleNamespace(x=x[i], y=one[i]))
    type_.compute_batch(SimpleNamespace(x=x, y=batch))
    assert np.array_equal(one, batch)
    assert one[0].tolist() == [np.float16(np.float32(np.float16(0.1)) * 3), 65504]
    assert one[1].tolist() == [-65504, 3]


def test_codelet_classes_declare_their_fields() -> None:
    types = new_graph().store.vertex_types
    assert types["Sum"].kind == "worker"
    assert types["Half"].kind == "supervisor"
    assert types["Strided"].kind == "multi"
    assert [(f.name, f.kind, f.direction) for f in types["Rows"].fields] == [
        ("rows", "vectors", "in"),
        ("picks", "scalars", "in"),
        ("out", "vector", "inout"),
    ]
    assert types["Half"].fields_by_name["x"].layout == "one_ptr"
    assert types["Sum"].doc == "Adds up."

    class Lists(Sum):
        more = Input(VectorList(INT))
        table = Vector(UNSIGNED_INT)

    graph = new_graph()
    assert graph.addCodelets(Lists)
    assert not graph.addCodelets(Lists)
    fields = graph.store.vertex_types["Lists"].fields_by_name
    assert list(fields) == ["x", "out", "scale", "more", "table"]
    assert (fields["more"].kind, fields["more"].layout) == ("vectors", "deltanelements")
    assert fields["table"].kind == "value"


def test_codelets_from_a_file(tmp_path) -> None:
    path = tmp_path / "doubling.py"
    path.write_text(
        "from simulator.codelets.vertex import *\nfrom simulator.poplar import INT\n"
        "class Double(Vertex):\n    x = InOut(Vector(INT))\n    def compute(self):\n        self.x *= 2\n"
    )
    graph = new_graph()
    assert graph.addCodelets(str(path))
    assert not graph.addCodelets(path)
    x = np.array([1, 2], np.int32)
    graph.store.vertex_types["Double"].compute(SimpleNamespace(x=x))
    assert x.tolist() == [2, 4]


def test_codelets_that_cannot_be_loaded(tmp_path) -> None:
    graph = new_graph()
    with pytest.raises(file_load_error, match=r"'codelets\.cpp' does not exist"):
        graph.addCodelets("codelets.cpp")
    with pytest.raises(file_load_error, match=r"'none\.py' does not exist"):
        graph.addCodelets("none.py")
    broken = tmp_path / "broken.py"
    broken.write_text("1/0")
    with pytest.raises(file_load_error, match="cannot be imported: ZeroDivisionError"):
        graph.addCodelets(broken)
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(graph_object_load_error, match="defines no codelets"):
        graph.addCodelets(empty)

    class NoCompute(Vertex):
        x = Input(FLOAT)

    with pytest.raises(graph_object_load_error, match="NoCompute has no compute"):
        graph.addCodelets(NoCompute)

    class Other(Vertex):
        name = "Sum"
        y = Input(FLOAT)

        def compute(self):
            pass

    with pytest.raises(poplar_error, match="Another codelet is registered as 'Sum'"):
        graph.addCodelets(Other)


def test_a_million_vertices_in_bulk_are_a_few_arrays() -> None:
    graph = new_graph()
    n = 1_000_000
    x, out = graph.addVariable(FLOAT, [n, 3]), graph.addVariable(FLOAT, [n])
    block = graph.addVertices(graph.addComputeSet(), "Sum", np.arange(n) % 8, {"x": x, "out": out}, {"scale": 1})
    columns = [block.tiles, *(column for e in block.edges.values() for column in (e.starts, e.lengths))]
    assert graph.getNumVertices() == n
    assert sum(column.nbytes for column in columns) <= 36 * n
    assert block.edges["x"].starts[-1] == 3 * n - 3
