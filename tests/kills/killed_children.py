"""Programs that are killed: children of kill_runs.py, `python -m tests.kills.killed_children KIND FOLDER [KEY]`."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def program(folder: Path) -> None:
    """Runs without end, with a report and a trace; says the time after each run."""
    from tests.compiler.tiny_graphs import reporting_engine

    engine = reporting_engine(folder, runs_kept=1_000_000)
    while True:
        engine.run()
        print(time.perf_counter(), flush=True)


def compiler(folder: Path, key: str) -> None:
    """Fetches a key of a cache, and says what became of it."""
    from simulator.frontends.session.executable_cache import ExecutableCache
    from simulator.poplar import compileGraph
    from tests.compiler.tiny_graphs import model, tutorial3

    def compiled() -> object:
        print("compiling", flush=True)
        tutorial = tutorial3(model())
        return compileGraph(tutorial.graph, [tutorial.program])

    cache = ExecutableCache(folder, ".popef", lambda sentence: print("warning:", sentence, flush=True))
    print(cache.fetch(key, compiled).outcome.value, flush=True)


if __name__ == "__main__":
    {"program": program, "compiler": compiler}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
