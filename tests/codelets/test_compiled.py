"""C++ codelets: fields of every kind, templates, names, both ways to run."""

import io
from pathlib import Path

import numpy as np
import pytest
from graphs import Bench

from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    UNSIGNED_INT,
    CodeletFileType,
    Device,
    DeviceManager,
    Graph,
    TargetType,
    graph_connection_error,
    type_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.program import Repeat
from simulator.poplibs import poputil

SUMS = Path(__file__).parent / "sums.cpp"


def with_sums(tiles: int = 4) -> Bench:
    bench = Bench(tiles)
    assert bench.graph.addCodelets(str(SUMS)) is True
    return bench


def test_names_are_poplars_and_a_file_is_added_once() -> None:
    bench = with_sums()
    names = set(bench.graph.store.vertex_types)
    assert names == {
        "SumVertex",
        "ns::Axpy<float,true>",
        "ns::Axpy<half,false>",
        "RowsVertex",
        "MultiSquare",
        "Supervised",
        "HalfVertex",
        "Mapped",
        "Wide",
    }
    assert poputil.templateVertex("ns::Axpy", FLOAT, True) in names
    assert bench.graph.addCodelets(str(SUMS)) is False
    kinds = {name: type_.kind for name, type_ in bench.graph.store.vertex_types.items()}
    assert (kinds["SumVertex"], kinds["MultiSquare"], kinds["Supervised"]) == ("worker", "multi", "supervisor")


def filled() -> Bench:
    """One vertex of each class, with edges in pieces and at odd addresses."""
    bench = with_sums()
    rng = np.random.default_rng(1)
    x = bench.tensor("x", FLOAT, rng.normal(size=12), 0)
    bench.vertex("SumVertex", {"in": x, "out": bench.tensor("sum", FLOAT, 0.0)})
    bench.vertex("SumVertex", {"in": x[::2], "out": bench.tensor("even", FLOAT, 0.0, 1)}, 1)
    a, b = (bench.tensor(n, FLOAT, rng.normal(size=8), 1) for n in "ab")
    bench.vertex("ns::Axpy<float,true>", {"factor": 1.0, "times": 3, "a": a[1:7], "b": b[::-1][:6], "extra": 0.5}, 1)
    rows = [bench.tensor(f"row{i}", FLOAT, rng.normal(size=3 - i), 2) for i in range(2)]
    lists = [bench.tensor(f"list{i}", INT, rng.integers(-9, 9, 3 - i), 2) for i in range(2)]
    out = [bench.tensor(f"out{i}", FLOAT, np.zeros(3 - i), 2) for i in range(2)]
    parts = bench.tensor("parts", FLOAT, [10, 20], 2)
    bench.vertex(
        "RowsVertex",
        {"rows": rows, "list": lists, "parts": parts, "out": out, "table": [1000, 2000], "scale": 0.25},
        2,
    )
    halves = bench.tensor("halves", HALF, np.arange(9) / 7, 3)
    squares = bench.tensor("squares", HALF, np.zeros(9), 3)
    who = bench.tensor("who", UNSIGNED_INT, np.zeros(6), 3)
    bench.vertex("MultiSquare", {"x": halves, "y": squares, "who": who}, 3)
    bench.vertex("Supervised", {"count": bench.tensor("count", INT, 41, 3)}, 3)
    big = bench.tensor("big", FLOAT, [1, -1e6, 65519.9, 1e-8, 2.0**-24, 1 + 2.0**-11, np.inf, 0.1], 0)
    bench.vertex("HalfVertex", {"from": big, "to": bench.tensor("rounded", HALF, np.zeros(8), 0)})
    bench.vertex("Mapped", {"x": x[:2], "y": bench.tensor("y", FLOAT, 0.0)})
    return bench


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_every_kind_of_field(options) -> None:
    bench = filled()
    given = {name: array.copy() for name, array in bench._given.items()}
    names = ["sum", "even", "b", "out0", "out1", "squares", "who", "count", "rounded", "y", "x", "a"]
    got = dict(zip(names, bench.run(names, options), strict=True))
    x, a, b = given["x"], given["a"], given["b"]
    assert np.isclose(got["sum"], x.sum(), rtol=1e-5)
    assert np.isclose(got["even"], x[::2].sum(), rtol=1e-5)
    b[::-1][:6] += a[1:7] * np.float32(0.5) * 2
    np.testing.assert_allclose(got["b"], b, rtol=1e-6)
    for i in range(2):
        wanted = given[f"row{i}"] * 0.25 + given[f"list{i}"] + given["parts"][i] + 1000 * (i + 1)
        np.testing.assert_allclose(got[f"out{i}"], wanted, rtol=1e-6)
    halves = given["halves"]
    root = np.sqrt(halves.astype(np.float32)).astype(np.float16).astype(np.float32)
    assert (got["squares"] == (root * halves.astype(np.float32)).astype(np.float16)).all()
    assert got["who"].tolist() == [1, 2, 3, 4, 5, 6]
    assert int(got["count"]) == 42
    smallest = 2.0**-24
    wanted = np.array([1, -65504, 65504, 0, smallest, 1, np.inf, 0.1], np.float16)
    assert (got["rounded"] == wanted).all()
    best = np.float16(x[0]) if x[0] > 1 else np.float16(1)
    assert np.isclose(got["y"], np.exp(np.float32(best)) + x[1] / 4, rtol=1e-6)
    assert (got["x"] == x).all()
    assert (got["a"] == a).all()


