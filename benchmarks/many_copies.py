"""Compile a program of many adjacent copies: `python -m benchmarks.many_copies`.

A variable of n floats is reversed into another one element at a time, n copies of which none depends on another;
1,000 elements lie on a tile. Seconds of `Engine(graph, program)`. Writes docs/measured/benchmarks.md.
"""

from __future__ import annotations

import time

from benchmarks.document import write_section
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence

COUNTS = (1_000, 10_000, 100_000)
SECONDS = 30.0
PER_TILE = 1_000


def main() -> None:
    """Measure all sizes."""
    lines = [
        f"One copy per element, {PER_TILE:,} elements on a tile, Mk2 IPU Model. Limit at {COUNTS[-1]:,}: "
        f"{SECONDS:.0f} s.",
        "",
        "| copies | compile (s) | microseconds per copy |",
        "| ---: | ---: | ---: |",
    ]
    for count in COUNTS:
        seconds = measure(count)
        lines.append(f"| {count:,} | {seconds:.2f} | {1e6 * seconds / count:.0f} |")
    text = "\n".join(lines)
    print(text)
    write_section("many_copies", "## Compiling many copies\n\n" + text)


def measure(count: int) -> float:
    """Seconds to compile a program of `count` copies."""
    graph = Graph(IPUModel().createDevice().getTarget())
    source, target = (graph.addVariable(FLOAT, [count], name) for name in ("source", "target"))
    for first in range(0, count, PER_TILE):
        for tensor in (source, target):
            graph.setTileMapping(tensor[first : first + PER_TILE], first // PER_TILE)
    program = Sequence()
    for number in range(count):
        program.add(Copy(source[number : number + 1], target[count - 1 - number : count - number]))
    began = time.perf_counter()
    Engine(graph, program).close()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
