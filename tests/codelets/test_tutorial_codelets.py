"""Codelets like those of the public tutorials, from files, as they are written there."""

import numpy as np
from graphs import model

from simulator.poplar import FLOAT, Engine, Graph
from simulator.poplar.program import Copy, Execute, Sequence

SUFFIX_SUM = """
#include <poplar/Vertex.hpp>

class SumVertex : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> in;
  poplar::Output<float> out;

  bool compute() {
    *out = 0;
    for (const auto &each : in) {
      *out += each;
    }
    return true;
  }
};
"""

PRODUCTS = """
#include <poplar/Vertex.hpp>

using namespace poplar;

// One row.
class DotProductVertex : public Vertex {
public:
  Input<Vector<float>> a;
  Input<Vector<float>> b;
  Output<float> out;

  bool compute() {
    float sum = 0;
    for (unsigned i = 0; i < a.size(); ++i)
      sum += a[i] * b[i];
    *out = sum;
    return true;
  }
};

// Several rows.
class RowsVertex : public Vertex {
public:
  Vector<Input<Vector<float>>> rows;
  Input<Vector<float>> b;
  Vector<Output<float>> out;

  bool compute() {
    for (unsigned r = 0; r < rows.size(); ++r) {
      float sum = 0;
      for (unsigned i = 0; i < rows[r].size(); ++i)
        sum += rows[r][i] * b[i];
      *out[r] = sum;
    }
    return true;
  }
};
"""


def test_suffix_sums(tmp_path) -> None:
    (tmp_path / "codelets.cpp").write_text(SUFFIX_SUM)
    device = model(4)
    graph = Graph(device.getTarget())
    graph.addCodelets(str(tmp_path / "codelets.cpp"))
    v1 = graph.addVariable(FLOAT, [4], "v1")
    v2 = graph.addVariable(FLOAT, [4], "v2")
    for i in range(4):
        graph.setTileMapping(v1[i], i)
        graph.setTileMapping(v2[i], i)
    program = Sequence()
    c1 = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5])
    graph.setTileMapping(c1, 0)
    program.add(Copy(c1, v1))
    cs = graph.addComputeSet("computeSet")
    for i in range(4):
        vtx = graph.addVertex(cs, "SumVertex")
        graph.connect(vtx["in"], v1.slice(i, 4))
        graph.connect(vtx["out"], v2[i])
        graph.setTileMapping(vtx, i)
        graph.setPerfEstimate(vtx, 20)
    program.add(Execute(cs))
    graph.createHostRead("v2", v2)
    with Engine(graph, program) as engine:
        engine.load(device)
        engine.run(0)
        got = np.zeros(4, np.float32)
        engine.readTensor("v2", got)
    assert got.tolist() == [7.0, 6.0, 4.5, 2.5]


def test_matrix_times_vector_with_sums_in_order(tmp_path) -> None:
    (tmp_path / "products.cpp").write_text(PRODUCTS)
    device = model(4)
    graph = Graph(device.getTarget())
    graph.addCodelets(str(tmp_path / "products.cpp"))
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(8, 33)).astype(np.float32), rng.normal(size=33).astype(np.float32)
    matrix, vector = graph.addVariable(FLOAT, [8, 33], "matrix"), graph.addVariable(FLOAT, [33], "vector")
    out = graph.addVariable(FLOAT, [8], "out")
    graph.setTileMapping(vector, 3)
    cs = graph.addComputeSet("mulCS")
    for row in range(4):
        v = graph.addVertex(cs, "DotProductVertex", {"a": matrix[row], "b": vector, "out": out[row]})
        for thing in (v, matrix[row], out[row]):
            graph.setTileMapping(thing, row)
    v = graph.addVertex(cs, "RowsVertex", {"rows": matrix[4:8], "b": vector, "out": out[4:8]})
    for thing in (v, matrix[4:8], out[4:8]):
        graph.setTileMapping(thing, 2)
    graph.setInitialValue(matrix, a)
    graph.setInitialValue(vector, b)
    graph.createHostRead("out", out)
    with Engine(graph, Execute(cs)) as engine:
        engine.load(device)
        engine.run(0)
        got = np.zeros(8, np.float32)
        engine.readTensor("out", got)
    wanted = np.zeros(8, np.float32)
    for i in range(33):  # float sums from the first element to the last
        wanted = (wanted + a[:, i] * b[i]).astype(np.float32)
    assert (got == wanted).all()
