"""Outputs of graphs: dot files as `dot` reads them, Cap'n Proto messages as `capnp` reads them."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import popvision.formats
from popvision.formats.capnp_stream import message_sizes
from popvision.formats.serialized_graph import read_serialized_graph
from simulator.codelets.vertex import InOut, Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    QUARTER,
    Graph,
    SerializationFormat,
    Target,
    TargetType,
    Tensor,
    concat,
    parse_error,
    poplar_error,
)
from simulator.poplar.program import Call, Copy, Execute, If, Program, Repeat, Sequence

SCHEMAS = Path(popvision.formats.__file__).parent
BINARY, JSON = SerializationFormat.Binary, SerializationFormat.JSON


class Add(Vertex):
    x = Input(Vector(FLOAT))
    acc = InOut(FLOAT)
    out = Output(FLOAT)

    def compute(self):
        self.out = self.acc


def new_graph(tiles: int = 4) -> Graph:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles))
    graph.addCodelets(Add)
    return graph


def example() -> tuple[Graph, dict[str, Tensor], list[Program]]:
    """Two compute sets, one of them called in a function and a branch; copies; variables that nothing uses."""
    graph = new_graph()
    t = {name: graph.addVariable(FLOAT, [4], name) for name in ("x", "acc", "out", 'odd "name"')}
    for _ in range(3):
        graph.addVariable(INT, [7], "spare")
    graph.addVariable(INT, [8], "spare")
    for tensor in t.values():
        graph.setTileMapping(tensor, 1)
    first, second = graph.addComputeSet("first"), graph.addComputeSet("second")
    for cs, n in ((first, 2), (second, 1)):
        for i in range(n):
            v = graph.addVertex(cs, "Add", {"x": t["x"], "acc": t["acc"][i], "out": t["out"][i]})
            graph.setTileMapping(v, i)
    stream = graph.addHostToDeviceFIFO("feed", FLOAT, 4)
    flag = graph.addVariable(INT, [], "flag")
    graph.setTileMapping(flag, 0)
    f = graph.addFunction(Sequence(Execute(second), Copy(t["out"], t['odd "name"'])))
    once = [Execute(first), Copy(stream, t["x"]), Repeat(2, Call(f)), If(flag, Call(f), Sequence())]
    return graph, t, [Sequence(*once)]


def drawn(text: str) -> dict[str, dict[str, object]]:
    """Nodes and clusters by name, as dot lays them out."""
    done = subprocess.run(["dot", "-Tjson"], input=text, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def edges(picture: dict[str, object]) -> set[tuple[str, str, str]]:
    names = {o["_gvid"]: o["name"] for o in picture["objects"]}  # type: ignore[attr-defined]
    found = picture.get("edges", [])
    return {(names[e["tail"]], names[e["head"]], e.get("color", "")) for e in found}  # type: ignore[attr-defined]


def test_the_compute_graph() -> None:
    graph, t, programs = example()
    out = io.StringIO()
    graph.outputComputeGraph(out, programs)
    picture = drawn(out.getvalue())
    nodes = {o["name"]: o for o in picture["objects"]}  # type: ignore[attr-defined]
    number = {name: f"v{tensor.getVarRegions()[0].var.id}" for name, tensor in t.items()}
    assert nodes[number["x"]]["label"] == "x [4]"
    assert nodes[number["x"]]["fillcolor"] == "palegreen"
    assert nodes["cs0"]["label"] == "2 vertices"
    assert nodes["cs1"]["label"] == "1 vertex"
    assert nodes["cs0"]["fillcolor"] == "orange"
    assert (nodes["cluster_cs0"]["label"], nodes["cluster_cs0"]["color"]) == ("first", "lightblue")
    yellow = {o["label"] for o in nodes.values() if o.get("fillcolor") == "yellow"}
    assert yellow == {"spare [7] x 3", "spare [8]", "flag [1]"}
    black = {(number["x"], "cs0"), (number["acc"], "cs0"), ("cs0", number["acc"]), ("cs0", number["out"])}
    black |= {(a.replace("cs0", "cs1"), b.replace("cs0", "cs1")) for a, b in black}
    red = {("stream0", number["x"]), (number["out"], number['odd "name"'])}
    assert edges(picture) == {(*e, "black") for e in black} | {(*e, "red") for e in red}
    assert nodes[number['odd "name"']]["label"] == 'odd "name" [4]'


def test_programs_choose_what_is_drawn() -> None:
    graph, _, programs = example()
    out = io.StringIO()
    graph.outputComputeGraph(out)
    picture = drawn(out.getvalue())
    assert {c for _, _, c in edges(picture)} == {"black"}
    assert {"cs0", "cs1"} <= {o["name"] for o in picture["objects"]}  # type: ignore[attr-defined]
    out = io.StringIO()
    graph.outputComputeGraph(outputStream=out, progs=[programs[0].programs[0]])  # type: ignore[attr-defined]
    names = {o["name"] for o in drawn(out.getvalue())["objects"]}  # type: ignore[attr-defined]
    assert "cs0" in names
    assert "cs1" not in names
    raw = io.BytesIO()
    graph.outputComputeGraph(raw, programs[0])  # type: ignore[arg-type]
    assert raw.getvalue().startswith(b"digraph")


def test_the_vertex_graph() -> None:
    graph, t, programs = example()
    out = io.StringIO()
    graph.outputVertexGraph(out, programs)
    picture = drawn(out.getvalue())
    nodes = {o["name"]: o["label"] for o in picture["objects"]}  # type: ignore[attr-defined]
    assert [nodes[f"vertex{i}"] for i in range(3)] == ["Add 0", "Add 1", "Add 2"]
    x, acc, written = (f"v{t[name].getVarRegions()[0].var.id}" for name in ("x", "acc", "out"))
    pairs = {(a, b) for a, b, _ in edges(picture)}
    assert {(x, "vertex0"), (acc, "vertex1"), ("vertex2", written)} <= pairs
    out = io.StringIO()
    graph.outputVertexGraph(out)
    assert drawn(out.getvalue())["objects"]


def decoded(schema: str, struct: str, message: bytes) -> str:
    done = subprocess.run(
        ["capnp", "decode", str(SCHEMAS / schema), struct], input=message, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


def test_graphs_in_both_formats(tmp_path: Path) -> None:
    graph, t, programs = example()
    text = io.StringIO()
    graph.serialize(text, programs, JSON)
    assert text.getvalue().count("\n") > 50  # pretty printed
    plain = json.loads(text.getvalue())
    path = tmp_path / "graph.capnp"
    with path.open("wb") as file:
        graph.serialize(out=file, progs=programs, format=BINARY)
    read = read_serialized_graph(path)
    assert plain["variable_name"] == read.variable_name == [*t, "spare", "spare", "spare", "spare", "flag"]
    assert plain["variable_elements"] == read.variable_elements.tolist() == [4, 4, 4, 4, 7, 7, 7, 8, 1]
    assert read.compute_set_name == ["first", "second"]
    assert read.vertex_tile.tolist() == [0, 1, 0]
    assert read.field_name == ["x", "acc", "out"] * 2
    out, odd = (tensor.getVarRegions()[0].var.id for tensor in (t["out"], t['odd "name"']))
    assert [c["to"].get("variables") for c in plain["facts"]["copies"]] == [[0], [odd]]
    assert plain["facts"]["copies"][0]["from"] == {"outside": "feed"}
    assert plain["facts"]["copies"][1]["from"] == {"variables": [out], "elements": 4}
    assert read.facts == plain["facts"]
    messages = path.read_bytes()
    (_, head), (at, size) = list(message_sizes(messages))[:2]
    header = decoded("serialized_graph.capnp", "Header", messages[:head])
    assert "codec = " in decoded("serialized_graph.capnp", "Chunk", messages[at : at + size])
    assert 'format = "popvision.graph"' in header
    assert 'name = "variable_elements"' in header
    without = io.BytesIO()
    graph.serialize(without, BINARY)
    assert len(without.getvalue()) < path.stat().st_size
    with pytest.raises(poplar_error, match="needs a file that takes bytes"):
        graph.serialize(io.StringIO(), BINARY)
    with pytest.raises(poplar_error, match="serialize has no overload for"):
        graph.serialize(without)  # type: ignore[call-overload]


def test_tensors_come_back() -> None:
    graph = new_graph()
    a, b = graph.addVariable(FLOAT, [3, 4], "a"), graph.addVariable(FLOAT, [5], "b")
    tensors = [
        a.transpose(),
        concat(b.reverse(0), a[1]),
        b.slice(2, 2),
        a.reinterpret(INT)[2, 3],
        b.broadcast(2, 0),
        graph.addVariable(QUARTER, [2], "q"),
    ]
    file = io.BytesIO()
    graph.serializeTensors(file, tensors, BINARY)
    text = decoded("tensor_views.capnp", "TensorViews", file.getvalue())
    assert 'name = "b"' in text
    assert "shape = [4, 3]" in text
    other = new_graph()
    known = other.addVariable(HALF, [1])
    file.seek(0)
    again = other.deserializeTensors(file, BINARY)
    assert [t.shape() for t in again] == [t.shape() for t in tensors]
    assert [t.elementType() for t in again] == [t.elementType() for t in tensors]
    assert [t.containsAliases() for t in again] == [False, False, False, False, True, False]
    assert again[5].hasMetadata()
    for old, new in zip(tensors, again, strict=True):
        assert not new.intersectsWith(known)
        assert [r.interval for r in new.getVarRegions()] == [r.interval for r in old.getVarRegions()]
        assert new.getContiguousRegions() == old.getContiguousRegions()
    assert again[0].getVarStr() == "a"
    assert again[0].intersectsWith(again[1])
    elements = np.concatenate([t.regions()[1] for t in again])
    assert elements.sum() == sum(t.numElements() for t in again)


def test_tensors_as_json_are_read_by_people_only() -> None:
    graph = new_graph()
    a = graph.addVariable(FLOAT, [2, 3], "a")
    text = io.StringIO()
    graph.serializeTensors(out=text, tensors=[a[:, 1]], format=JSON)
    plain = json.loads(text.getvalue())
    assert plain["variables"] == [{"name": "a", "type": "float", "num_elements": 6}]
    assert plain["tensors"] == [{"type": "float", "shape": [2], "regions": [[0, 1, 1], [0, 4, 1]]}]
    text.seek(0)
    with pytest.raises(poplar_error, match=r"SerializationFormat.JSON cannot be read; serialize with"):
        graph.deserializeTensors(text, JSON)
    with pytest.raises(poplar_error, match=r"serializeTensors: Tensor.float, shape=.1.. is not a tensor of this graph"):
        graph.serializeTensors(io.BytesIO(), [new_graph().addVariable(FLOAT, [1])], BINARY)
    with pytest.raises(poplar_error, match="'json' is not a SerializationFormat"):
        graph.serializeTensors(io.BytesIO(), [a], "json")  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", ["empty", "cut", "noise"])
def test_damaged_tensors_are_one_sentence(damage: str) -> None:
    graph = new_graph()
    file = io.BytesIO()
    graph.serializeTensors(file, [graph.addVariable(FLOAT, [2, 3], "a")], BINARY)
    data = {"empty": b"", "cut": file.getvalue()[:40], "noise": bytes(64)}[damage]
    with pytest.raises(parse_error, match="deserializeTensors: the data cannot be read"):
        graph.deserializeTensors(io.BytesIO(data), BINARY)
