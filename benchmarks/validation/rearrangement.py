"""Published figures of work that is bound by moving data: halos exchanged in five ways, rows gathered and scattered.

None is used for a constant, and none is in the collection of published figures; `halo_copies` and `row_lookups` name
the sources and hold the programs.
"""

from __future__ import annotations

from benchmarks.validation import halo_copies, row_lookups
from benchmarks.validation.row import REPORTED, Group, Row
from simulator.machine.targets import BOW

#: 32 rows of the grid: its ends, with one neighbour less, count little
TILES = 64
SIDE = 100

_ABOUT = (
    "Not used for any constant, tuned to by nobody. Halos: L = T. Louw, lbm-graphcore, "
    "experiments/halo-exchange-approaches: the Mk1 IPU Model of the SDK, 100 x 100 floats on each of 1,216 tiles; an "
    "iteration is two exchanges and two stencils of 100 cycles. Ours runs the published copies on 64 tiles (all 1,216: "
    "within 1 % in all, 4 % in exchange). Copies are the published compute with idle threads less the stencils. "
    "Halos that are edges of the vertex agree. Explicit copies do not: filling a halo takes 5,500 to 9,900 cycles on a "
    "published tile and 900 to 1,614 on ours, and copies added tile by tile, which the SDK ran one after the other "
    "(99.9 % of its cycles are sync), are one exchange here, in all 3,254 times too fast. "
    "Rows: G = Gradient-Pytorch-Geometric, precomputed_results/ipu: floats, Bow hardware, in a loop of PopTorch; ours "
    "is the same PopLibs call with a plan, without the framework's copies and casts of indices around it: all gathers "
    "are short by 440 to 5,800 cycles for that. Scatter-adds: PopLibs' planner cuts the lookups into groups, each adds "
    "to zeros of its own, and a reduction follows; the workers of a tile share its rows, so each applies its own "
    "lookups and skips the others (5 cycles). The published estimator of the vertex lets one worker apply all of "
    "them; on the IPU Model, which has it, the three larger rows take 11,805, 50,854 and 80,709 cycles, so hardware "
    "does not. Paths: `benchmarks/validation/halo_copies.py`, `row_lookups.py`. "
    "Found but not expressed: exchange and copies of a Gaussian blur on hardware (L, "
    "experiments/gaussian-blur-scaling: the stored program is not the one measured), sparse products of PopSparse (no "
    "such library here), attention in nanoGPT (only the bytes of a whole model that overflows). Of FFT, sorting and "
    "graph traversal no figure with a stated program was found."
)


def groups() -> list[Group]:
    """Cycles of an iteration or of an operation."""
    rows = [row for strategy in halo_copies.STRATEGIES for row in _halo_rows(strategy)]
    for name, build, figures in (
        ("gather", row_lookups.gather, row_lookups.GATHERS),
        ("scatter-add", row_lookups.scatter_add, row_lookups.SCATTERS),
    ):
        for sizes, figure in figures.items():
            ours = row_lookups.cycles(build(sizes, BOW.tiles))
            quantity = f"{name}, {sizes.inputs:,} rows of {sizes.features} to {sizes.outputs:,}"
            rows.append(Row(quantity, round(figure), ours, "cycles", "G", REPORTED))
    return [Group("Rearrangement-bound work", _ABOUT, rows)]


def _halo_rows(strategy: str) -> list[Row]:
    theirs, ours = halo_copies.published(strategy), halo_copies.measure(strategy, TILES, SIDE)
    pairs = zip(("an iteration", "exchange of the mean tile", "copies of the mean tile"), theirs, ours, strict=True)
    return [
        Row(f"halos, {strategy}: {name}", round(published), figure, "cycles", "L", REPORTED)
        for name, published, figure in pairs
        if published
    ]