def test_state_stays_from_run_to_run_of_a_program() -> None:
    bench = with_sums()
    bench.vertex("Supervised", {"count": bench.tensor("count", INT, 0)})
    with bench.engine(Repeat(5, _execute(bench))) as engine:
        engine.run(0)
        engine.run(0)
        assert int(bench.read(engine, "count")) == 10


def _execute(bench: Bench):
    from simulator.poplar.program import Execute

    return Execute(bench.cs)


def test_long_has_32_bits_in_fields_and_state_begins_with_zero() -> None:
    bench = with_sums()
    x, y = bench.tensor("x", UNSIGNED_INT, [7, 5]), bench.tensor("y", INT, 0)
    bench.vertex("Wide", {"x": x, "y": y, "factor": 3})
    with bench.engine() as engine:
        for run in (1, 2):
            engine.run(0)
            assert int(bench.read(engine, "y")) == -22 * run


def test_halves_round_as_numpy_does_and_end_at_the_largest() -> None:
    bench = with_sums()
    rng = np.random.default_rng(3)
    some = rng.integers(0, 2**32, 4000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    edges = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)[::37]
    some, edges = some[np.isfinite(some)], edges[np.isfinite(edges)]
    values = np.concatenate([some, edges, np.nextafter(edges, np.float32(1)), (edges[1:] + edges[:-1]) / 2])
    bench.vertex(
        "HalfVertex",
        {"from": bench.tensor("from", FLOAT, values), "to": bench.tensor("to", HALF, np.zeros(len(values)))},
    )
    (got,) = bench.run(["to"])
    wanted = np.clip(values, -65504, 65504).astype(np.float16)
    assert (got.view(np.uint16) == wanted.view(np.uint16)).all()


def test_halves_become_nan_on_overflow_where_the_engine_says_so() -> None:
    bench = with_sums()
    values = bench.tensor("from", FLOAT, [65519, 65520, -1e9, np.inf])
    bench.vertex("HalfVertex", {"from": values, "to": bench.tensor("to", HALF, np.zeros(4))})
    (got,) = bench.run(["to"], {"debug.nanOverflowMode": "true"})
    np.testing.assert_array_equal(got, np.array([65504, np.nan, np.nan, np.inf], np.float16))


