"""C++ codelets against a hand-written loop with the same compiler flags: `python -m benchmarks.cpp.codelets`.

Both compute a triad on the same arrays. The engine runs vertices of a compute set (rows of structs in the process of
the codelets). The other side is one C++ program that calls the same kind of loop for each share, so both read and write
the same memory in the same order. They run in turns; the time is processor time, for the engine of both its processes.
Writes its table into docs/measured/benchmarks.md; the exit code is 1 when the codelets take more than twice as long.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.document import write_section
from simulator.codelets.compiled.host_compiler import compiler
from simulator.poplar import FLOAT, Device, Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Repeat

LIMIT = 2.0
#: (vertices, elements of each): about the same number of elements in few and in many vertices
CASES = ((1472, 2_000), (8832, 340), (100_000, 30))
REPEATS, ROUNDS = 60, 5
FLAGS = "-O3"

CODELET = """
#include <poplar/Vertex.hpp>
using namespace poplar;
class Triad : public Vertex {
 public:
  Output<Vector<float>> a;
  Input<Vector<float>> b;
  Input<Vector<float>> c;
  const float q;
  bool compute() {
    for (unsigned i = 0; i < a.size(); ++i) a[i] = b[i] + q * c[i];
    return true;
  }
};
"""
BY_HAND = """
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
__attribute__((noinline)) static void triad(float *a, const float *b, const float *c, const float *q, unsigned n) {
  for (unsigned i = 0; i < n; ++i) a[i] = b[i] + *q * c[i];
}
int main(int, char **argument) {
  unsigned long shares = atol(argument[1]), size = atol(argument[2]), repeats = atol(argument[3]);
  std::vector<float> a(shares * size), b(shares * size, 1.0f), c(shares * size, 2.0f);
  float q = 3;
  timespec begin, end;
  for (int round = 0; round < 2; ++round) {  // the first one touches the memory
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (unsigned long r = 0; r < (round ? repeats : 1); ++r)
      for (unsigned long s = 0; s < shares; ++s)
        triad(a.data() + s * size, b.data() + s * size, c.data() + s * size, &q, (unsigned)size);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  }
  std::printf("%.9f %g", (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) * 1e-9, a[size]);
  return 0;
}
"""


def main() -> int:
    """Measure, print and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        program = _by_hand(Path(folder))
        rows = [(n, size, *_measure(n, size, program)) for n, size in CASES]
    lines = [
        "## C++ codelets and a loop by hand",
        "",
        f"`python -m benchmarks.cpp.codelets`. A triad on floats, `{FLAGS}`, {REPEATS} compute sets a run, best of "
        f"{ROUNDS}; processor time per element. The limit is {LIMIT:g}.",
        "",
        "| vertices | elements of each | codelet, ns | by hand, ns | ratio |",
        "|---:|---:|---:|---:|---:|",
    ]
    for n, size, ours, other in rows:
        scale = 1e9 / (n * size * REPEATS)
        lines.append(f"| {n:,} | {size:,} | {ours * scale:.3f} | {other * scale:.3f} | {ours / other:.2f} |")
    text = "\n".join(lines)
    print(text)
    write_section("cpp_codelets", text)
    return int(any(ours > LIMIT * other for _, _, ours, other in rows))


def _by_hand(folder: Path) -> Path:
    source, program = folder / "by_hand.cpp", folder / "by_hand"
    source.write_text(BY_HAND)
    code, messages = compiler().run([FLAGS, "-std=c++17", str(source), "-o", str(program)])
    assert code == 0, messages
    return program


def _measure(vertices: int, size: int, program: Path) -> tuple[float, float]:
    """(seconds of the engine, seconds of the hand-written loop): the best of several rounds, in turns."""
    engine = triads(vertices, size, IPUModel().createDevice())
    ours, other = [], []
    with engine:
        for _ in range(ROUNDS):
            before = processor_seconds(engine)
            engine.run(0)
            ours.append(processor_seconds(engine) - before)
            done = subprocess.run(
                [str(program), str(vertices), str(size), str(REPEATS)], capture_output=True, check=True, text=True
            )
            other.append(float(done.stdout.split()[0]))
    return min(ours), min(other)


def triads(vertices: int, size: int, device: Device) -> Engine:
    """An engine that has run the triads once."""
    graph = Graph(device.getTarget())
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write(CODELET)
        file.flush()
        graph.addCodelets(file.name, compileFlags=FLAGS)
    tiles = np.arange(vertices) % graph.getTarget().getNumTiles()
    ends = np.arange(1, vertices + 1) * size
    arrays = {name: graph.addVariable(FLOAT, [vertices * size], name) for name in "abc"}
    for array in arrays.values():
        graph.setTileMappingIntervals(array, ends - size, ends, tiles)
    cs = graph.addComputeSet("triad")
    fields: dict[str, Any] = {name: array.reshape([vertices, size]) for name, array in arrays.items()}
    graph.addVertices(cs, "Triad", tiles, fields, {"q": np.float32(3)}, cycles=np.full(vertices, size * 6, np.int64))
    engine = Engine(graph, Repeat(REPEATS, Execute(cs)))
    engine.load(device)
    engine.run(0)  # starts the process
    return engine


def processor_seconds(engine: Engine) -> float:
    """Processor seconds of this process and that of the codelets."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    (arena,) = engine.core.memories
    runner = arena.session.ready()
    other = int(Path(f"/proc/{runner.process_id}/schedstat").read_text().split()[0])
    return usage.ru_utime + usage.ru_stime + other / 1e9


if __name__ == "__main__":
    sys.exit(main())
