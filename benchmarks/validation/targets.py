"""Constants of the three chips (published-numbers 1), read through the target of a model."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.validation.row import EXACT, Group, Row, percent
from simulator.base.target import Target
from simulator.base.types import FLOAT, HALF
from simulator.machine.physical_tiles import bus_of_tiles
from simulator.poplar import IPUModel

CHIPS = ("ipu1", "ipu2", "ipu21")
#: title -> (unit, getter of our target, published figure of Mk1, Mk2 and Bow; None = not published)
FACTS: dict[str, tuple[str, Callable[[Target], float], tuple[float | None, ...]]] = {
    "tiles": ("", lambda t: t.getNumTiles(), (1216, 1472, 1472)),
    "memory per tile": ("B", lambda t: t.getBytesPerTile(), (256 * 1024, 638_976, 638_976)),
    "clock": ("Hz", lambda t: t.getTileClockFrequency(), (1.6e9, 1.33e9, 1.85e9)),
    "worker contexts": ("", lambda t: t.getNumWorkerContexts(), (6, 6, 6)),
    "memory element": (
        "B",
        lambda t: t.getMemoryElementOffsets()[1] - t.getMemoryElementOffsets()[0],
        (16384, 16384, 16384),
    ),
    "beginning of interleaved memory": ("B", lambda t: t.region_split, (131_072, 208 * 1024, 208 * 1024)),
    "tiles that share an exchange bus": (
        "",
        lambda t: max(map(list(bus_of_tiles(t.physical_tiles())).count, range(4))),
        (2, 2, 2),
    ),
    "multiply-accumulates of halves per cycle": ("", lambda t: t.chip.peak_half_macs, (32, 64, 64)),
    "multiply-accumulates of floats per cycle": ("", lambda t: t.chip.peak_float_macs, (8, 16, 16)),
    "floats of a vector": ("", lambda t: t.getVectorWidth(FLOAT), (2, 2, 2)),
    "halves of a vector": ("", lambda t: t.getVectorWidth(HALF), (4, 4, 4)),
}
#: figures published with two or three digits
ROUNDED: dict[str, tuple[str, Callable[[Target], float], tuple[float | None, ...]]] = {
    "exchange": (
        "TB/s",
        lambda t: t.getExchangeBytesPerCycle() * t.getNumTiles() * t.getTileClockFrequency() / 1e12,
        (7.78, 7.83, 10.9),
    ),
    "peak of halves": (
        "TFLOP/s",
        lambda t: 2 * t.chip.peak_half_macs * t.getNumTiles() * t.getTileClockFrequency() / 1e12,
        (124.5, 250.6, 348.6),
    ),
    "peak of floats": (
        "TFLOP/s",
        lambda t: 2 * t.chip.peak_float_macs * t.getNumTiles() * t.getTileClockFrequency() / 1e12,
        (31.1, 62.6, 87.1),
    ),
    "memory of an IPU": ("MB of 2^20 B", lambda t: t.getMemoryBytes() / 2**20, (304.0, 897.0, 897.0)),
}


def groups() -> list[Group]:
    """All published constants of all chips."""
    rows = []
    for table, bound in ((FACTS, EXACT), (ROUNDED, percent(1))):
        for title, (unit, read, published) in table.items():
            for chip, figure in zip(CHIPS, published, strict=True):
                if figure is not None:
                    target = IPUModel(chip).createDevice().getTarget()
                    rows.append(Row(f"{chip}: {title}", figure, read(target), unit, "1", bound))
    return [Group("Targets", "Rounded figures within 1 %.", rows)]
