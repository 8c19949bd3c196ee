"""Pages of docs/measured: where they are, sections of benchmarks.md between two marks, what they say of the machine.

Virtual machines of one kind differ by half in speed from day to day, so that two tables of wall times compare by the
time of one loop beside them.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

MEASURED = Path(__file__).parents[1] / "docs" / "measured"

_ADDITIONS = 10_000_000
_ROUNDS = 5


def write_section(name: str, text: str) -> None:
    """Replace the text between the marks of `name` in docs/measured/benchmarks.md, or add the section at the end."""
    path = MEASURED / "benchmarks.md"
    begin, end = f"<!-- {name} begin -->", f"<!-- {name} end -->"
    whole = path.read_text("utf-8")
    section = f"{begin}\n{text.rstrip()}\n{end}"
    if begin in whole and end in whole:
        whole = whole[: whole.index(begin)] + section + whole[whole.index(end) + len(end) :]
    else:
        whole = whole.rstrip("\n") + "\n\n" + section + "\n"
    path.write_text(whole, "utf-8")


def machine_sentence() -> str:
    """A sentence with the load and the speed of this machine. Call it when the measurement has ended: it takes about
    two seconds."""
    load = os.getloadavg()[0]
    return (
        f"Load of the machine when this ended: {load:.1f} on {os.cpu_count()} processors, on which ten million "
        f"additions in a loop of Python take {_seconds_of_loop():.2f} s."
    )


def _seconds_of_loop() -> float:
    """Processor seconds of the loop, the median of some rounds."""
    rounds = []
    for _ in range(_ROUNDS):
        begun, total = time.process_time(), 0
        for number in range(_ADDITIONS):
            total += number
        rounds.append(time.process_time() - begun)
    return statistics.median(rounds)
