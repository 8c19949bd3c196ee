"""Compare published figures of IPUs with ours: `make validate`.

Runs each program with a published figure (`benchmarks.validation`), compares each figure with its bound, and writes
docs/measured/validation.md. The exit code is 1 when a figure misses its bound without a reason in `explanations`, or
when a neighbouring size jumps without one. `--quick` leaves out neighbouring sizes and the programs that are only
reported. The constants behind the figures have a page of their own (`python -m benchmarks.sensitivity`). `--tools`
runs the programs of PopLibs' own tools instead (`benchmarks.tools`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.document import MEASURED
from benchmarks.neighbours import neighbour_table
from benchmarks.tools import command
from benchmarks.validation import (
    adder,
    chain_liveness,
    codelets,
    exchange_example,
    formulas,
    matmul_chain,
    one_tile,
    page,
    rearrangement,
    stencils,
    targets,
    throughput,
    tutorial6,
)
from benchmarks.validation.explanations import EXPLAINED
from benchmarks.validation.row import Group

_HEAD = """# Validation

Published figures of IPUs beside those of this simulator, which are simulated, never measured. `make validate` writes
this page and fails when a figure misses its bound without an explanation here. Sources are sections of the collection
of published figures that the code cites as published-numbers: 1 constants, 3 exchange and host, 4 throughput, 5
vertices on hardware, 6 reports, 7 cycle formulas of PopLibs. A figure is *met* when its deviation is within the bound;
*reported* figures have no bound. [sensitivity.md](sensitivity.md) lists the constants
without a published source, and how much five programs depend on each. [sizes.md](sizes.md) holds programs of growing
size, plans beside what their programs take, and the reason of each step. [poplibs-tools.md](poplibs-tools.md) holds the
programs of PopLibs' own tools: 216 published figures of which few were looked at when constants were chosen.
"""


def groups() -> tuple[list[Group], list[str]]:
    """All rows of all programs, explained, and the plans of the matmul chain as text."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source, plans = matmul_chain.run_chain(root / "chain")
        found = [
            *matmul_chain.groups(source),
            *chain_liveness.groups(source),
            *exchange_example.groups(root / "exchange"),
            *one_tile.groups(),
            *formulas.groups(),
            *codelets.groups(),
            *throughput.groups(),
            *adder.groups(root / "adder"),
            *targets.groups(),
        ]
    return [group.explained(EXPLAINED) for group in found], plans


def main() -> int:
    """Print and write the page. Returns exit code 1 when a miss has no explanation."""
    if "--tools" in sys.argv[1:]:
        return command.main([argument for argument in sys.argv[1:] if argument != "--tools"])
    found, plans = groups()
    lines = [_HEAD]
    for group in found:
        lines += page.section(group)
    for name, plan in zip(("m4", "m5"), plans, strict=True):
        lines += [f"Plan of {name}:", "", "```", plan, "```", ""]
    steady = True
    quick = "--quick" in sys.argv[1:]
    if not quick:
        reported = [*tutorial6.groups(), *stencils.groups(), *rearrangement.groups()]
        for group in reported:
            lines += page.section(group)
        found += reported
        neighbours, steady = neighbour_table()
        lines += neighbours
    lines += page.verdicts(found)
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if not quick:
        (MEASURED / "validation.md").write_text(text, "utf-8")
    failed = [row for group in found for row in group.rows if row.failed]
    for row in failed:
        print(
            f"Missed and not explained: {row.quantity}, published {row.published:g}, ours {row.ours}", file=sys.stderr
        )
    return 0 if steady and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
