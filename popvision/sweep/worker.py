"""`python -m popvision.sweep.worker FOLDER DIGEST MEMORY SECONDS`: run one planned point, on a Dask worker or in a task
of Slurm. MEMORY is bytes, SECONDS a number, "-" no limit.

Prints what point.json says of the end as JSON, null when the point had ended elsewhere. A point that fails is a result;
exit code 1 with one sentence on stderr means that the point has not ended."""

from __future__ import annotations

import json
import os
import sys

from popvision.formats.errors import FormatError
from popvision.sweep.plan import Limits
from popvision.sweep.point_process import die_with, run_point
from popvision.sweep.sweep_folder import SweepFolder


def worker_command(folder: SweepFolder, digest: str, limits: Limits) -> list[str]:
    """The command that runs one point here or on a machine with the same paths."""
    bounds = ["-" if bound is None else f"{bound}" for bound in (limits.memory_bytes, limits.seconds)]
    paths = os.environ.get("PYTHONPATH", "")
    before = ["/usr/bin/env", f"PYTHONPATH={paths}"] if paths else []
    return [*before, sys.executable, "-m", "popvision.sweep.worker", str(folder.root), digest, *bounds]


def main(words: list[str]) -> int:
    """Run the point of the command line."""
    die_with(os.getppid())
    folder, digest, memory, seconds = words
    place = SweepFolder(folder)
    limits = Limits(None if memory == "-" else int(memory), None if seconds == "-" else float(seconds))
    try:
        result = None if digest in place.ended() else run_point(place.read_point_of_plan(digest), place, limits)
    except FormatError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
