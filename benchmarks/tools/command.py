"""`python -m benchmarks.validate --tools`: run the published table, keep finished rows, write a page of docs/measured.

Rows are kept in .benchmarks/tools.jsonl with a digest of the simulator's source, so that a run that was stopped goes
on, and a changed simulator begins again. The page is written once all rows are kept, or with `--page` of those that
are, and says which are not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

from benchmarks.document import MEASURED
from benchmarks.tools import summary
from benchmarks.tools.measure import Measured, measure
from benchmarks.tools.table import PUBLISHED, Published, rows

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".benchmarks" / "tools.jsonl"
PAGE = MEASURED / "poplibs-tools.md"

_SOURCES = ("measure", "programs", "table")

_HEAD = """# PopLibs' tools

Graphcore publishes what PopLibs' own tools cost on the IPU Models of Mk1 and Mk2: the expected figures of its
regression benchmarks (graphcore/poplibs, March 2021). `python -m benchmarks.validate --tools` builds the same programs
here from the same parameters and writes this page. Cycles are simulated, by two models that both estimate. Ratios are
ours over published. A case is a program: its two chips count half each. A constant may be fitted on the first half of a
tool's programs by alphabet; the other half tests it.
"""

_FINDINGS = """## What the rows say

**Halves into float sums** have 8 convolution units on Mk2, not 16: the data path takes eight floats in the four cycles
of a sum, and PopLibs' public vertices are `half_float_8_and_half_half_16`. With that, dense layers of both chips have
the same ratios (before, those of Mk2 were 0.71 to 0.86), cycles as well as the largest tile. The published 334.94
TFLOP/s of Bow ([validation.md](validation.md)) are a product of halves into halves.

**fc_layer_4_1000_1000_half** is dearer on Mk2 than on Mk1 in the table (25,500 cycles beside 20,900), and dearer than
with a batch of 8 (17,100): PopLibs of March 2021 chose something worse there than for its neighbours. Our plan is like
that of a batch of 8.

**Convolutions**: forward passes of depthwise layers take VMAC here; PopLibs had SLIC vertices, which the planner does
not search. Weight updates read activations whose channels are the batch: their regrouping is the part of the largest
layers that differs most between tiles.

**Products with large k or n** were short of the same units: all rows of general_matrix_multiply are within 15 % now.

**Triangular solves with 64 right-hand sides** run at 0.7: each row is a product of one row, which our planner gives
HMAC vertices (1,900 cycles a row with its exchanges; published are 2,700). That PopLibs padded and transposed x for
each of them is our inference. Memory of matrix_solver is some 4 KB on each tile here; the published totals (17,824
bytes for one block on 1,472 tiles) have room for nothing on tiles without a part of the matrix.

**Octave convolutions** (poplin.multiconv) have tiles in proportion to their products. PopLibs plans those again that
would wait for the largest one.

**GRU** multiplies the candidate's gated output apart, in a third product a step, which decides: 1.2 to 1.3.

**Max pooling** of 35 x 35 fields is 16 to 24 % too dear, because the largest box of a tile takes 1.3 times the mean; of
single channels on Mk2 29 %, because channels that are not grouped are copied into groups first.

**Reductions** have the stages of PopLibs' public sources (lib/popops/reduction). Rows without a cause that we do not
know are within 7 % in cycles and in the largest tile (bert_reduce_0; resnet50_tr_bs1_cnv_reduce on Mk2). The three rows
whose published largest tile is 16,440 bytes are 9 to 19 % short: 16,384 bytes are the distance of two memory elements,
so some vertex there keeps its operands apart. Which one, neither the sources nor the table say.
"""


def main(arguments: list[str]) -> int:
    """Run the wanted rows, print them and the summary, and write the page (see above)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validate --tools")
    parser.add_argument("--part", default="1/1", metavar="N/OF", help="every OF-th row, beginning with the N-th")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rows whose program or tool has a NAME")
    parser.add_argument("--table", type=Path, default=PUBLISHED, metavar="FILE", help="another table of this form")
    parser.add_argument("--again", action="store_true", help="run rows that are kept, too")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name} though rows are missing")
    chosen = parser.parse_args(arguments)
    number, parts = _part(parser, chosen.part)
    wanted = [row for row in rows(chosen.table) if not chosen.only or _named(row, chosen.only)][number - 1 :: parts]
    if not wanted:
        parser.error(f"no row has {' or '.join(chosen.only)} in its name or tool.")
    kept = KeptRows(KEPT)
    print("\n".join(summary.table([])))
    compared = []
    for row in wanted:
        ours = None if chosen.again else kept.figures(row)
        if ours is None:
            ours = measure(row)
            kept.add(row, ours)
        compared.append(summary.Compared(row, ours))
        print(summary.line(compared[-1]), flush=True)
    print("\n" + "\n".join(summary.summary(compared)))
    seconds = [row.ours.seconds for row in compared]
    print(f"\n{len(compared)} rows, {sum(seconds):.0f} s of processor time, at most {max(seconds):.0f}.")
    if chosen.table == PUBLISHED and (chosen.page or all(map(kept.figures, rows()))):
        PAGE.write_text(_page(kept), "utf-8")
    return 0


def _page(kept: KeptRows) -> str:
    """The page of all rows that are kept."""
    compared, absent = [], Counter[str]()
    for row in rows():
        ours = kept.figures(row)
        if ours is None:
            absent[row.tool] += 1
        else:
            compared.append(summary.Compared(row, ours))
    by_tool = ", ".join(f"{count} of {tool}" for tool, count in sorted(absent.items()))
    sentence = f"{absent.total()} of {len(rows())} rows are not there, because they were not run: {by_tool}."
    totals = [*summary.summary(compared), *(["", sentence] if absent else [])]
    return "\n".join([_HEAD, "## By tool", "", *totals, "", _FINDINGS, "## Rows", "", *summary.table(compared), ""])


def _part(parser: argparse.ArgumentParser, text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        parser.error(f"--part {text} is not N/OF, such as 2/6.")
    return int(number), int(parts)


def _named(row: Published, names: list[str]) -> bool:
    return any(name in row.name or name == row.tool for name in names)


class KeptRows:
    """Our figures of rows that ran with the same source, in a file of a line each. The source is that at the start:
    a change while rows run does not reach them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._source = _digest()
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
        self._figures = {line["program"]: Measured(**line["ours"]) for line in lines if line["source"] == self._source}

    def figures(self, row: Published) -> Measured | None:
        """None for a row that did not run."""
        return self._figures.get(row.program)

    def add(self, row: Published, ours: Measured) -> None:
        """Keep the figures of a row; those of an earlier run of it are replaced."""
        self._figures[row.program] = ours
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"program": row.program, "source": self._source, "ours": ours.as_json()}) + "\n")


def _digest() -> str:
    """A digest of the source that figures depend on."""
    digest = hashlib.sha256()
    sources = [*(ROOT / "simulator").rglob("*.py"), *(Path(__file__).with_name(f"{name}.py") for name in _SOURCES)]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()
