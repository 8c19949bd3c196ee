"""Codelets that crash, loop for ever or print: the interpreter lives, and messages name vertex and tile."""

import contextlib
import gc
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from graphs import Bench

from simulator.poplar import (
    FLOAT,
    INT,
    Engine,
    ErrorCode,
    Graph,
    IPUModel,
    application_runtime_error,
    invalid_option,
    replication_factor,
)
from simulator.poplar.program import Execute, Repeat, Sequence

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <poplar/Vertex.hpp>

__attribute__((noinline)) static int deeper(volatile int *n) {
  volatile int own[64];
  own[*n % 64] = *n;
  return *n < 0 ? 0 : deeper(own + *n % 64) + own[1];
}

class Fate : public poplar::Vertex {
 public:
  poplar::Input<int> what;
  poplar::InOut<float> x;

  bool compute() {
    volatile int zero = *what - 2;
    volatile int *nowhere = nullptr;
    switch (*what) {
      case 1: *nowhere = 3; break;
      case 2: *x = 7 / zero; break;
      case 3: abort();
      case 4: for (volatile int i = 0;; i = i + 1) {} break;
      case 5: exit(3);
      case 6: printf("x is %g", *x); putchar('\n'); puts("and"); printf("%d", *what); break;
      case 8: *x = deeper(&zero); break;
      case 7: *x = *x / (zero - 5); break;
      default: *x += 1;
    }
    return true;
  }
};

