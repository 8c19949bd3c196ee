"""The command: draw a list, run it, show the tables."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults import fault_list, summary, table
from tests.faults.copies import Copy
from tests.faults.draw import draw, sources
from tests.faults.tests_of_rooms import COMMANDS
from tests.faults.trial import PASSES, Trial

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main(words: list[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="print a list of faults")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=60)
    drawing.add_argument("--at", default="HEAD", metavar="COMMIT")
    running = commands.add_parser("run", help="plant each fault and note which test finds it")
    running.add_argument("--list", type=Path, required=True)
    running.add_argument("--at", default="HEAD", metavar="COMMIT")
    running.add_argument("--table", type=Path, required=True, help="where rows are written; a run goes on after them")
    running.add_argument("--known", type=Path, help="another table: the test that found a fault there comes first")
    running.add_argument("--until", choices=PASSES, default="all", help="the last pass")
    running.add_argument("--only", default="", metavar="FIRST-LAST", help="numbers of faults")
    running.add_argument("--hours", type=float, default=4.0, help="of processor time")
    running.add_argument("--environments", type=Path, default=ROOT, help="where .venv-frontends stands")
    commands.add_parser("show", help="the tables side by side")
    options = parser.parse_args(words)
    if options.command == "draw":
        fault_list.write(draw(sources(ROOT, options.at), options.seed, options.count), sys.stdout)
    if options.command == "run":
        run(options)
    if options.command == "show":
        print(summary.shown(HERE), end="")
    return 0


def run(options: argparse.Namespace) -> None:
    """Make the copy and its environments, and run the list."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("Interrupted."))  # tests that run are ended, too
    faults = fault_list.read(options.list)
    if options.only:
        first, _, last = options.only.partition("-")
        faults = [fault for fault in faults if int(first) <= fault.number <= int(last or first)]
    name = subprocess.run(
        ["git", "rev-parse", "--short", options.at], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    copy = Copy(ROOT, name, Path(tempfile.gettempdir()) / "faults" / name)
    pythons = {command.environment: options.environments / command.environment / "bin/python" for command in COMMANDS}
    pythons[".venv"] = Path(sys.executable)
    there = {name: python for name, python in pythons.items() if python.exists()}
    for environment, python in there.items():
        copy.add_environment(environment, python)
    trial = Trial(faults, copy, options.table, set(there), table.read(options.known) if options.known else [])
    trial.run(options.until, options.hours * 3600, lambda line: print(line, flush=True))
    rows = trial.rows.values()
    print(f"{sum(row.seconds for row in rows):.0f} s of processor time in {len(rows)} rows.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
