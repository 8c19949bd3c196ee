"""Sweep sizes and look for steps: `python -m benchmarks.sweep [--quick] [--rows PART ...]`.

Each row is a family of programs whose work grows, compiled for an IPU Model of Mk2. The cycles are simulated, without
the layout copies that operands of another origin would need. A line says why where cycles fall although the work grows,
or change by more than 25 % from one size to the next. Without options it writes docs/measured/sizes.md. Exit code 1
where a step has no reason, or a plan differs by more than 5 % from its program.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.document import MEASURED
from benchmarks.sweep import movement, networks, products
from benchmarks.sweep.row import AGREEMENT, FALL, JUMP, Line, Row, measured

_HEAD = f"""# Sizes and steps

`python -m benchmarks.sweep` compiles rows of programs whose work grows, for an IPU Model of 1,472 tiles of Mk2, and
writes this page. Cycles are simulated and hold for the program alone: operands are created in the layout that it reads.
*Planned* is what the planner of a product expects, without regrouping its result for the next reader. A line gives the
reason where cycles fall by more than {FALL:.0%} although the work grows, or change by more than {JUMP:.0%} to the next
size. The verdict counts lines without a reason, and plans more than {AGREEMENT:.0%} away from their program.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure the wanted rows, print them, and write the page where nothing was left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description="Cycles over rows of sizes.")
    parser.add_argument("--quick", action="store_true", help="fewer sizes; writes no page")
    parser.add_argument("--rows", nargs="+", default=[], metavar="PART", help="only rows whose title has a PART")
    chosen = parser.parse_args(arguments)
    began = time.monotonic()
    rows = [row for family in (products, movement, networks) for row in family.rows(chosen.quick)]
    wanted = [row for row in rows if not chosen.rows or any(part in row.title for part in chosen.rows)]
    if not wanted:
        parser.error(f"no row has {' or '.join(chosen.rows)} in its title; rows: {'; '.join(r.title for r in rows)}")
    sections, bad = [], 0
    for row in wanted:
        lines = measured(row)
        sections.append(section(row, lines))
        bad += sum(not line.explained or not line.agrees for line in lines)
        print(sections[-1], flush=True)
    points = sum(len(row.points) for row in wanted)
    verdict = f"{points} programs in {len(wanted)} rows; {bad} without a reason or with a plan that differs."
    print(f"{verdict} {time.monotonic() - began:.0f} s.")
    if not chosen.quick and not chosen.rows:
        (MEASURED / "sizes.md").write_text("\n".join([_HEAD, verdict, "", *sections]).rstrip() + "\n", "utf-8")
    return 1 if bad else 0


def section(row: Row, lines: list[Line]) -> str:
    """The table of one row."""
    planned = any(line.found.planned for line in lines)
    head = [
        row.what,
        "cycles",
        "change",
        "exchange",
        "compute",
        "sync",
        *(["planned", "run - plan"] if planned else []),
    ]
    text = [f"## {row.title}", "", f"| {' | '.join(head)} | reason |", "|" + "---:|" * len(head) + "---|"]
    for line in lines:
        kinds = (f"{line.found.by_kind.get(kind, 0):,}" for kind in ("exchange", "compute", "sync"))
        cells = [line.point.label, f"{line.found.cycles:,}", _percent(line.change), *kinds]
        if line.found.planned is not None:
            cells += [f"{line.found.planned.cycles:,}", _percent(line.found.cycles / line.found.planned.cycles - 1)]
        reason = line.reason if line.explained else "**none found**"
        reason += "" if line.agrees else " **plan differs**"
        text.append(f"| {' | '.join(cells)} | {reason.strip()} |")
    return "\n".join([*text, ""])


def _percent(change: float | None) -> str:
    return "" if change is None else f"{100 * change:+.1f} %"


if __name__ == "__main__":
    sys.exit(main())
