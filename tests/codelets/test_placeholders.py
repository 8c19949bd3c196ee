"""addCodeletPlaceholder: code from other sources, memory constraints, malformed descriptions."""

import io

import pytest
from graphs import Bench, model

from simulator.codelets.vertex import Input as PyInput
from simulator.codelets.vertex import Output as PyOutput
from simulator.codelets.vertex import Vector as PyVector
from simulator.codelets.vertex import Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    Graph,
    graph_object_load_error,
    link_error,
    memory_elem_constraints_error,
    parse_error,
)

HEAD = "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"

PLACEHOLDER = """[{ "name": "ns::Later", "type": "Vertex",
  "fields": { "in": "Input<Vector<half>>", "out": "Output<Vector<float, ONE_PTR, 8>>" },
  "constraints": [ "elem(*in) != elem(*out)" ] }]"""
CODE = """#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
struct Later { poplar::Input<poplar::Vector<half>> in; poplar::Output<poplar::Vector<float>> out; };
extern "C" void __runCodelet_ns__Later(Later *vertex) {
  for (unsigned i = 0; i < vertex->in.size(); ++i) vertex->out[i] = vertex->in[i] * 4;
}
"""


def later(bench: Bench) -> None:
    bench.graph.addCodeletPlaceholder(io.StringIO(PLACEHOLDER))
    fields = {"in": bench.tensor("in", HALF, [1, 2, 3]), "out": bench.tensor("out", FLOAT, [0, 0, 0])}
    bench.graph.setPerfEstimate(bench.vertex("ns::Later", fields), 10)


def test_the_code_of_a_placeholder_is_a_function() -> None:
    bench = Bench()
    later(bench)
    with pytest.raises(link_error, match="'__runCodelet_ns__Later' is not defined by any source"):
        bench.engine()
    bench.graph.addCodelets(io.StringIO(CODE))
    assert bench.run(["out"])[0].tolist() == [4, 8, 12]


def test_the_code_of_a_placeholder_is_a_python_class() -> None:
    class Later(Vertex):
        name = "ns::Later"
        in_ = PyInput(PyVector(HALF))
        out = PyOutput(PyVector(FLOAT))

        def compute(self) -> None:
            self.out[:] = self.in_ * 5

    bench = Bench()
    later(bench)
    assert bench.graph.addCodelets(Later) is True
    assert bench.run(["out"])[0].tolist() == [5, 10, 15]


def test_the_code_of_a_placeholder_is_a_class() -> None:
    bench = Bench()
    later(bench)
    source = HEAD + "#include <poplar/HalfFloat.hpp>\nnamespace ns { class Later : public Vertex {\n"
    source += " public: Input<Vector<half>> in; Output<Vector<float, VectorLayout::ONE_PTR, 8>> out;\n"
    source += " bool compute() { for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * 6; return true; } }; }"
    bench.graph.addCodelets(io.StringIO(source))
    assert bench.run(["out"])[0].tolist() == [6, 12, 18]


REDECLARED = (
    HEAD
    + """#include <poplar/HalfFloat.hpp>
namespace ns { class Later : public Vertex { public:
  static const bool isExternalCodelet = true;
  Input<Vector<half>> in; Output<Vector<float, VectorLayout::ONE_PTR, 8>> out;
  bool compute();
}; }
extern "C" void __runCodelet_ns__Later(ns::Later *vertex) {
  for (unsigned i = 0; i < vertex->in.size(); ++i) vertex->out[i] = vertex->in[i] * 7;
}
"""
)


