"""Run every benchmark in its own process, so that each has its own peak memory; `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = (
    "trace_open",
    "host_trace",
    "host_timeline",
    "traces.followed_timeline",
    "liveness",
    "live_bytes",
    "engine_run",
    "estimate",
    "plan",
    "compile_scale",
    "many_copies",
    "deep_network",
    "many_tiles",
    "exchange",
    "report_pages",
    "cpp.codelets",
    "cpp.counted_runs",
    "pva_access",
)


def main() -> int:
    """Run the benchmarks named on the command line, by default all. Returns the exit code of the first that fails."""
    for name in sys.argv[1:] or NAMES:
        if not (Path(__file__).parent / (name.replace(".", "/") + ".py")).is_file():
            print(f"There is no benchmark {name!r}; choose from {', '.join(NAMES)}.", file=sys.stderr)
            return 2
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
