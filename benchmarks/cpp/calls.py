"""Calls of the simulator from C++ beside the same calls from Python: `make cpp && python -m benchmarks.cpp.calls`.

Both programs time loops of one call, and the building of a graph as tutorial 6 of Graphcore has it: a product of a
matrix and a vector with a vertex for each part of a row. Processor time of the process, best of several rounds, in
turns. Writes its table into docs/measured/benchmarks.md; the exit code is 1 where a call costs more than the limit
above Python's own, or the graph more than its limit times Python's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.document import write_section

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "cpp" / "lib"
MOST_ABOVE, MOST_RATIO = 3.0, 1.3  # us a call, times Python's graph
CALLS, ROUNDS = 20_000, 2
ROWS, COLUMNS, PARTS = 10_000, 1_000, 7
GRAPH = "the graph of tutorial 6"

CODELET = """
#include <poplar/Vertex.hpp>
class Dot : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> a, b;
  poplar::Output<float> out;
  bool compute() { return true; }
};
"""

CPP = """
#include <cstdio>
#include <ctime>
#include <sstream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;
using namespace poplar::program;

template <class F> void timed(const char *name, F calls) {
  const std::clock_t before = std::clock();
  calls();
  std::printf("%s: %.6f\\n", name, double(std::clock() - before) / CLOCKS_PER_SEC);
}

int main() {
  Graph graph(IPUModel().createDevice());
  std::stringstream codelet(R"(CODELET)");
  graph.addCodelets(codelet);
  Tensor t = graph.addVariable(FLOAT, {ROWS, COLUMNS}, "t"), v = graph.addVariable(FLOAT, {COLUMNS}, "v");
  Tensor out = graph.addVariable(FLOAT, {ROWS, PARTS}, "out");
  ComputeSet set = graph.addComputeSet("set"), other = graph.addComputeSet("other");
  Sequence prog;
  timed("Tensor::numElements", [&] { for (int i = 0; i < CALLS; ++i) t.numElements(); });
  timed("Tensor::operator[]", [&] { for (int i = 0; i < CALLS; ++i) v[i % COLUMNS]; });
  timed("Tensor::slice", [&] { for (int i = 0; i < CALLS; ++i) v.slice(1, 5); });
  timed("Graph::setTileMapping", [&] { for (int i = 0; i < CALLS; ++i) graph.setTileMapping(v, 0); });
  timed("Graph::addVariable", [&] { for (int i = 0; i < CALLS; ++i) graph.addVariable(FLOAT, {4}, "x"); });
  timed("Graph::addVertex", [&] { for (int i = 0; i < CALLS; ++i) graph.addVertex(other, "Dot"); });
  timed("Sequence::add", [&] { for (int i = 0; i < CALLS; ++i) prog.add(Execute(set)); });
  timed("GRAPH", [&] {
    const unsigned tiles = graph.getTarget().getNumTiles();
    for (unsigned row = 0; row < ROWS; ++row)
      for (unsigned part = 0; part < PARTS; ++part) {
        const unsigned begin = part * COLUMNS / PARTS, end = (part + 1) * COLUMNS / PARTS;
        VertexRef vertex = graph.addVertex(
            set, "Dot", {{"a", t[row].slice(begin, end)}, {"b", v.slice(begin, end)}, {"out", out[row][part]}});
        graph.setTileMapping(vertex, row % tiles);
        graph.setPerfEstimate(vertex, 20);
      }
  });
}
"""

PYTHON = """
import io, time
from simulator.poplar import FLOAT, Graph, IPUModel
from simulator.poplar.program import Execute, Sequence

def timed(name, calls):
    before = time.process_time()
    calls()
    print(f"{name}: {time.process_time() - before:.6f}")

def repeated(call):
    def calls():
        for i in range(CALLS):
            call(i)
    return calls

