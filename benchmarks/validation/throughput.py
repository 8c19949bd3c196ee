"""Rates of whole programs (published-numbers 4 and 7.4): AMP on all tiles of Bow, and stages of partial sums."""

from __future__ import annotations

from benchmarks.validation.one_tile import busiest, product
from benchmarks.validation.row import EXACT, Group, Row, percent
from simulator.machine.cycles.partial_reduction import stage_depths
from simulator.machine.targets import BOW

ROWS = 2048


def groups() -> list[Group]:
    """The rate of AMP from the compiled product of one tile, and stages that add the partial sums of products."""
    cycles = busiest(product(ROWS), "Convolve", hardware=True)
    rate = 2 * ROWS * 16 * 16 * BOW.tiles * BOW.clock_hz / cycles / 1e12
    amp = Row("AMP 16 x 16 half, 2,048 rows on each of 1,472 tiles of Bow", 334.94, rate, "TFLOP/s", "4", percent(1))
    stages = [
        Row(f"stages of {n} partial sums of a product", published, len(stage_depths(n)) + 1, "", "7.4", EXACT)
        for n, published in ((15, 1), (16, 2), (124, 2), (125, 3))
    ]
    about = "Every tile has the same vertex, so the rate follows from its cycles on hardware and the clock."
    return [Group("Throughput and stages", about, [amp, *stages])]
