"""`python -m benchmarks.validate --tools`: run the published table, keep finished rows, write docs/poplibs-tools.md.

Rows are kept in .benchmarks/tools.jsonl with a digest of the simulator's source, so that a run that was stopped goes
on, and a changed simulator begins again. The page is written once all rows are kept, or with `--page` of those that
are, and says which are not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.document import DOCS
from benchmarks.tools import summary
from benchmarks.tools.measure import Measured, measure
from benchmarks.tools.table import PUBLISHED, Published, rows

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".benchmarks" / "tools.jsonl"
PAGE = DOCS / "poplibs-tools.md"

_SOURCES = ("measure", "programs", "table")

_HEAD = """# PopLibs' tools

Graphcore publishes what PopLibs' own tools cost on the IPU Models of Mk1 and Mk2: the expected figures of its
regression benchmarks (graphcore/poplibs, March 2021). `python -m benchmarks.validate --tools` builds the same programs
here from the same parameters and writes this page. Cycles are simulated, by two models that both estimate. Ratios are
ours over published. A case is a program: its two chips count half each. A constant may be fitted on the first half of a
tool's programs by alphabet; the other half tests it.
"""

_FOUND = """## What the rows say

**Dense layers of halves** agree on Mk1 (most within 3 %) and are up to 30 % too cheap on Mk2. There the published
figures fit a chip with as many convolution units for halves as Mk1, 8 in place of 16: cycles as well as the largest
tile. `--half-units 8 --only bert fc_layer` runs them so; ratios of cycles:

| program on Mk2 | 16 units | 8 units | largest tile (B), 8 units | published |
|---|---:|---:|---:|---:|
| bert_ffn1_384x1024x4096 | 0.72 | 1.02 | 230,176 | 248,088 |
| bert_grouped_12x512x64x512 | 0.78 | 1.00 | 222,880 | 222,488 |
| bert_kqv_128x768x2304 | 0.80 | 1.06 | 217,920 | 218,712 |
| bert_kqv_512x1024x3072 | 0.71 | 1.03 | 234,880 | 234,904 |
| bert_proj_512x768x768 | 0.79 | 1.02 | 219,584 | 220,056 |
| fc_layer_16_1000_1000_half | 0.84 | 0.93 | 214,400 | 214,488 |
| fc_layer_8_1000_1000_half | 0.86 | 0.96 | 214,400 | 214,424 |

So in these rows no term of large k is missing. That PopLibs of March 2021 planned for the IPU Model of Mk2 with the
units of Mk1 is our inference; no publication says so. Of convolutions, resnet50_tr_bs4_bm128L0A2 comes from 0.83 to
1.05 (Mk1: 1.03) and inception_tr_bs4_i10_a1x1 from 1.03 to 1.20 (Mk1: 1.16): with 8 units both chips have the same
ratio. Our constant stays
16, because hardware has them: the published 334.94 TFLOP/s of a product of halves on Bow
([validation.md](validation.md)) are 96 % of the peak of 16 units, and 1.9 times that of 8.

**Training of LSTM and GRU** takes up to six times the memory; **max pooling** with a stride of 2 half as many cycles
again; **reductions** choose their stages by the number of terms, PopLibs by the tiles that hold terms of an output.
"""


def main(arguments: list[str]) -> int:
    """Run the wanted rows, print them and the summary, and write the page (see above)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validate --tools")
    parser.add_argument("--part", default="1/1", metavar="N/OF", help="every OF-th row, beginning with the N-th")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rows whose program or tool has a NAME")
    parser.add_argument("--table", type=Path, default=PUBLISHED, metavar="FILE", help="another table of this form")
    parser.add_argument("--again", action="store_true", help="run rows that are kept, too")
    parser.add_argument("--page", action="store_true", help="write docs/poplibs-tools.md though rows are missing")
    parser.add_argument(
        "--half-units", type=int, metavar="N", help="AMP with N units for halves; neither kept nor on the page"
    )
    chosen = parser.parse_args(arguments)
    number, of = _part(parser, chosen.part)
    wanted = [row for row in rows(chosen.table) if not chosen.only or _named(row, chosen.only)][number - 1 :: of]
    if not wanted:
        parser.error(f"no row has {' or '.join(chosen.only)} in its name or tool.")
    changed = chosen.half_units is not None
    kept = {} if chosen.again or changed else _kept()
    print("\n".join(summary.table([])))
    found = []
    for row in wanted:
        if row.key not in kept:
            kept[row.key] = measure(row, chosen.half_units)
            if not changed:
                _keep(row, kept[row.key])
        found.append(summary.Compared(row, kept[row.key]))
        print(summary.line(found[-1]), flush=True)
    totals = summary.summary(found)
    print("\n" + "\n".join(totals))
    spent = sum(row.ours.seconds for row in found)
    print(
        f"\n{len(found)} rows, {spent:.0f} s of processor time, at most {max(row.ours.seconds for row in found):.0f}."
    )
    whole = all(row.key in kept for row in rows())
    if chosen.table == PUBLISHED and not changed and (whole or chosen.page):
        PAGE.write_text(_page(kept), "utf-8")
    return 0


def _page(kept: Mapping[str, Measured]) -> str:
    """The page of all rows that are kept."""
    found = [summary.Compared(row, kept[row.key]) for row in rows() if row.key in kept]
    rest = Counter(row.tool for row in rows() if row.key not in kept)
    left = ", ".join(f"{count} of {tool}" for tool, count in sorted(rest.items()))
    more = (
        ["", f"{rest.total()} of {len(rows())} rows are not there, because they were not run: {left}."] if rest else []
    )
    return "\n".join(
        [_HEAD, "## By tool", "", *summary.summary(found), *more, "", _FOUND, "## Rows", "", *summary.table(found), ""]
    )


def _part(parser: argparse.ArgumentParser, text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        parser.error(f"--part {text} is not N/OF, such as 2/6.")
    return int(number), int(of)


def _named(row: Published, names: list[str]) -> bool:
    return any(name in row.name or name == row.tool for name in names)


def _digest() -> str:
    """A digest of what the figures depend on."""
    found = hashlib.sha256()
    sources = [*(ROOT / "simulator").rglob("*.py"), *(Path(__file__).with_name(f"{name}.py") for name in _SOURCES)]
    for path in sorted(sources):
        found.update(path.read_bytes())
    return found.hexdigest()


def _kept() -> dict[str, Measured]:
    """Rows of earlier runs of the same source."""
    if not KEPT.exists():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()]
    digest = _digest()
    return {line["row"]: Measured(**line["ours"]) for line in lines if line["source"] == digest}


def _keep(row: Published, ours: Measured) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"row": row.key, "source": _digest(), "ours": ours.as_json()}) + "\n")
