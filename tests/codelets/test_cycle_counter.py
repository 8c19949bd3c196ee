"""Codelets that time themselves: what the cycle counter gives on simulated hardware, and who may not read it."""

import io
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench, model

from simulator.codelets.compiled.popc import main
from simulator.poplar import FLOAT, UNSIGNED_INT, CodeletFileType, graph_program_compilation_error

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")

#: The counter before and after a loop of 5 slots a trip (load, multiply and add, store, branch), and once more.
SOURCE = """
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
#include <tilearch.h>
using namespace poplar;
class Timed : public BASE {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  Output<Vector<unsigned>> cycles;
  bool compute(ARGUMENT) {
    const unsigned before = __builtin_ipu_get_scount_l();
    for (unsigned i = 0; i < in.size(); ++i) out[i] = 3 * in[i] + 1;
    const unsigned after = __builtin_ipu_get_scount_l();
    cycles[FIRST] = before;
    cycles[FIRST + 1] = after;
    cycles[FIRST + 2] = __builtin_ipu_get_scount_u();
    return true;
  }
};
"""
#: Five for the vertex, one to read the counter, in tile cycles.
ENTERED = 6 * (5 + 1)


def source(base: str = "Vertex", argument: str = "", first: str = "0") -> str:
    return SOURCE.replace("BASE", base).replace("ARGUMENT", argument).replace("FIRST", first)


def counters(device: Any, text: str, sizes: list[int], options: dict[str, str] | None = None) -> list[list[int]]:
    """What vertices of these sizes, all on a tile, store."""
    bench = Bench(2, device)
    bench.graph.addCodelets(io.StringIO(text))
    for k, size in enumerate(sizes):
        fields = {"in": bench.tensor(f"x{k}", FLOAT, np.ones(size)), "out": bench.tensor(f"y{k}", FLOAT, np.ones(size))}
        bench.vertex("Timed", {**fields, "cycles": bench.tensor(f"c{k}", UNSIGNED_INT, np.zeros(18))})
    read = bench.run([f"c{k}" for k in range(len(sizes))] + [f"y{k}" for k in range(len(sizes))], options)
    assert all((values == 4).all() for values in read[len(sizes) :])
    return [array.tolist() for array in read[: len(sizes)]]


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_a_difference_is_what_stands_between(device: Any, options: dict[str, str]) -> None:
    short, long = counters(device, source(), [1000, 2000], options)
    assert short[0] == long[0] == ENTERED  # each on a worker of its own
    assert long[1] - short[1] == 1000 * 5 * 6
    assert 0 <= short[1] - short[0] - 1000 * 5 * 6 <= 10 * 6  # the loop's bounds, the second read
    assert short[2] == 0


def test_a_vertex_begins_after_those_before_it_on_its_worker(device: Any) -> None:
    sizes = [10] * 7
    first, *_, seventh = counters(device, source(), sizes)
    assert first[0] == ENTERED
    assert seventh[1] - seventh[0] == first[1] - first[0]
    assert 0 < seventh[0] - first[1] <= 6 * 40  # what the first does after its second read, and entering


def test_workers_of_a_multi_vertex_begin_together(device: Any) -> None:
    [read] = counters(device, source("MultiVertex", "unsigned worker", "3 * worker"), [10])
    rows = np.reshape(read, (6, 3))
    assert (rows == rows[0]).all()
    assert rows[0, 0] == ENTERED


def test_a_supervisor_counts_its_own_instructions(device: Any) -> None:
    few, more = counters(device, source("SupervisorVertex"), [10, 20])
    assert (more[1] - more[0]) - (few[1] - few[0]) == 10 * 5 * 6
    assert 0 < more[0] - few[1] <= 6 * 40  # they run one after another


def test_the_register_is_the_counter(device: Any) -> None:
    text = source().replace("__builtin_ipu_get_scount_l()", "__builtin_ipu_get(CSR_S_SCOUNT_L__INDEX)")
    assert counters(device, text, [10]) == counters(device, source(), [10])


def test_a_function_of_another_source_is_counted(device: Any) -> None:
    text = (
        source()
        .replace("class Timed", 'extern "C" float thrice(float);\nclass Timed')
        .replace("3 * in[i]", "thrice(in[i])")
    )
    bench = Bench(2, device)
    bench.graph.addCodelets(io.StringIO(text))
    bench.graph.addCodelets(
        io.StringIO("float thrice(float x) { return 3 * x; }"), "", io.StringIO(), CodeletFileType.CSource
    )
    fields = {name: bench.tensor(name, FLOAT, np.ones(10)) for name in ("in", "out")}
    bench.vertex("Timed", {**fields, "cycles": bench.tensor("cycles", UNSIGNED_INT, np.zeros(18))})
    [read] = bench.run(["cycles"])
    assert read[1] - read[0] >= 10 * 6 * 6  # load, call, multiply, add, store, branch


def test_an_ipu_model_has_no_counter() -> None:
    with pytest.raises(
        graph_program_compilation_error, match=r"__builtin_ipu_get_scount_l.*only simulated hardware has"
    ):
        Bench(2).graph.addCodelets(io.StringIO(source()), "", io.StringIO(), CodeletFileType.CppSource)


def test_an_object_may_read_the_counter_where_there_is_one(device: Any, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(source())
    path = tmp_path / "a.gp"
    assert main([str(tmp_path / "a.cpp"), "-o", str(path), "--target=ipu2"]) == 0
    Bench(2, device).graph.addCodelets(str(path))
    with pytest.raises(graph_program_compilation_error, match="only simulated hardware has a cycle counter"):
        Bench(2, model(2)).graph.addCodelets(str(path), "", io.StringIO())