class Crowd : public poplar::MultiVertex {
 public:
  poplar::Input<int> who;
  bool compute(unsigned worker) {
    if (worker == *who) abort();
    printf("here\n");
    return true;
  }
};
"""


def fates(what: list[int], placed: int = 0) -> Bench:
    """A vertex for each element of `what`, or the first `placed` of them."""
    bench = Bench()
    bench.graph.addCodelets(io.StringIO(SOURCE))
    x = bench.graph.addVariable(FLOAT, [len(what)], "x")
    bench._names["x"], bench._given["x"] = x, np.arange(len(what), dtype=np.float32)
    bench.graph.createHostRead("x", x)
    bench.graph.createHostWrite("x in", x)
    chosen = bench.tensor("what", INT, what)
    for i in range(placed or len(what)):
        bench.graph.setTileMapping(x[i], i % 4)
        vertex = bench.vertex("Fate", {"what": chosen[i], "x": x[i]}, i % 4)
        bench.graph.setPerfEstimate(vertex, 10)
    return bench


@pytest.mark.parametrize(
    ("what", "code", "why"),
    [
        (1, ErrorCode.INVALID_ADDRESS, "it touched memory that is not there (SIGSEGV)"),
        (2, ErrorCode.TRAP, "it divided an integer by zero, or overflowed doing so (SIGFPE)"),
        (3, ErrorCode.TRAP, "it aborted (SIGABRT)"),
        (5, ErrorCode.UNKNOWN, "it ended the process with code 3"),
        (8, ErrorCode.INVALID_ADDRESS, "its stack overflowed (SIGSEGV)"),
    ],
)
def test_a_crash_names_vertex_and_tile(what, code, why) -> None:
    bench = fates([0, 0, what, 0])
    with bench.engine() as engine:
        with pytest.raises(application_runtime_error) as caught:
            engine.run(0)
        wanted = f"Vertex 2 of type Fate in compute set 'cs' on tile 2 crashed: {why}."
        assert str(caught.value) == wanted
        (error,) = caught.value.errors
        assert (error.code, error.location.tile, error.location.vertex) == (code, 2, "Fate")
        # The engine goes on, with what was computed before.
        engine.writeTensor("what in", np.zeros(4, np.int32))
        engine.run(0)
        assert bench.read(engine, "x").tolist() == [2, 3, 3, 4]


def test_the_process_ends_with_the_engine_and_when_a_print_fails() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    bench = fates([6, 0])
    gc.collect()
    before = _children()
    with bench.engine() as engine:
        engine.setPrintStream(Broken())
        with pytest.raises(KeyboardInterrupt):
            engine.run(0)
        engine.setPrintStream(io.StringIO())
        engine.run(0)
        assert len(_children() - before) == 1
    gc.collect()
    assert _children() <= before


def _children() -> set[str]:
    """Programs of codelets that this process has started and not ended."""
    found = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        for child in (task / "children").read_text().split():
            with contextlib.suppress(OSError):  # it ended meanwhile
                if Path(f"/proc/{child}/exe").readlink().suffix == ".program":
                    found.add(child)
    return found


def test_an_endless_loop_ends_at_the_limit(monkeypatch) -> None:
    monkeypatch.setenv("POPVISION_CODELET_SECONDS", "0.2")
    bench = fates([0, 4])
    wanted = r"on tile 1 was ended: it took longer than 0\.2 s, the limit of POPVISION_CODELET_SECONDS\."
    with bench.engine() as engine, pytest.raises(application_runtime_error, match=wanted):
        engine.run(0)
    monkeypatch.setenv("POPVISION_CODELET_SECONDS", "soon")
    bench = fates([0])
    with bench.engine() as engine, pytest.raises(invalid_option, match="'soon', but it must be a number of seconds"):
        engine.run(0)


def test_a_worker_of_a_multi_vertex_is_named() -> None:
    bench = fates([0])
    bench.vertex("Crowd", {"who": bench.tensor("who", INT, 2, 3)}, 3)
    printed = io.StringIO()
    with bench.engine() as engine:
        engine.setPrintStream(printed)
        with pytest.raises(application_runtime_error, match=r"of type Crowd .* on tile 3, worker 2 crashed"):
            engine.run(0)
    assert printed.getvalue() == "[tile 3, worker 0] here\n[tile 3, worker 1] here\n"


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_prints_are_labelled_by_tile_and_worker(options) -> None:
    bench = fates([6, 0, 0, 0, 6, 6])
    printed = io.StringIO()
    with bench.engine(None, options) as engine:
        engine.setPrintStream(printed)
        engine.run(0)
    lines = printed.getvalue().splitlines()
    assert lines[:2] == ["[tile 0, worker 0] x is 0", "[tile 0, worker 0] and"]
    assert sorted(lines[2:]) == [
        "[tile 0, worker 0] 6",
        "[tile 0, worker 1] 6",
        "[tile 0, worker 1] and",
        "[tile 0, worker 1] x is 4",
        "[tile 1, worker 1] 6",
        "[tile 1, worker 1] and",
        "[tile 1, worker 1] x is 5",
    ]


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}], ids=["rows", "bytes of tiles"])
def test_the_worker_is_the_one_that_was_free(options) -> None:
    bench = fates([0, 0, 0, 0] + 7 * [6], 4)
    for i in range(4, 11):  # on tile 2 after a short one, the first of them long
        x = bench._names["x"][i]
        bench.graph.setTileMapping(x, 2)
        vertex = bench.vertex("Fate", {"what": bench._names["what"][i], "x": x}, 2)
        bench.graph.setPerfEstimate(vertex, 100 if i == 4 else 10)
    printed = io.StringIO()
    with bench.engine(None, options) as engine:
        engine.setPrintStream(printed)
        engine.run(0)
    found = re.findall(r"tile 2, worker (\d)\] 6?x is (\d+)", printed.getvalue())  # 6: what its worker printed last
    workers = {int(what): worker for worker, what in found}
    assert [workers[i] for i in range(4, 11)] == ["1", "2", "3", "4", "5", "0", "2"]


def test_prints_go_to_standard_error_at_first(capfd) -> None:
    bench = fates([6])
    with bench.engine() as engine:
        engine.run(0)
    assert capfd.readouterr() == ("", "[tile 0, worker 0] x is 0\n[tile 0, worker 0] and\n[tile 0, worker 0] 6\n")


def test_flags_of_floating_point_stop_compiled_codelets() -> None:
    bench = fates([7])
    with bench.engine(None, {"debug.floatPointOpException": "true"}) as engine:
        with pytest.raises(application_runtime_error, match="on tile 0 crashed: its arithmetic was invalid") as caught:
            engine.run(0)
        assert caught.value.errors[0].code is ErrorCode.FLOATING_POINT_INVALID_OPERATION
    (x,) = fates([7]).run(["x"])
    assert np.isnan(x[0])


def test_replicas_have_their_own_values() -> None:
    two = IPUModel("ipu2")
    two.numIPUs, two.tilesPerIPU = 2, 4
    device = two.createDevice()
    graph = Graph(device.getTarget(), replication_factor(2))
    graph.addCodelets(io.StringIO(SOURCE))
    x, what = graph.addVariable(FLOAT, [], "x"), graph.addConstant(INT, [], 6)
    cs = graph.addComputeSet("cs")
    for t in (x, what, graph.addVertex(cs, "Fate", {"what": what, "x": x})):
        graph.setTileMapping(t, 1)
    graph.createHostWrite("x", x)
    printed = io.StringIO()
    with Engine(graph, Repeat(1, Sequence(Execute(cs)))) as engine:
        engine.load(device)
        engine.setPrintStream(printed)
        engine.writeTensor("x", np.array([3, 5], np.float32))
        engine.run(0)
    assert [line for line in printed.getvalue().splitlines() if " x is" in line] == [
        "[replica 0, tile 1, worker 0] x is 3",
        "[replica 1, tile 1, worker 0] x is 5",
    ]
