"""Liveness of a large program: `python -m benchmarks.live_bytes`.

1,472 tiles, 5,000 liveness indices and 5 million allocations that are not always live, in the order of the inventory:
the bytes of each class of liveness on each tile, the peak of each tile, and the curve of the device. Times are
processor time, the best of five. The slow twin adds every allocation at every index at which it is live, for one tile
in forty.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.document import write_section
from popvision.arrays import Int64Array
from simulator.compiler.memory.columns import bytes_of_classes, peak_by_tile, sums_by_position
from simulator.compiler.memory.liveness import LiveClasses

TILES, INDICES, ALLOCATIONS = 1_472, 5_000, 5_000_000
LIMIT = 0.200  # seconds
ATTEMPTS = 5
SLOW_TILES = 40  #: the slow twin computes one tile in this many


def main() -> int:
    """Measure, print and write the table. Returns exit code 1 beyond the limit or where the two ways differ."""
    live, columns = random_allocations(np.random.default_rng(5))
    best, peak = 1e9, np.zeros(0, np.int64)
    for _ in range(ATTEMPTS):
        begin = time.process_time()
        by_class = bytes_of_classes(*columns, len(live), TILES)
        peak = peak_by_tile(by_class, live)
        sums_by_position(by_class.sum(axis=1, keepdims=True), live, INDICES)
        best = min(best, time.process_time() - begin)
    begin = time.process_time()
    slow = slow_peaks(live, columns)
    slow_time = (time.process_time() - begin) * SLOW_TILES
    equal = np.array_equal(slow, peak[::SLOW_TILES])
    lines = [
        "## Liveness while compiling",
        "",
        f"{TILES:,} tiles, {INDICES:,} liveness indices, {len(columns[0]):,} allocations, {len(live):,} classes; "
        f"processor time, the best of {ATTEMPTS}.",
        "",
        "| what | ms | limit |",
        "| --- | ---: | ---: |",
        f"| each tile's peak and the curve | {1e3 * best:.0f} | {1e3 * LIMIT:.0f} |",
        f"| allocation by allocation, from one tile in {SLOW_TILES} | {1e3 * slow_time:,.0f} | |",
        "",
        f"Both give {'the same peaks' if equal else 'DIFFERENT PEAKS'}.",
    ]
    print("\n".join(lines))
    write_section("live bytes", "\n".join(lines))
    return 0 if equal and best <= LIMIT else 1


def random_allocations(rng: np.random.Generator) -> tuple[LiveClasses, tuple[Int64Array, Int64Array, Int64Array]]:
    """Classes with one range each, and (class, tile, bytes) of each allocation."""
    classes = ALLOCATIONS // TILES
    start = rng.integers(0, INDICES - 1, classes)
    end = np.minimum(start + rng.integers(1, 60, classes), INDICES)
    none = np.empty(0, np.int64)
    live = LiveClasses(np.arange(classes + 1), start, end, none, none)
    size = rng.integers(1, 5_000, classes * TILES)
    return live, (np.repeat(np.arange(classes), TILES), np.tile(np.arange(TILES), classes), size)


def slow_peaks(live: LiveClasses, columns: tuple[Int64Array, Int64Array, Int64Array]) -> Int64Array:
    """The peaks of every 40th tile, computed the obvious way."""
    class_, tile, size = columns
    curves = {t: np.zeros(INDICES, np.int64) for t in range(0, TILES, SLOW_TILES)}
    for c, t, n in zip(class_.tolist(), tile.tolist(), size.tolist(), strict=True):
        if t in curves:
            curves[t][live.starts[c] : live.ends[c]] += n
    return np.array([curve.max() for curve in curves.values()])


if __name__ == "__main__":
    sys.exit(main())