def test_on_a_cpu_and_on_simulated_hardware() -> None:
    hardware = next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach())
    try:
        for device in (Device.createCPUDevice(), hardware):
            bench = Bench(device=device)
            bench.graph.addCodelets(SUMS)
            x = bench.tensor("x", FLOAT, [1, 2, 4])
            vertex = bench.vertex("SumVertex", {"in": x, "out": bench.tensor("sum", FLOAT, 0)})
            bench.graph.setPerfEstimate(vertex, 9)
            assert bench.run(["sum"])[0] == 7
    finally:
        hardware.detach()


def test_wrong_fields_and_types() -> None:
    bench = with_sums()
    x = bench.tensor("x", FLOAT, [1, 2])
    with pytest.raises(unknown_vertex_type, match="'ns::Axpy<int,true>' is not a vertex type"):
        bench.graph.addVertex(bench.cs, "ns::Axpy<int,true>")
    with pytest.raises(unknown_field, match="SumVertex has no field 'inn'; its fields are in, out"):
        bench.graph.addVertex(bench.cs, "SumVertex", {"inn": x})
    with pytest.raises(type_error, match="Field 'in' of SumVertex takes float elements, but the tensor holds int"):
        bench.graph.addVertex(bench.cs, "SumVertex", {"in": bench.tensor("i", INT, [1])})
    with pytest.raises(graph_connection_error, match="Field 'out' of SumVertex needs a tensor of rank 0"):
        bench.graph.addVertex(bench.cs, "SumVertex", {"out": x})


def test_every_generation_has_its_own_layouts(tmp_path) -> None:
    source = tmp_path / "layouts.cpp"
    source.write_text(
        "#include <poplar/AvailableVTypes.h>\n#include <poplar/Vertex.hpp>\n"
        "#ifdef VECTOR_AVAIL_SCALED_PTR32\n#define L poplar::VectorLayout::SCALED_PTR32\n"
        "#else\n#define L poplar::VectorLayout::ONE_PTR\n#endif\n"
        "class V : public poplar::Vertex { public: poplar::Input<poplar::Vector<float, L, 4>> x;\n"
        "  unsigned version = __IPU_ARCH_VERSION__; bool compute() { return true; } };\n"
    )
    from graphs import model

    for version, layout in (("ipu1", "scaled_ptr32"), ("ipu21", "one_ptr")):
        graph = Graph(model(4, version).getTarget())
        graph.addCodelets(source, CodeletFileType.CppSource)
        assert graph.store.vertex_types["V"].fields_by_name["x"].layout == layout


BUILTINS = """
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
#include <cmath>
using namespace poplar;
class Own : public Vertex {
 public:
  Output<unsigned> tile;
  Output<Vector<float>> y;
  bool compute() {
    tile = __builtin_ipu_get_tile_id();
    half tenth = 0.1_h;
    float2 pair = {1, 2};
    float4 random = {__builtin_ipu_urand_f32(), __builtin_ipu_urand_f32(), __builtin_ipu_urand_f32(), 0};
    y[0] = tenth;
    y[1] = std::numeric_limits<half>::max();
    y[2] = pair[1];
    y[3] = random[0];
    y[4] = random[1];
    for (rptsize_t i = 0; i < 3; ++i) y[5] = i + std::fabs(random[2]);
    return true;
  }
};
"""


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_builtins_and_types_of_ipus(options) -> None:
    bench = Bench(4)
    bench.graph.addCodelets(io.StringIO(BUILTINS))
    for i, tile in enumerate((3, 1)):
        fields = {"tile": bench.tensor(f"tile{i}", UNSIGNED_INT, 9, 0), "y": bench.tensor(f"y{i}", FLOAT, np.zeros(6))}
        bench.graph.setPerfEstimate(bench.vertex("Own", fields, tile), 10)
    first, second, y, other = bench.run(["tile0", "tile1", "y0", "y1"], options)
    assert (first, second) == (3, 1)
    assert y[:3].tolist() == [np.float16(0.1), 65504, 2]
    assert (np.abs(y[3:5]) <= 0.5).all()
    assert 2 < y[5] <= 2.5
    assert (y[3:5] != other[3:5]).all()
