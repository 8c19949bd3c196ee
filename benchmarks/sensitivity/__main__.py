"""How much five sample programs depend on each constant without a public source: `python -m benchmarks.sensitivity`.

Runs the samples once as they are and once with each constant 10 % larger, and writes docs/measured/sensitivity.md.
Arguments are names of constants to print alone, without writing the page.
"""

from __future__ import annotations

import sys

from benchmarks.document import MEASURED
from benchmarks.sensitivity import page
from simulator.machine.unsourced import UNSOURCED


def main() -> int:
    """Write the page, or print the rows of the constants named. Returns exit code 2 for a name that is not listed."""
    names = sys.argv[1:]
    chosen = [entry for entry in UNSOURCED if not names or entry.name in names]
    missing = set(names) - {entry.name for entry in chosen}
    if missing:
        print(f"simulator/machine/unsourced.py lists no {', '.join(sorted(missing))}.", file=sys.stderr)
        return 2
    text = page.text(chosen)
    print(text)
    if not names:
        (MEASURED / "sensitivity.md").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
