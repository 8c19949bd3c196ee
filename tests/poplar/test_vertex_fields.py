"""Fields of vertices: every way to connect them, their sizes, values and limits, and their view for estimators."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.codelets.vertex import InOut, Input, Output, Vector, VectorList, Vertex
from simulator.compiler.checks.completeness import check_graph
from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    QUARTER,
    UNSIGNED_CHAR,
    UNSIGNED_SHORT,
    ComputeSet,
    Engine,
    Graph,
    IPUModel,
    QuarterMetadata,
    Target,
    TargetType,
    VariableMappingMethod,
    VectorLayout,
    VectorListLayout,
    VertexPerfEstimate,
    concat,
    createVariableMetadataTensor,
    graph_connection_error,
    graph_object_creation_error,
    index_error,
    layout,
    missing_perf_estimate,
    no_size_specified,
    overflow_error,
    poplar_error,
    tensor_metadata_error,
    type_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.program import Execute, Sequence


class All(Vertex):
    """One field of each kind."""

    one = Input(FLOAT)
    row = Input(Vector(FLOAT, VectorLayout.SHORT_SPAN))
    picks = Vector(Input(FLOAT))
    rows = Vector(Input(Vector(FLOAT, VectorLayout.ONE_PTR)))
    lists = Input(VectorList(FLOAT, VectorListLayout.DELTAN))
    out = InOut(FLOAT)
    small = UNSIGNED_CHAR
    table = Vector(UNSIGNED_SHORT)

    def compute(self):
        self.out = self.one

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10 + 0 * sizes["one"]


class Halves(Vertex):
    table = Vector(HALF)
    out = Output(FLOAT)

    def compute(self):
        self.out = self.table.sum()


class Eight(Vertex):
    x = Input(Vector(QUARTER))
    rows = Vector(Input(Vector(QUARTER)))
    y = Output(Vector(QUARTER))

    def compute(self):
        self.y = self.x + sum(row.sum() for row in self.rows)


class Plain(Vertex):
    x = Input(Vector(FLOAT))
    out = Output(FLOAT)
    flag = BOOL
    h = HALF

    def compute(self):
        self.out = self.x.sum()


def new_graph(tiles: int = 1) -> Graph:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles))
    graph.addCodelets([All, Eight, Halves, Plain])
    return graph


def edges(graph: Graph, field: str, row: int = 0, block: int = 0) -> list[list[int]]:
    """The elements of the vectors that a field of a vertex is connected to, in the numbering of the graph."""
    column = graph.store.blocks[block].edges[field]
    first, last = (row, row + 1) if column.offsets is None else column.offsets[row : row + 2].tolist()
    rows = range(first, last)
    bounds = (
        [(r, r + 1) for r in rows]
        if column.row_offsets is None
        else [(int(column.row_offsets[r]), int(column.row_offsets[r + 1])) for r in rows]
    )
    return [
        [int(s) + k for s, n in zip(column.starts[a:b], column.lengths[a:b], strict=True) for k in range(int(n))]
        for a, b in bounds
    ]


def rest(graph: Graph, v: object) -> None:
    """Connect what a test does not look at."""
    t = graph.addVariable(FLOAT, [2, 2])
    for name in ("one", "out"):
        graph.connect(v[name], t[0][0] if name == "one" else t[1][1])  # type: ignore[index]
    graph.connect(v["row"], t[0])  # type: ignore[index]
    graph.connect(v["picks"], t[0])  # type: ignore[index]
    graph.connect(v["rows"], t)  # type: ignore[index]
    graph.connect(v["lists"], t)  # type: ignore[index]


def test_connection_descriptions_in_every_form() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 4])
    out = graph.addVariable(FLOAT, [2])
    cs = graph.addComputeSet("cs")
    z = graph.addVertex(cs, "Plain", [("x", t[1]), ("out", out[0]), ("flag", True), ("h", 2.5)])
    desc = Graph.ConnectionDesc
    v = graph.addVertex(
        cs,
        "All",
        [
            desc("one", 3.5),
            desc("row", z["x"], False),
            ("picks", [t[0, 0], t[2, 3]]),
            ["rows", [t[0], t[1, :2]]],
            desc("lists", t[:2]),
            desc("out", out[1]),
            ("small", 255),
            ("table", [1, 2, 3]),
        ],
    )
    check_graph(graph.store)
    assert edges(graph, "row", block=1) == [[4, 5, 6, 7]]
    assert edges(graph, "rows", block=1) == [[0, 1, 2, 3], [4, 5]]
    assert edges(graph, "lists", block=1) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert edges(graph, "picks", block=1) == [[0], [11]]
    constant = graph.store.variables.constant[graph.store.variable_of(np.array(edges(graph, "one", block=1)[0]))[0]]
    assert constant.tolist() == [3.5]
    assert v.getId() == 1
    with pytest.raises(graph_connection_error, match=r"\('x', 1, 2, 3\) is not a connection"):
        graph.addVertex(cs, "Plain", [("x", 1, 2, 3)])
    for other in (False, True):
        graph.addVertex(cs, "Plain", [("x", z["x"], other), ("out", out[0]), ("flag", True), ("h", 2.5)])
    check_graph(graph.store)
    assert [edges(graph, "x", row) for row in (1, 2)] == [[[4, 5, 6, 7]]] * 2
    with pytest.raises(graph_connection_error, match="Field 'flag' of Plain is vertex state; connect a tensor"):
        graph.addVertex(cs, "Plain", {"x": z["flag"]})
    with pytest.raises(graph_connection_error, match=r"Compute set ComputeSet.* is not of this graph"):
        graph.addVertex(ComputeSet(9), "Plain")
    with pytest.raises(unknown_vertex_type, match="'None' is not a vertex type"):
        graph.addVertex(cs, "None")
    assert graph.hasCodelet("Plain")
    assert not graph.hasCodelet("None")


def test_elements_of_fields_before_and_after_their_size() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 4])
    v = graph.addVertex(graph.addComputeSet("cs"), "All", {"one": t[0, 0], "out": t[2, 3], "small": 0, "row": t[0]})
    graph.connect(v["rows"][1], t[1])
    graph.connect(field=v["rows"][0], tensor=t[0, :3])
    with pytest.raises(no_size_specified, match="Vertex 0 of type All in compute set 'cs': field 'rows' has no size"):
        check_graph(graph.store)
    graph.setFieldSize(v["rows"], 2)
    graph.setFieldSize(v["picks"], 2)
    graph.connect(v["picks"][0], t[2, 0])
    graph.connect(v["picks"][1], 7.0)
    graph.connect(v["lists"], [])
    graph.setFieldSize(field=v["table"], size=3)
    graph.setInitialValue(v["table"][2], 9)
    check_graph(graph.store)
    assert edges(graph, "rows") == [[0, 1, 2], [4, 5, 6, 7]]
    assert [len(e) for e in edges(graph, "picks")] == [1, 1]
    assert graph.store.blocks[0].values["table"].tolist() == [[0, 0, 9]]
    graph.setInitialValue(v["table"][0], 5)
    check_graph(graph.store)
    assert graph.store.blocks[0].values["table"].tolist() == [[5, 0, 9]]
    sizes = {name: graph.getFieldSize(v[name]) for name in ("row", "picks", "rows", "lists", "table")}
    assert sizes == {"row": 4, "picks": 2, "rows": 2, "lists": 0, "table": 3}
    assert [graph.getFieldSize(v["rows"][i]) for i in range(2)] == [3, 4]
    assert v["rows"][1].isIndexed()
    assert v["rows"][1].getIndex() == 1
    assert not v["rows"].isIndexed()


def test_connecting_a_whole_tensor_sets_the_size_of_a_vector_of_edges() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 4])
    v = graph.addVertex(graph.addComputeSet("cs"), "All", {"one": t[0, 0], "out": t[2, 3], "small": 0, "lists": []})
    for name, tensors in (("picks", t[0]), ("rows", [t[0], t[1], t[2, :2]])):
        graph.setFieldSize(v[name], 2)
        graph.connect(v[name], tensors)
    graph.setFieldSize(v["row"], 2)
    graph.connect(v["row"], t[0, :2])
    graph.setInitialValue(v["table"], [1])
    check_graph(graph.store)
    assert [graph.getFieldSize(v[name]) for name in ("picks", "rows", "row")] == [4, 3, 2]
    assert [len(e) for e in edges(graph, "rows")] == [4, 4, 2]

    w = graph.addVertex(graph.addComputeSet("other"), "All", {"one": t[0, 0], "out": t[1, 3], "small": 0, "lists": []})
    graph.setFieldSize(w["row"], 3)
    graph.connect(w["row"], t[0])  # one edge, whose size nothing sets anew
    with pytest.raises(graph_connection_error, match="field 'row' was given 3 elements, but 4 are connected"):
        check_graph(graph.store)


def test_wrong_sizes_and_elements() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 4])
    cs = graph.addComputeSet("cs")
    w = graph.addVertex(cs, "All")
    graph.setFieldSize(w["rows"], 2)
    graph.connect(w["rows"][1], t[0])
    with pytest.raises(graph_connection_error, match=r"Vertex 0 .*: field 'rows': element 0 of 2 is not connected"):
        check_graph(graph.store)
    v = graph.addVertex(cs, "All")
    graph.connect(v["picks"][0], t[0, 0])
    with pytest.raises(graph_connection_error, match="element 0 of field 'picks' is connected twice"):
        graph.connect(v["picks"][0], t[0, 1])
    with pytest.raises(no_size_specified, match="field 'rows' has no size yet; call setFieldSize"):
        graph.getFieldSize(v["rows"])
    graph.connect(v["picks"][5], t[0, 1])
    with pytest.raises(index_error, match="field 'picks' has 2 elements; there is no element 5"):
        graph.setFieldSize(v["picks"], 2)
    u = graph.addVertex(cs, "All", {"row": t[0]})
    with pytest.raises(graph_connection_error, match="field 'row' has 4 elements; its size cannot become 3"):
        graph.setFieldSize(u["row"], 3)
    with pytest.raises(graph_connection_error, match="An element of field 'rows' of All needs a tensor of rank 1"):
        graph.connect(u["rows"][0], t)
    with pytest.raises(graph_connection_error, match=r"Field 'one' of All is one element; it has no"):
        graph.connect(u["one"][0], t[0, 0])
    with pytest.raises(index_error, match="Field 'rows' of All has no element -1"):
        u["rows"][-1]
    with pytest.raises(index_error, match=r"Field 'rows' of All has no element \[1\]\[2\]"):
        u["rows"][1][2]
    with pytest.raises(index_error, match="reference to field 'rows' is to the whole field"):
        u["rows"].getIndex()
    with pytest.raises(index_error, match="field 'rows' cannot have -1 elements"):
        graph.setFieldSize(u["rows"], -1)
    with pytest.raises(index_error, match="field 'row' holds at most 4095 elements, not 4096"):
        graph.setFieldSize(graph.addVertex(cs, "All")["row"], 4096)
    with pytest.raises(index_error, match="field 'row' has no inner vector 0"):
        graph.getFieldSize(u["row"][0])
    with pytest.raises(poplar_error, match="Field 'small' of All is not indexable"):
        graph.setFieldSize(u["small"], 1)
    with pytest.raises(type_error, match="takes float elements, but the tensor holds int"):
        graph.connect(u["picks"][0], graph.addVariable(INT, []))
    with pytest.raises(graph_connection_error, match="connect has no overload for"):
        graph.connect(t, u["row"])  # type: ignore[call-overload]


def test_limits_of_dimensions_and_values() -> None:
    graph = new_graph()
    assert graph.getMaxFieldDim("All", "row", 0) == 4095
    assert graph.getMaxFieldDim("Plain", "x", 0) == 2**32 - 1
    assert graph.getMaxFieldDim("All", "rows", 0) == 2**32 - 1
    per_tile = graph.getTarget().getBytesPerTile()
    assert graph.getMaxFieldDim(vertexName="All", fieldName="rows", dimIndex=1) == per_tile // 4
    assert graph.getMaxVertexFieldValue("All", "small") == 255
    assert graph.getMaxVertexFieldValue("All", "table") == 65535
    assert graph.getMaxVertexFieldValue("Plain", "h") == 65504
    assert graph.getMaxVertexFieldValue("Plain", "flag") == 1
    assert graph.getMaxVertexFieldValue("Eight", "x") == 57344
    assert graph.getMaxVertexFieldValue(vertexName="Plain", fieldName="x") == pytest.approx(3.4028235e38)
    with pytest.raises(index_error, match="Field 'row' of All has 1 dimensions; there is no 1"):
        graph.getMaxFieldDim("All", "row", 1)
    for name in ("one", "small"):
        with pytest.raises(poplar_error, match=f"Field '{name}' of All is not indexable"):
            graph.getMaxFieldDim("All", name, 0)
    with pytest.raises(unknown_field, match="All has no field 'nothing'"):
        graph.getMaxVertexFieldValue("All", "nothing")


def test_values_of_fields() -> None:
    graph = new_graph()
    cs = graph.addComputeSet()
    v = graph.addVertex(cs, "Plain")
    graph.setInitialValue(field=v["flag"], val=True)
    graph.setInitialValueHalf(v["h"], 0x3C00)
    w = graph.addVertex(cs, "All")
    graph.setInitialValue(w["table"], [1, 65535])
    assert v.builder.fields.values["h"][0] == 1.0
    halves = graph.addVertex(cs, "Halves")
    graph.setInitialValueHalf(halves["table"], [0x3C00, 0x3800])
    assert halves.builder.fields.values["table"][0].tolist() == [1.0, 0.5]
    assert w.builder.fields.values["table"][0].tolist() == [1, 65535]
    with pytest.raises(overflow_error, match="256 does not fit field 'small' of All: unsigned char holds 0 to 255"):
        graph.setInitialValue(w["small"], 256)
    with pytest.raises(overflow_error, match="-1 does not fit field 'small'"):
        graph.setInitialValue(w["small"], -1)
    with pytest.raises(type_error, match="'x' is not a value for field 'small' of All"):
        graph.setInitialValue(w["small"], "x")
    with pytest.raises(unknown_field, match="All has no simple field 'row'"):
        graph.setInitialValue(w["row"], 1)
    u = graph.addVertex(cs, "All")
    graph.setFieldSize(u["table"], 2)
    with pytest.raises(type_error, match="field 'table' has 2 elements, got 3 values"):
        graph.setInitialValue(u["table"], [1, 2, 3])
    with pytest.raises(poplar_error, match="setInitCallback: field 'row' of All is an edge"):
        graph.setInitCallback(u["row"], lambda: 1)
    with pytest.raises(graph_connection_error, match="3 for field 'small' cannot be called"):
        graph.setInitCallback(u["small"], 3)  # type: ignore[arg-type]


def test_quarter_fields_bring_their_metadata() -> None:
    graph = new_graph()
    metadata = createVariableMetadataTensor(graph, QuarterMetadata.Format.F143, 1)
    x = graph.addVariable(QUARTER, metadata, [4])
    y = graph.addVariable(QUARTER, [4])
    cs = graph.addComputeSet()
    v = graph.addVertex(cs, "Eight", {"x": x, "rows": [x[:2], x[2:]], "y": y})
    check_graph(graph.store)
    assert edges(graph, "x.metadata") == edges(graph, "rows.metadata") == [metadata.regions()[0].tolist()]
    assert edges(graph, "y.metadata") == [y.getMetadata().regions()[0].tolist()]
    assert v.builder.type.fields_by_name["y.metadata"].direction == "in"
    with pytest.raises(tensor_metadata_error, match="field 'rows' has tensors with different metadata"):
        graph.addVertex(cs, "Eight", {"rows": [x, y]})


def test_what_estimators_see() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 4])
    seen: list[object] = []

    def estimate(vertex, target):  # type: ignore[no-untyped-def]
        rows, row, table = (vertex.getFieldInfo(name) for name in ("rows", "row", "table"))
        seen.append([rows.name(), rows.rank(), rows.size(), rows.getSizeAtIndex(1)])
        seen.append([row.rank(), row.size(), row.getProfilerVectorLayout(0)])
        seen.append([rows.getProfilerVectorLayout(0), rows.getProfilerVectorLayout(1)])
        seen.append([vertex.getFieldInfo("lists").getProfilerVectorListLayout(), rows.getProfilerVectorListLayout()])
        seen.append(
            [table.rank(), table.getInitialValues(target), vertex.getFieldInfo("small").getInitialValue(target)]
        )
        seen.append([vertex.getFieldInfo("one").rank(), vertex.getFieldInfo("one").getProfilerVectorLayout()])
        with pytest.raises(index_error, match="Field 'rows' has 2 inner vectors; there is no 2"):
            rows.getSizeAtIndex(2)
        with pytest.raises(missing_perf_estimate, match="Field 'row' has no value"):
            row.getInitialValue(target)
        with pytest.raises(unknown_field, match="All has no field 'other'"):
            vertex.getFieldInfo("other")
        return VertexPerfEstimate(123, 4)

    graph.registerPerfEstimator("All", estimate)
    v = graph.addVertex(graph.addComputeSet(), "All")
    rest(graph, v)
    graph.setInitialValue(v["small"], 3)
    graph.setInitialValue(v["table"], [7, 8])
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(123, 4)
    vector, lists = layout.Vector, layout.VectorList
    assert seen == [
        ["rows", 2, 2, 2],
        [1, 2, vector.ShortSpan],
        [vector.Span, vector.OnePtr],
        [lists.DeltaN, lists.OnePtr],
        [1, [7, 8], 3],
        [0, vector.NotAVector],
    ]
    assert layout.to_string(vector.ScaledPtr64) == "ScaledPtr64"
    graph.setPerfEstimate(v, 50)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(50, 0)
    graph.setPerfEstimate(v=v, estimate=VertexPerfEstimate(51, 2))
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(51, 2)
    graph.setPerfEstimate(v, cycles=52, flops=3)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(52, 3)
    with pytest.raises(poplar_error, match="-1 cycles and 0 flops are not whole numbers from 0 to"):
        graph.setPerfEstimate(v, -1)
    assert concat(t[0], t[1]).numElements() == 8


def test_external_exchange_vertices() -> None:
    graph = new_graph(4)
    t = graph.addVariable(FLOAT, [4])
    graph.setTileMapping(t, 0)
    cs, other = graph.addComputeSet("io"), graph.addComputeSet("plain")
    v = graph.addExternalExchangeVertex(cs, "Plain", 3, True, True)
    graph.addVertex(other, "Plain")
    block = v.builder.block
    assert (block.external[0].incoming_down_count, block.external[0].uses_east_edge) == (3, True)
    with pytest.raises(graph_object_creation_error, match="Compute set 'io' cannot hold external exchange vertices"):
        graph.addVertex(cs, "All")
    with pytest.raises(graph_object_creation_error, match="Compute set 'plain' cannot hold external exchange"):
        graph.addExternalExchangeVertex(other, "Plain", 0, False, False)
    with pytest.raises(graph_object_creation_error, match="INCOMING_DCOUNT cannot be -1"):
        graph.addExternalExchangeVertex(cs, "Plain", -1, False, False)
    graph.setTileMapping(v, 1)
    for name, value in (("x", t), ("out", graph.addConstant(FLOAT, [], 0.0)), ("flag", False), ("h", 0)):
        if name == "out":
            with pytest.raises(graph_connection_error, match="Field 'out' of Plain is written, but its tensor holds a"):
                graph.connect(v[name], value)
        elif name == "x":
            graph.connect(v[name], value)
        else:
            graph.setInitialValue(v[name], value)


def external(graph: Graph, cs: ComputeSet, tile: int, sends_xreq: bool = False) -> None:
    t = graph.addVariable(FLOAT, [3])
    graph.setTileMapping(t, tile)
    v = graph.addExternalExchangeVertex(cs, "Plain", 1, False, sends_xreq)
    graph.connect(v["x"], t[:2])
    graph.connect(v["out"], t[2])
    graph.setInitialValue(v["flag"], True)
    graph.setInitialValue(v["h"], 0)
    graph.setTileMapping(v, tile)


def test_tiles_of_external_exchange_vertices_are_synchronised_first() -> None:
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph = Graph(device)
    graph.addCodelets([Plain])
    cs = graph.addComputeSet("io")
    for tile in (0, 2):
        external(graph, cs, tile, tile == 2)
    engine = Engine(graph, Execute(cs))
    compilation = engine.executable.compiled.compilation
    rows = [row for row, name in enumerate(compilation.programs.name) if name == "io"]
    assert len(rows) == 1
    assert compilation.programs.type[rows[0] - 1] == "Sync"
    engine.load(device)
    engine.run()


def test_registers_of_external_exchange_vertices_take_cycles() -> None:
    """On 1,472 tiles, 0 lies on the west side of the chip and 1,471, island 22 of its column, on the east side."""
    graph = Graph(IPUModel().createDevice())
    graph.addCodelets([Plain])
    places = {(tile, east, count): None for tile in (0, 1471) for east in (False, True) for count in (0, 1, 5, 1 << 20)}
    sets = []
    for tile, east, count in places:
        cs = graph.addComputeSet("io")
        t = graph.addVariable(FLOAT, [3])
        v = graph.addExternalExchangeVertex(cs, "Plain", count, east, False)
        for field, what in (("x", t[:2]), ("out", t[2])):
            graph.connect(v[field], what)
        for field, state in (("flag", True), ("h", 0)):
            graph.setInitialValue(v[field], state)
        graph.setTileMapping(t, tile)
        graph.setTileMapping(v, tile)
        graph.setPerfEstimate(v, 100)
        sets.append(Execute(cs))
    with Engine(graph, Sequence(sets)) as engine:
        lowered = engine.executable.compiled.lowered
    cycles = [lowered.cycles[row] for row, cs in enumerate(lowered.table.compute_set) if cs >= 0]
    for (tile, east, count), column in zip(places, cycles, strict=True):
        assert column is not None
        setting = 6 * (5 if count >= 1 << 20 else 4)  # one instruction every six cycles
        pipeline, across, along = 31, 36 * ((tile == 0) == east), 22 * (tile == 1471)
        arriving = pipeline + across + along + count if count else 0
        assert column[tile] == 6 * 100 + setting + arriving, (tile, east, count)
        assert np.count_nonzero(column) == 1


def test_rules_of_external_exchange_vertices() -> None:
    for tiles, message in (
        ([(0, False), (0, False)], "Compute set 'io' has more than one external exchange vertex on tile 0"),
        ([(0, True), (1, True)], "Tiles 0 and 1 both send the XREQ packet of exchange block context 0 on IPU 0"),
    ):
        graph = new_graph(4)
        cs = graph.addComputeSet("io")
        for tile, sends in tiles:
            external(graph, cs, tile, sends)
        with pytest.raises(graph_object_creation_error, match=message):
            Engine(graph, Execute(cs))
    graph = new_graph(4)
    first, second = graph.addComputeSet("first"), graph.addComputeSet("second")
    external(graph, first, 0, True)
    external(graph, second, 1, True)
    with pytest.raises(graph_object_creation_error, match="the second in compute set 'second'"):
        Engine(graph, Sequence(Execute(first), Execute(second)))


class Late(Vertex):
    x = Input(Vector(FLOAT))
    out = Output(FLOAT)
    size = UNSIGNED_SHORT
    bytes_ = INT

    def compute(self):
        self.out = self.size + 1000 * self.bytes_

    @classmethod
    def estimate(cls, sizes, values, target):
        return 5 + values["size"]


def test_init_callbacks_are_called_when_the_graph_is_built() -> None:
    model = IPUModel()
    model.tilesPerIPU = 2
    device = model.createDevice()
    graph = Graph(device)
    graph.addCodelets(Late)
    t = graph.addVariable(FLOAT, [6], VariableMappingMethod.LINEAR)
    out = graph.addVariable(FLOAT, [2], VariableMappingMethod.LINEAR)
    cs = graph.addComputeSet()
    calls: list[str] = []
    for i in range(2):
        v = graph.addVertex(cs, "Late", {"x": t[: 2 + i], "out": out[i]})
        graph.setTileMapping(v, i)
        graph.setInitialValue(v["size"], 1)
        if i:
            graph.setInitCallback(v["size"], lambda info: calls.append("a") or info.storage["x"][0].numElements)
            graph.setInitCallback(field=v["bytes_"], callback=lambda: 7)
        else:
            graph.setInitialValue(v["bytes_"], 2)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(6)
    graph.createHostRead("out", out)
    assert calls == []
    engine = Engine(graph, Execute(cs))
    assert calls == ["a"]
    engine.load(device)
    engine.run()
    result = np.zeros(2, np.float32)
    engine.readTensor("out", result)
    assert result.tolist() == [2001, 7003]
    graph.setInitCallback(v["size"], lambda: 70000)
    with pytest.raises(overflow_error, match="70000 does not fit field 'size' of Late"):
        Engine(graph, Execute(cs))


def test_fields_connected_to_fields_that_are_connected_later() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [4])
    first, cs = graph.addComputeSet("first"), graph.addComputeSet("cs")
    a = graph.addVertex(first, "Plain", {"flag": True, "h": 1, "out": t[0]})
    link = a["x"]
    for out in (t[0], t[3]):
        link = graph.addVertex(cs, "Plain", [("x", link, False), ("flag", True), ("h", 1), ("out", out)])["x"]
    with pytest.raises(graph_connection_error, match=r"field 'x' is connected to field 'x' of VertexRef.* to nothing"):
        check_graph(graph.store)
    graph.connect(a["x"], t[1:3])
    check_graph(graph.store)
    assert edges(graph, "x", 0, 1) == edges(graph, "x", 1, 1) == [[1, 2]]
    with pytest.raises(unknown_field, match="Plain has no field 'y'"):
        graph.addVertex(cs, "Plain", [("y", a["x"], False)])
