"""Any liveness index and any tile of a report with 5 M lowered variables: `python -m benchmarks.liveness`.

Times the queries of the liveness and memory pages, each with its table or curve as the page receives it, over 200
seeded random indices and tiles. The first query of a fresh process is timed separately. Each figure is the best of
three in a row, because other programs may use the machine; no answer is cached. The slow twin computes the same answer
from every allocation of every tile. Writes its table into docs/measured/benchmarks.md.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.document import write_section
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.heat import heat, highest_place
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.lowered import lowered_table, lowered_tile
from popvision.analysis.report.columns import variables
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from popvision.formats.generate.report import Size, generate

TILES, INDICES, VARIABLES = 1_472, 31_000, 5_000_000
QUESTIONS = 200
ATTEMPTS = 3
LIMIT = 0.050  # seconds
GRID = (300, 1_100)  # cells of a picture: about the pixels of a screen

Ask = Callable[[ReportSource, int, int], object]

ASKED: dict[str, Ask] = {
    "variables live at an index, all tiles": lambda source, index, tile: live_table(source, [index]),
    "the same, two indices with their difference": lambda source, index, tile: live_table(
        source, [index, (index * 7) % INDICES]
    ),
    "variables live at an index on one tile": lambda source, index, tile: live_table(
        source, [index], Where("tile", tile)
    ),
    "liveness curve and peak of one tile": lambda source, index, tile: peak(curve(source, Where("tile", tile))),
    "always-live variables of one tile": lambda source, index, tile: always_live_table(source, Where("tile", tile)),
    "allocations of one tile by address": lambda source, index, tile: lowered_table(source, tile),
}


def main() -> None:
    """Generate the report, time the queries, print and write the table."""
    if len(sys.argv) > 2:
        print(first_answer(Path(sys.argv[1]), list(ASKED)[int(sys.argv[2])]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.pop"
        generate(path, Size(1e6, tiles=TILES, liveness_indices=INDICES, lowered_variables=VARIABLES, seed=7))
        text = report(path)
        wide = Path(folder) / "wide.pop"
        size = Size(1e6, tiles=TILES, ipus=4, liveness_indices=INDICES, lowered_variables=VARIABLES, seed=7)
        generate(wide, size)
        text += "\n\n" + pictures([path, wide])
    print(text)
    write_section("liveness", "## Liveness of large reports\n\n" + text)


def report(path: Path) -> str:
    """The section's text: a table with a row per query."""
    source = ReportSource(path)
    rng = np.random.default_rng(3)
    pairs = list(zip(rng.integers(0, INDICES, QUESTIONS), rng.integers(0, TILES, QUESTIONS), strict=True))
    counted = sum(len(lowered_tile(source, tile).bytes) for tile in range(TILES))
    lines = [
        f"{counted:,} lowered variables, {len(variables(source).bytes):,} variables before lowering, {TILES:,} tiles, "
        f"{INDICES:,} liveness indices; profile.pop {path.stat().st_size / 2**20:.1f} MiB. "
        f"Limit: {1e3 * LIMIT:.0f} ms.",
        "",
        "| question | first in a fresh process (ms) | median (ms) | p95 (ms) | worst of 200 (ms) | within the limit |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for number, (name, ask) in enumerate(ASKED.items()):
        first = 1e3 * min(float(_fresh(path, number)) for _ in range(ATTEMPTS))
        times = 1e3 * np.asarray([_best(ask, source, int(index), int(tile)) for index, tile in pairs])
        met = "yes" if max(first, times.max()) <= 1e3 * LIMIT else "no"
        figures = [
            f"{first:.1f}",
            *(f"{each:.2f}" for each in (np.median(times), np.percentile(times, 95), times.max())),
        ]
        lines.append("| " + " | ".join([name, *figures, met]) + " |")
    slow = _seconds(lambda s, index, tile: slow_live_bytes(s, index), source, int(pairs[0][0]), 0)
    peak_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines += [
        "",
        f"The slow way, every allocation of every tile looked at for one index: {slow:.2f} s. "
        f"Peak memory of the process: {peak_memory:.0f} MiB. "
        "A fresh process has opened the file and imported pandas, no more. Figures are the best of three in a row.",
    ]
    return "\n".join(lines)


def pictures(paths: list[Path]) -> str:
    """A table of the heat map: the first picture of a freshly opened report, then windows of it, each once."""
    lines = [
        f"Tile x liveness heat map, at most {GRID[0]} x {GRID[1]} cells, each the exact maximum of its tiles "
        "and indices (`popvision.analysis.liveness.heat`). Milliseconds; the first picture reads "
        "every allocation of every tile.",
        "",
        "| tiles x indices | first whole picture | whole again | a quarter of the indices | 300 tiles | one cell |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for path in paths:
        source = ReportSource(path)
        count = target_of(source).num_tiles
        every, indices = range(count), range(INDICES)
        asked: list[Callable[[], object]] = [
            partial(heat, source, every, indices, GRID),
            partial(heat, source, every, indices, GRID),
            partial(heat, source, every, range(INDICES // 4, INDICES // 2), GRID),
            partial(heat, source, range(100, 400), indices, GRID),
            partial(highest_place, source, range(100, 105), range(500, 528)),
        ]
        figures = [f"{1e3 * _clocked(ask):.1f}" for ask in asked]
        lines.append("| " + " | ".join([f"{count:,} x {INDICES:,}", *figures]) + " |")
    return "\n".join(lines)


def _clocked(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def slow_live_bytes(source: ReportSource, index: int) -> int:
    """Bytes live at an index, from all allocations."""
    classes = source.reader.eq_classes()
    assert classes is not None
    total = 0
    for tile in range(TILES):
        low = lowered_tile(source, tile)
        owner = low.eq_class[low.eq_class >= 0]
        first = classes.offsets[owner]
        live = (classes.starts[first] <= index) & (index < classes.ends[first])
        total += int(low.bytes[low.eq_class >= 0][live].sum())
    return total


def first_answer(path: Path, name: str) -> float:
    """Seconds of one query to a freshly opened source."""
    import pandas  # noqa: F401

    return _seconds(ASKED[name], ReportSource(path), INDICES // 2, TILES // 3)


def _seconds(ask: Ask, source: ReportSource, index: int, tile: int) -> float:
    began = time.perf_counter()
    ask(source, index, tile)
    return time.perf_counter() - began


def _best(ask: Ask, source: ReportSource, index: int, tile: int) -> float:
    return min(_seconds(ask, source, index, tile) for _ in range(ATTEMPTS))


def _fresh(path: Path, number: int) -> str:
    command = [sys.executable, "-m", "benchmarks.liveness", str(path), str(number)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
