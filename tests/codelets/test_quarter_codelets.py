"""C++ codelets with QUARTER fields of every kind: bytes inside, metadata by getMetadata()."""

from __future__ import annotations

import io

import numpy as np
import pytest
from graphs import model

from simulator.poplar import (
    FLOAT,
    QUARTER,
    Engine,
    Graph,
    QuarterMetadata,
    convertFromDeviceType,
    convertToDeviceType,
    createConstantMetadataTensor,
)
from simulator.poplar.program import Execute

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152
SOURCE = """
#include <poplar/Vertex.hpp>
#include <poplar/QuarterFloat.hpp>
using namespace poplar;

template <class T>
class Scale : public Vertex {
 public:
  Input<Vector<T>> x;
  Vector<Input<Vector<T, VectorLayout::ONE_PTR>>> rows;
  Vector<Input<T>> parts;
  Input<T> one;
  Input<VectorList<T>> list;
  Output<Vector<T>> y;
  InOut<T> total;
  Output<Vector<float>> exact;
  unsigned width;

  bool compute() {
    const auto in = unpackMetadata(x.getMetadata());
    for (unsigned i = 0; i < y.size(); ++i)
      y[i] = toQuarter(3 * toFloat(x[i], in), unpackMetadata(y.getMetadata()));
    float sum = 0;
    for (unsigned i = 0; i < rows.size(); ++i)
      for (unsigned j = 0; j < width; ++j) sum += toHalf(rows[i][j], unpackMetadata(rows.getMetadata()));
    exact[0] = sum;
    sum = 0;
    for (unsigned i = 0; i < parts.size(); ++i) sum += toFloat(*parts[i], unpackMetadata(parts.getMetadata()));
    exact[1] = sum;
    sum = 0;
    for (unsigned i = 0; i < list.size(); ++i)
      for (unsigned j = 0; j < list[i].size(); ++j) sum += toFloat(list[i][j], unpackMetadata(list.getMetadata()));
    exact[2] = sum;
    exact[3] = quarterToHalf(&*one, unpackMetadata(one.getMetadata()));
    half more = toHalf(*total, unpackMetadata(total.getMetadata())) + toHalf(*one, unpackMetadata(one.getMetadata()));
    *total = halfToQuarter(&more, unpackMetadata(total.getMetadata()));
    return true;
  }
};
template class Scale<quarter>;

class EveryByte : public Vertex {
 public:
  Input<Vector<quarter>> x;
  Output<Vector<float>> out;
  Output<Vector<quarter>> back;
  bool compute() {
    for (unsigned i = 0; i < x.size(); ++i) {
      out[i] = toFloat(x[i], unpackMetadata(x.getMetadata()));
      back[i] = quarterToQuarter(&x[i], unpackMetadata(x.getMetadata()), unpackMetadata(back.getMetadata()));
    }
    return true;
  }
};
"""


def numbers(metadata: QuarterMetadata, raw: np.ndarray) -> np.ndarray:
    return np.asarray(convertFromDeviceType(QUARTER, metadata, raw), np.float32)


@pytest.mark.parametrize("estimated", [True, False])
@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_fields_of_every_kind(options: dict[str, str], estimated: bool) -> None:
    device = model(2)
    graph = Graph(device.getTarget())
    graph.addCodelets(io.StringIO(SOURCE))
    known = {"x": QuarterMetadata(F152, 2), "rows": QuarterMetadata(F143, -1), "y": QuarterMetadata(F143, 0)}
    shapes = {"x": [4], "rows": [2, 3], "parts": [5], "list": [2, 2], "one": [], "y": [4], "total": []}
    rng = np.random.default_rng(4)
    made, raw = {}, {}
    for name, shape in shapes.items():
        metadata = known.setdefault(name, QuarterMetadata(F143, 3))
        tensor = createConstantMetadataTensor(graph, metadata.getFormat(), metadata.getScale())
        made[name] = graph.addVariable(QUARTER, tensor, shape, name)
        graph.setTileMapping(made[name], 1)
        raw[name] = np.asarray(convertToDeviceType(QUARTER, metadata, rng.normal(size=shape).astype(np.float32)))
        graph.createHostWrite(name, made[name])
        graph.createHostRead(name, made[name])
    exact = graph.addVariable(FLOAT, [4], "exact")
    graph.setTileMapping(exact, 0)
    graph.createHostRead("exact", exact)
    cs = graph.addComputeSet("cs")
    vertex = graph.addVertex(cs, "Scale<quarter>", {**made, "exact": exact, "width": 3})
    graph.setTileMapping(vertex, 0)
    if estimated:
        graph.setPerfEstimate(vertex, 10)
    else:
        assert 100 < graph.guessPerfEstimate(vertex).cycles < 1000
    with Engine(graph, Execute(cs), options) as engine:
        engine.load(device)
        for name in shapes:
            engine.writeTensor(name, known[name], np.atleast_1d(raw[name]))
        engine.run(0)
        got, y, total = np.zeros(4, np.float32), np.zeros(4, np.uint8), np.zeros(1, np.uint8)
        engine.readTensor("exact", got)
        engine.readTensor("y", known["y"], y)
        engine.readTensor("total", known["total"], total)
    value = {name: numbers(known[name], raw[name]) for name in shapes}
    wanted = [value["rows"].sum(), value["parts"].sum(), value["list"].sum(), value["one"].sum()]
    np.testing.assert_allclose(got, np.float32(wanted), rtol=1e-6)
    assert (y == np.asarray(convertToDeviceType(QUARTER, known["y"], 3 * value["x"]))).all()
    assert total == np.asarray(convertToDeviceType(QUARTER, known["total"], value["total"] + value["one"]))


@pytest.mark.parametrize(("from_", "to"), [((F143, 0), (F152, 5)), ((F152, -3), (F143, 4)), ((F143, 7), (F143, -2))])
def test_every_byte_is_converted_as_pythons_codelets_have_it(from_, to) -> None:
    device = model(1)
    graph = Graph(device.getTarget())
    graph.addCodelets(io.StringIO(SOURCE))
    one, other = (createConstantMetadataTensor(graph, *given) for given in (from_, to))
    x = graph.addVariable(QUARTER, one, [256], "x")
    back = graph.addVariable(QUARTER, other, [256], "back")
    out = graph.addVariable(FLOAT, [256], "out")
    cs = graph.addComputeSet("cs")
    vertex = graph.addVertex(cs, "EveryByte", {"x": x, "out": out, "back": back})
    for thing in (x, back, out, vertex):
        graph.setTileMapping(thing, 0)
    graph.setPerfEstimate(vertex, 1)
    graph.createHostWrite("x", x)
    graph.createHostRead("out", out)
    graph.createHostRead("back", back)
    source, target = QuarterMetadata(*from_), QuarterMetadata(*to)
    with Engine(graph, Execute(cs)) as engine:
        engine.load(device)
        engine.writeTensor("x", source, np.arange(256, dtype=np.uint8))
        engine.run(0)
        got, bytes_ = np.zeros(256, np.float32), np.zeros(256, np.uint8)
        engine.readTensor("out", got)
        engine.readTensor("back", target, bytes_)
    wanted = numbers(source, np.arange(256, dtype=np.uint8))
    np.testing.assert_array_equal(got, wanted)
    assert (bytes_ == np.asarray(convertToDeviceType(QUARTER, target, wanted))).all()
