"""The command: draw a list, run it, show the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.faults import fault_list
from tests.faults.draw import draw, sources

ROOT = Path(__file__).resolve().parents[2]


def main(words: list[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="print a list of faults")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=60)
    drawing.add_argument("--at", default="HEAD", metavar="COMMIT")
    options = parser.parse_args(words)
    if options.command == "draw":
        fault_list.write(draw(sources(ROOT, options.at), options.seed, options.count), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