def test_a_source_may_declare_a_placeholder_again_as_external() -> None:
    bench = Bench()
    later(bench)
    assert bench.graph.addCodelets(io.StringIO(REDECLARED)) is False
    bench.graph.addCodeletPlaceholder(io.StringIO(PLACEHOLDER))
    assert bench.run(["out"])[0].tolist() == [7, 14, 21]
    other = Bench()
    assert other.graph.addCodelets(io.StringIO(REDECLARED)) is True
    later(other)
    assert other.run(["out"])[0].tolist() == [7, 14, 21]
    with pytest.raises(graph_object_load_error, match="Another codelet is registered as 'ns::Later'"):
        other.graph.addCodeletPlaceholder(io.StringIO(PLACEHOLDER.replace("half", "float")))


def test_constraints_keep_operands_in_memory_elements_apart(tmp_path) -> None:
    bench = Bench()
    later(bench)
    bench.graph.addCodelets(io.StringIO(CODE))
    reports = {"autoReport.outputLoweredVars": "true", "autoReport.directory": str(tmp_path)}
    with bench.engine(None, reports) as engine:
        tile, names = (
            engine.executable.compiled.compilation.lowered[0],
            engine.executable.compiled.compilation.lowered_names,
        )
    at = {names[int(n)]: int(a) // (16 * 1024) for n, a in zip(tile.name, tile.address, strict=True)}
    assert at["in"] != at["out"]
    same = Bench()
    same.graph.addCodelets(
        io.StringIO(
            HEAD + 'class [[poplar::constraint("elem(*a) != elem(*b)")]] Both : public Vertex {\n'
            " public: Input<Vector<float>> a; Input<Vector<float>> b; bool compute() { return true; } };"
        )
    )
    x = same.tensor("x", FLOAT, [1, 2, 3])
    same.graph.setPerfEstimate(same.vertex("Both", {"a": x, "b": x[1:]}), 1)
    with pytest.raises(memory_elem_constraints_error, match=r"tile 0.*'a' and 'b'.*same element of variable 'x'"):
        same.engine()


def test_regions_apart(tmp_path) -> None:
    source = (
        HEAD
        + """class [[poplar::constraint("region(*a) != region(*b)")]] Far : public Vertex {
 public: Input<Vector<float>> a; Input<Vector<float>> b; bool compute() { return true; } };"""
    )
    bench = Bench()
    bench.graph.addCodelets(io.StringIO(source))
    fields = {name: bench.tensor(name, FLOAT, [1, 2, 3]) for name in "ab"}
    bench.graph.setPerfEstimate(bench.vertex("Far", fields), 1)
    reports = {"autoReport.outputLoweredVars": "true", "autoReport.directory": str(tmp_path)}
    with bench.engine(None, reports) as engine:
        tile, names = (
            engine.executable.compiled.compilation.lowered[0],
            engine.executable.compiled.compilation.lowered_names,
        )
        at = {names[int(n)]: int(a) for n, a in zip(tile.name, tile.address, strict=True)}
        assert at["a"] < engine.executable.compiled.machine.region_split <= at["b"]
    both = source.replace("Vector<float>>", "Vector<float, VectorLayout::SPAN, 8, true>>").replace("Far", "Both")
    with pytest.raises(memory_elem_constraints_error, match="both fields must be in interleaved memory"):
        bench.graph.addCodelets(io.StringIO(both))


def test_descriptions_that_are_none() -> None:
    graph = Graph(model().getTarget())
    for text, wrong in (
        ("{", "is not JSON"),
        ("{}", "must be a list of vertices"),
        ('[{"name": "a b"}]', "names a vertex 'a b'"),
        ('[{"name": "A", "type": "Codelet", "fields": {}}]', "has type 'Codelet'; it must be one of"),
        ('[{"name": "A", "type": "Vertex"}]', "needs fields"),
        (
            '[{"name": "A", "type": "Vertex", "fields": {"x": "Input<wide>"}}]',
            "is described as 'Input<wide>', which is",
        ),
        ('[{"name": "A", "type": "Vertex", "fields": {}, "more": 1}]', "unknown keys"),
    ):
        with pytest.raises(parse_error, match=wrong):
            graph.addCodeletPlaceholder(io.StringIO(text))
