"""Replies of the exchange page: one million messages of one program, on 1,472 and on 5,888 tiles.

    python -m benchmarks.exchange

One row per request: bytes of the answer, first and median processor time of the server (in process, without HTTP).
Writes its section of docs/measured/benchmarks.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.document import write_section
from popvision.formats.generate import program as generated
from popvision.formats.generate.report import Size, _compilation
from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter
from webapp.base.library import Library
from webapp.shell.app import create_app

MESSAGES = 1_000_000
REPEATS = 9

_HEAD = (
    "## Replies of the exchange page",
    "",
    f"One program of {MESSAGES:,} messages between tiles chosen at random. "
    "Processor time of the server, in process (`python -m benchmarks.exchange`). "
    "The limit of a reply is 100 ms and 500 kB.",
    "",
    "| tiles | question | bytes | first (ms) | median (ms) |",
    "| ---: | --- | ---: | ---: | ---: |",
)


def write(path: Path, ipus: int) -> int:
    """A report of `ipus` x 1,472 tiles whose first exchange has a million messages; the exchange's id."""
    rng = np.random.default_rng(1)
    size = Size(intervals=10_000, ipus=ipus, layers=1, lowered_variables=1)
    tree = generated.build(1, 1)
    compilation = _compilation(size, tree, rng)
    exchange, tiles = int(tree.body[0]), ipus * 1_472
    pairs = np.sort(rng.choice(tiles * tiles, MESSAGES, replace=False))
    src, dst, volume = pairs // tiles, pairs % tiles, 4 * rng.integers(1, 2_000, MESSAGES)
    messages = [each for each in compilation.messages if each.program != exchange]
    for ipu in range(ipus):
        mine = src // 1_472 == ipu
        messages.append(model.Messages(exchange, ipu, src[mine], dst[mine], volume[mine]))
    with ProfileWriter(path) as writer:
        writer.write_compilation(replace(compilation, messages=messages))
    return exchange


def main() -> int:
    """Measure, print, write the section."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for ipus in (1, 4):
            path = Path(folder) / str(ipus) / "profile.pop"
            path.parent.mkdir()
            rows += measure(path.parent, write(path, ipus), 1_472 * ipus)
    text = "\n".join([*_HEAD, *rows])
    print(text)
    write_section("exchange", text)
    return 0


def measure(folder: Path, exchange: int, tiles: int) -> list[str]:
    """Rows of the table for one report."""
    library = Library([folder])
    key = next(entry.key for entry in library.entries() if not entry.is_sample)
    client = create_app(library).server.test_client()
    whole = -(-tiles // 8)
    rows = 120_000 // whole
    window = f"matrix?program={exchange}&size=1&row=500&rows=300&column=400&columns=300"
    everything = f"size=8&row=0&rows={min(rows, whole)}&column=0&columns={whole}"
    questions = {
        "columns of the tiles": f"tiles?program={exchange}",
        "matrix, everything": f"matrix?program={exchange}&{everything}",
        "matrix, 300 x 300 tiles": window,
        "partners of a tile": f"partners?program={exchange}&tile=77",
    }
    found = []
    for name, question in questions.items():
        times, length = [], 0
        for _ in range(REPEATS):
            began = time.process_time()
            answer = client.get(f"/data/{key}/exchange/{question}")
            times.append(1000 * (time.process_time() - began))
            assert answer.status_code == 200, answer.text
            length = len(answer.data)
        found.append(f"| {tiles:,} | {name} | {length:,} | {times[0]:.1f} | {statistics.median(times):.1f} |")
    return found


if __name__ == "__main__":
    sys.exit(main())
