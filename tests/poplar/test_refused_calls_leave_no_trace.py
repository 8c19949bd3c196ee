"""A call that raises leaves the graph as it was: random sequences of calls, some of which are refused, against a twin
that never saw those; and single calls on graphs of which every column is compared."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.codelets.vertex import InOut, Input, Output, Vector, VectorList, Vertex, vertex_type
from simulator.poplar import (
    FLOAT,
    INT,
    QUARTER,
    Engine,
    Graph,
    IPUModel,
    SerializationFormat,
    Tensor,
    VertexRef,
    poplar_error,
)
from simulator.poplar.program import Execute, Sequence
from tests.example_profiles import costly
from tests.poplar.graph_state import state_of

TILES = 4


class Weighted(Vertex):
    x = Input(Vector(FLOAT))
    rows = Input(VectorList(FLOAT))
    parts = Vector(Input(FLOAT))
    table = Vector(INT)
    scale = FLOAT
    y = Output(FLOAT)

    def compute(self) -> None:
        self.y = self.scale * self.x.sum() + sum(r.sum() for r in self.rows) + sum(self.parts) + self.table.sum()

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 10 + 3 * sizes["x"] + 5 * sizes["rows"] + 7 * sizes["parts"]


class Bytes(Vertex):
    q = Input(Vector(QUARTER))
    y = InOut(Vector(FLOAT))

    def compute(self) -> None: ...


class OtherBytes(Vertex):
    name = "Bytes"
    q = Input(FLOAT)

    def compute(self) -> None: ...


class Unknown(Vertex):
    y = Output(FLOAT)

    def compute(self) -> None: ...


class Built:
    """A graph that grows by calls that are accepted and calls that are refused."""

    def __init__(self) -> None:
        model = IPUModel("ipu2")
        model.tilesPerIPU = TILES
        self.device = model.createDevice()
        self.graph = Graph(self.device)
        self.graph.addCodelets([Weighted, Bytes])
        self.x = self.graph.addVariable(FLOAT, [16], "x")
        self.y = self.graph.addVariable(FLOAT, [16], "y")
        self.n = self.graph.addVariable(INT, [4], "n")
        for t in (self.x, self.y, self.n):
            self.graph.setTileMapping(t, 0)
        self.cs = self.graph.addComputeSet("cs")
        self.vertices: list[VertexRef] = []

    def complete(self, a: int) -> dict[str, Any]:
        x = self.x
        rows = [x[: a + 1], x[a : a + 2]] if a % 2 else []
        return {"x": x[: a + 1], "rows": rows, "parts": x[a : a + 3], "table": [a, 2], "scale": 0.5, "y": self.out}

    @property
    def out(self) -> Tensor:
        return self.y[len(self.vertices)]

    def run(self) -> tuple[list[float], list[int], dict[str, Any]]:
        """Results, cycles of each step, and the serialized graph."""
        for t in (self.x, self.y):
            self.graph.createHostRead(f"read {t.getVarStr()}", t)
        text = io.StringIO()
        self.graph.serialize(text, SerializationFormat.JSON)
        with Engine(self.graph, Sequence(Execute(self.cs)), {"debug.retainDebugInformation": "true"}) as engine:
            engine.load(self.device)
            engine.run(0)
            results = np.zeros(16, np.float32)
            engine.readTensor("read y", results)
            steps = engine.getReport().execution.steps
            cycles = [sum(ipu.cycles for ipu in step.ipus) for step in steps]
        return results.tolist(), cycles, json.loads(text.getvalue())


def add_vertex(b: Built, a: int, c: int) -> None:
    v = b.graph.addVertex(b.cs, "Weighted", b.complete(a))
    b.graph.setTileMapping(v, c % TILES)
    b.vertices.append(v)


def add_by_parts(b: Built, a: int, c: int) -> None:
    fields = b.complete(a)
    v = b.graph.addVertex(b.cs, "Weighted", {"scale": fields.pop("scale"), "x": [1.0] * (a + 1)})
    fields.pop("x")
    for i in range(2):
        b.graph.setInitialValue(v["table"][i], fields["table"][i])
    b.graph.setFieldSize(v["table"], 2)
    fields.pop("table")
    b.graph.setFieldSize(v["parts"], 3)
    for i, part in enumerate(fields.pop("parts")):
        b.graph.connect(v["parts"][i], part)
    for name, what in fields.items():
        b.graph.connect(v[name], what)
    b.graph.setTileMapping(v, c % TILES)
    b.vertices.append(v)


def set_values(b: Built, a: int, c: int) -> None:
    b.graph.setInitialValue(b.x[a : a + 2], [c, a])


def map_tensor(b: Built, a: int, c: int) -> None:
    b.graph.setTileMapping(b.x, [[(0, a)], [], [(a, 16)]])
    b.graph.setTileMapping(b.y[c], c % TILES)


def half_connected(b: Built, **fields: Any) -> VertexRef:
    """A vertex of a compute set of its own, with some fields connected."""
    return b.graph.addVertex(b.graph.addComputeSet("other"), "Weighted", fields)


ACCEPTED: list[Callable[[Built, int, int], None]] = [add_vertex, add_by_parts, set_values, map_tensor]


def vertex_of(b: Built, c: int) -> VertexRef:
    return b.vertices[c % len(b.vertices)] if b.vertices else half_added(b)


def half_added(b: Built) -> VertexRef:
    raise poplar_error("there is no vertex yet")


def longer(values: Any) -> Any:
    return np.concatenate([np.asarray(values), np.asarray(values)])


#: Calls that are refused, most of them after a part of what they say could have been done.
REFUSED: dict[str, Callable[[Built, int, int], object]] = {
    "a field that is not there": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", {**b.complete(a), "z": b.x}),
    "a first vertex of a type": lambda b, a, c: b.graph.addVertex(
        b.cs, "Bytes", [("y", b.x), ("q", [1.0, 2.0]), ("y", b.y)]
    ),
    "a type of an object": lambda b, a, c: b.graph.addVertex(b.cs, vertex_type(Unknown), {"y": b.x}),
    "a constant twice": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", [("x", [1.0, 2.0]), ("x", [3.0])]),
    "a constant of rank 2": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", {"scale": 1, "x": [[1.0, 2.0]]}),
    "no connection": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", [("x", b.x), 5]),
    "a link, then none": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", [("x", vertex_of(b, c)["x"]), ("y", b.n)]),
    "a second tensor of another type": lambda b, a, c: b.graph.addVertex(b.cs, "Weighted", {"rows": [b.x, b.n]}),
    "connect a list with a wrong last": lambda b, a, c: b.graph.connect(vertex_of(b, c)["rows"], [b.x, b.x[a], b.x]),
    "connect twice": lambda b, a, c: b.graph.connect(b.vertices[-1]["y"], b.x[a]) if b.vertices else half_added(b),
    "a value for an output": lambda b, a, c: b.graph.connect(vertex_of(b, c)["y"], 1.0),
    "a size that it has not": lambda b, a, c: b.graph.setFieldSize(vertex_of(b, c)["table"], 9),
    "an element beyond": lambda b, a, c: b.graph.setInitialValue(vertex_of(b, c)["table"][7], 1),
    "an initial value of a field": lambda b, a, c: b.graph.setInitialValue(vertex_of(b, c)["table"], [1, 2**40]),
    "a fraction": lambda b, a, c: b.graph.setInitialValue(vertex_of(b, c)["table"], [1, 1.5]),
    "initial values too many": lambda b, a, c: b.graph.setInitialValue(b.x[: a + 2], np.ones(a + 3)),
    "initial values too large": lambda b, a, c: b.graph.setInitialValue(b.n, [1, 2, 3, 2**40]),
    "a tile beyond": lambda b, a, c: b.graph.setTileMapping(b.x, [[(0, a)], [], [], [], [(a, 16)]]),
    "an interval beyond": lambda b, a, c: b.graph.setTileMapping(b.x, [[(0, a)], [(a, 17)]]),
    "a tile of a vertex": lambda b, a, c: b.graph.setTileMapping(vertex_of(b, c), TILES),
    "half of the codelets": lambda b, a, c: b.graph.addCodelets([Unknown, OtherBytes]),
    "a quarter shape": lambda b, a, c: b.graph.addVariable(QUARTER, [-1]),
    "a quarter constant": lambda b, a, c: b.graph.addConstant(QUARTER, [3], [1.0, 2.0]),
    "many vertices": lambda b, a, c: b.graph.addVertices(b.cs, vertex_type(Unknown), [0, 1], {"y": b.x[:3]}),
    "an estimate beyond": lambda b, a, c: b.graph.setPerfEstimate(vertex_of(b, c), 2**48),
}

CALLS = st.lists(
    st.tuples(st.sampled_from([*range(len(ACCEPTED)), *REFUSED]), st.integers(0, 9), st.integers(0, 9)), max_size=14
)


@costly()
@given(CALLS)
def test_a_twin_that_never_saw_the_refused_calls_is_the_same(calls: list[tuple[Any, int, int]]) -> None:
    built, twin = Built(), Built()
    for call, a, c in calls:
        if isinstance(call, str):
            with pytest.raises(poplar_error):
                REFUSED[call](built, a, c)
        elif len(built.vertices) < 16:
            for one in (built, twin):
                ACCEPTED[call](one, a, c)
    assert state_of(built.graph)["debug_infos"] == state_of(twin.graph)["debug_infos"]
    assert built.run() == twin.run()


@pytest.mark.parametrize("name", REFUSED)
def test_every_column_is_as_before_a_refused(name: str) -> None:
    built = Built()
    for call in ACCEPTED:
        call(built, 3, 1)
    before = state_of(built.graph)
    with pytest.raises(poplar_error):
        REFUSED[name](built, 3, 1)
    assert state_of(built.graph) == before


@pytest.mark.parametrize(
    ("given", "refused", "then"),
    [
        ({2: 0}, lambda g, v, x: g.setFieldSize(v["parts"], 2), lambda g, v, x: g.setFieldSize(v["parts"], 3)),
        ({0: 0}, lambda g, v, x: g.connect(v["parts"][0], x[1]), lambda g, v, x: g.setFieldSize(v["parts"], 1)),
    ],
)
def test_elements_that_wait_are_as_before(given: dict[int, int], refused: Any, then: Any) -> None:
    built = Built()
    v = half_connected(built)
    for index, element in given.items():
        built.graph.connect(v["parts"][index], built.x[element])
    before = state_of(built.graph)
    with pytest.raises(poplar_error):
        refused(built.graph, v, built.x)
    assert state_of(built.graph) == before
    then(built.graph, v, built.x)
    assert built.graph.getFieldSize(v["parts"]) in (1, 3)


def test_the_corrected_call_after_a_refused_list_connects_only_what_it_says() -> None:
    built = Built()
    v = half_connected(built)
    with pytest.raises(poplar_error, match="takes float elements"):
        built.graph.connect(v["rows"], [built.x[:4], built.n])
    built.graph.connect(v["rows"], [built.x[:4], built.x[4:]])
    assert built.graph.getFieldSize(v["rows"]) == 2
    assert built.graph.getFieldSize(v["rows"][1]) == 12


def test_a_generator_of_connections_may_add_to_the_graph() -> None:
    built = Built()

    def connections() -> Any:
        built.graph.addVertex(built.cs, "Weighted")
        yield "x", built.graph.addVariable(FLOAT, [2])
        yield "nothing", built.x

    with pytest.raises(poplar_error, match="no field 'nothing'"):
        built.graph.addVertex(built.cs, "Weighted", connections())
    assert built.graph.getNumVertices() == 1
    assert len(built.graph.store.variables.base) == 4


SOURCE = "#include <poplar/Vertex.hpp>\nclass {} : public poplar::Vertex {{ public: poplar::Output<float> y;\n{}\n}};"


def test_a_refused_source_is_not_linked(tmp_path: Path) -> None:
    built = Built()
    good, bad = tmp_path / "good.cpp", tmp_path / "bad.cpp"
    good.write_text(SOURCE.format("Good", "void compute() { *y = 1; }"))
    bad.write_text(SOURCE.format("Weighted", "void compute() { *y = 2; }") + "\nextern int nowhere;")
    before = state_of(built.graph)
    with pytest.raises(poplar_error, match="registered as 'Weighted'"):
        built.graph.addCodelets([str(good), str(bad)])
    assert state_of(built.graph) == before
    assert not built.graph.hasCodelet("Good")
    assert built.graph.addCodelets(str(good))
    sources = state_of(built.graph)["codelets"]
    with pytest.raises(poplar_error, match="registered as 'Weighted'"):
        built.graph.addCodelets(str(bad))
    assert state_of(built.graph)["codelets"] == sources
