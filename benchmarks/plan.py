"""Planning products: `python -m benchmarks.plan`.

The planner alone, on 1,472 tiles of Mk2, with a fresh process for each size so that nothing is cached. CPU time of one
thread. Writes docs/measured/benchmarks.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from benchmarks.document import write_section

SIZES = ((4096, 4096, 4096), (800, 500, 400), (512, 1024, 4096), (1, 4096, 4096), (65536, 64, 64))
SECONDS = 1.0


def main() -> int:
    """Measure one size (child process) or all of them. Returns exit code 1 beyond the limit."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], tuple(int(n) for n in sys.argv[2:]))))
        return 0
    lines = [
        "## Planning of products",
        "",
        f"CPU time of one plan on 1,472 tiles, nothing kept from before (`python -m benchmarks.plan`); limit "
        f"{SECONDS:.0f} s.",
        "",
        "| product | type | plan (s) | within the limit | chosen |",
        "| --- | --- | ---: | --- | --- |",
    ]
    worst = 0.0
    for size in SIZES:
        for dtype in ("half", "float"):
            spent, plan = _child(dtype, size)
            worst = max(worst, spent)
            met = "yes" if spent <= SECONDS else "no"
            lines.append(f"| {' x '.join(map(str, size))} | {dtype} | {spent:.2f} | {met} | {plan} |")
    text = "\n".join(lines)
    print(text)
    write_section("plan", text)
    return 0 if worst <= SECONDS else 1


def measure(dtype: str, size: tuple[int, ...]) -> tuple[float, str]:
    """Seconds of CPU time to plan [m, k] x [k, n], and the first line of the plan."""
    from simulator.poplar import FLOAT, HALF, Graph, IPUModel
    from simulator.poplibs import poplin

    graph = Graph(IPUModel().createDevice())
    m, k, n = size
    began = time.process_time()
    plan = poplin.plan_of(graph, HALF if dtype == "half" else FLOAT, [m, k], [k, n])
    return time.process_time() - began, plan.describe().splitlines()[0]


def _child(dtype: str, size: tuple[int, ...]) -> tuple[float, str]:
    command = [sys.executable, "-m", "benchmarks.plan", dtype, *map(str, size)]
    spent, plan = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(spent), str(plan)


if __name__ == "__main__":
    sys.exit(main())