graph = Graph(IPUModel().createDevice())
graph.addCodelets(io.StringIO('''CODELET'''))
t, v = graph.addVariable(FLOAT, [ROWS, COLUMNS], "t"), graph.addVariable(FLOAT, [COLUMNS], "v")
out = graph.addVariable(FLOAT, [ROWS, PARTS], "out")
cs, other = graph.addComputeSet("set"), graph.addComputeSet("other")
prog = Sequence()
timed("Tensor::numElements", repeated(lambda i: t.numElements()))
timed("Tensor::operator[]", repeated(lambda i: v[i % COLUMNS]))
timed("Tensor::slice", repeated(lambda i: v.slice(1, 5)))
timed("Graph::setTileMapping", repeated(lambda i: graph.setTileMapping(v, 0)))
timed("Graph::addVariable", repeated(lambda i: graph.addVariable(FLOAT, [4], "x")))
timed("Graph::addVertex", repeated(lambda i: graph.addVertex(other, "Dot")))
timed("Sequence::add", repeated(lambda i: prog.add(Execute(cs))))

def tutorial():
    tiles = graph.getTarget().getNumTiles()
    for row in range(ROWS):
        for part in range(PARTS):
            begin, end = part * COLUMNS // PARTS, (part + 1) * COLUMNS // PARTS
            vertex = graph.addVertex(
                cs, "Dot", {"a": t[row].slice(begin, end), "b": v.slice(begin, end), "out": out[row][part]}
            )
            graph.setTileMapping(vertex, row % tiles)
            graph.setPerfEstimate(vertex, 20)

timed("GRAPH", tutorial)
"""


def main() -> int:
    """Measure, print and write the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        commands = {
            "C++": [str(_built(folder))],
            "Python": [sys.executable, str(_written(folder / "calls.py", PYTHON))],
        }
        seconds: dict[str, dict[str, float]] = {name: {} for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                for call, spent in _timings(command):
                    seconds[name][call] = min(spent, seconds[name].get(call, spent))
    text, met = _table(seconds["C++"], seconds["Python"])
    print(text)
    write_section("cpp_calls", text)
    return int(not met)


def _table(cpp: dict[str, float], python: dict[str, float]) -> tuple[str, bool]:
    """The section of the document, and whether all limits are met."""
    lines = [
        "## Calls from C++",
        "",
        f"`python -m benchmarks.cpp.calls` after `make cpp`. {CALLS:,} calls each, processor time, best of {ROUNDS}, "
        f"loops of both languages included. The limit is {MOST_ABOVE:g} us above Python's own call, and {MOST_RATIO:g} "
        "times Python's graph.",
        "",
        "| call | from C++, us | from Python, us | above, us |",
        "|---|---:|---:|---:|",
    ]
    above = {name: (cpp[name] - python[name]) / CALLS * 1e6 for name in cpp if name != GRAPH}
    for name in above:
        here, there = cpp[name] / CALLS * 1e6, python[name] / CALLS * 1e6
        lines.append(f"| `{name}` | {here:.2f} | {there:.2f} | {above[name]:+.2f} |")
    ratio = cpp[GRAPH] / python[GRAPH]
    lines += [
        "",
        f"{GRAPH[0].upper()}{GRAPH[1:]}, {ROWS * PARTS:,} vertices with connections, tile and estimate: "
        f"{cpp[GRAPH]:.2f} s from C++, {python[GRAPH]:.2f} s from Python, {ratio:.2f} times.",
    ]
    return "\n".join(lines), ratio <= MOST_RATIO and max(above.values()) <= MOST_ABOVE


def _written(path: Path, source: str) -> Path:
    for name, value in (("CODELET", CODELET), ("GRAPH", GRAPH), ("CALLS", CALLS), ("ROWS", ROWS)):
        source = source.replace(name, str(value))
    path.write_text(source.replace("COLUMNS", str(COLUMNS)).replace("PARTS", str(PARTS)), encoding="utf-8")
    return path


def _built(folder: Path) -> Path:
    source, program = _written(folder / "calls.cpp", CPP), folder / "calls"
    includes = [f"-I{path}" for path in (ROOT / "native" / "include", ROOT / "simulator" / "codelets" / "include")]
    linked = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lpoplar"]
    subprocess.run(["g++", "-std=c++17", "-O2", *includes, str(source), *linked, "-o", str(program)], check=True)
    return program


def _timings(command: list[str]) -> list[tuple[str, float]]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    pairs = (line.rpartition(": ") for line in done.stdout.splitlines())
    return [(name, float(spent)) for name, _, spent in pairs]


if __name__ == "__main__":
    raise SystemExit(main())
