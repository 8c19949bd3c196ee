"""Rules of computing: tiles that wait for one tile, tiles without work, small steps, copies that a loop repeats.

All bounds are device cycles over the recorded runs, of the IPU whose steps take longest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.steps import OF_CYCLES, ProgramSteps, last_tile, line_of_program
from popvision.analysis.report.nouns import with_noun

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: A finding could save at least this part of the runs' cycles.
LEAST_SHARE = 0.02
#: Tiles that work in a step are balanced when they do at least this part of what the slowest does, on average.
BALANCED = 0.8
#: Cycles of the slowest tile below which a sync and the launch of an exchange cost about as much as the step.
SMALL_STEP = 300
#: Copies of a program are named so by the compiler, and copies that bring operands together before a compute set.
_COPY = re.compile(r"^copy\d+_")
_ARRANGES = re.compile(r"/(PreArrange|OnTileCopy)-\d+$")


def imbalance(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Programs in which one tile takes much longer than the average of those that work."""
    for row in steps.of_phase("compute").tolist():
        active = max(int(steps.active[row]), 1)
        slowest, mean = int(steps.slowest[row]), int(steps.tile_cycles[row]) // active
        lost = slowest - mean
        if (
            slowest == 0
            or _ARRANGES.search(steps.name[row])
            or mean / slowest >= BALANCED
            or steps.share(lost) < LEAST_SHARE
        ):
            continue
        tile, spent = last_tile(source, steps.ipu, int(steps.first_step[row]))
        place = line_of_program(source, int(steps.program[row]))
        yield Finding(
            "imbalance",
            f"{_named(steps, row)} waits for tile {tile}: it takes {slowest:,} cycles where the {active:,} tiles at "
            f"work take {mean:,} on average.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"cycles of the slowest tile ({slowest:,}) less the mean of the tiles that work ({mean:,}), over "
            f"{int(steps.executions[row]):,} executions",
            (_program(steps, row, place), Evidence("tile", tile, f"tile {tile}", spent, "cycles", *place)),
            "Spread the vertices of the slowest tile over others: graph.setTileMapping of vertices and of the data "
            "that they read.",
        )


def few_tiles(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Programs that compute on less than half of the tiles of the IPU."""
    for row in steps.of_phase("compute").tolist():
        active, slowest = int(steps.active[row]), int(steps.slowest[row])
        if not 0 < active * 2 < steps.tiles or _ARRANGES.search(steps.name[row]):
            continue
        lost = slowest - slowest * active // steps.tiles
        if steps.share(lost) < LEAST_SHARE:
            continue
        place = line_of_program(source, int(steps.program[row]))
        tiles = with_noun(active, "tile")
        yield Finding(
            "few_tiles",
            f"{_named(steps, row)} computes on {tiles} of {steps.tiles:,}, for {slowest:,} cycles.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"its cycles ({slowest:,}) x (1 - {active:,} / {steps.tiles:,}): the same work on all tiles",
            (_program(steps, row, place),),
            "Map the variables over more tiles (poputil.mapTensorLinearly) and make a vertex for each part.",
        )


def repeated_copies(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Copies that run more often than the program, so in a loop."""
    runs = len(source.reader.runs().name)
    for row in steps.of_phase("exchange", "compute").tolist():
        executions, cycles = int(steps.executions[row]), int(steps.cycles[row])
        if not _COPY.match(steps.name[row]) or executions <= runs:
            continue
        lost = cycles - cycles * runs // executions
        if steps.share(lost) < LEAST_SHARE:
            continue
        place = line_of_program(source, int(steps.program[row]))
        yield Finding(
            "repeated_copy",
            f"{_named(steps, row)} runs {executions:,} times in {with_noun(runs, 'run')}, for {cycles:,} cycles.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"its cycles ({cycles:,}) x (1 - {runs:,} / {executions:,}): once a run, before the loop",
            (_program(steps, row, place),),
            "Copy before the Repeat what does not change in it; create operands in the layout that is read "
            "(poplin.createMatMulInputLHS and RHS), so that no copy is needed.",
        )


def small_steps(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Many short steps: each pays for a sync."""
    rows = [row for row in steps.of_phase("compute").tolist() if 0 < _each(steps, row) < SMALL_STEP]
    count = sum(int(steps.executions[row]) for row in rows)
    syncs = steps.of_phase("sync")
    total = int(steps.executions[syncs].sum())
    if not rows or not total:
        return
    mean = int(steps.cycles[syncs].sum()) // total
    lost = min(count, total) * mean
    longest = max(rows, key=lambda row: int(steps.executions[row]))
    if steps.share(lost) < 5 * LEAST_SHARE or len(rows) < 2:
        return
    yield Finding(
        "small_steps",
        f"{count:,} of the steps that compute take under {SMALL_STEP} cycles, and a sync takes {mean:,}.",
        lost,
        "cycles",
        steps.share(lost),
        OF_CYCLES,
        f"{min(count, total):,} syncs x {mean:,} cycles on average: all small steps in one",
        tuple(_program(steps, row, line_of_program(source, int(steps.program[row]))) for row in (longest,)),
        "Put vertices that do not depend on each other into one compute set; let one popops.map compute an "
        "expression of several operators.",
    )


def _each(steps: ProgramSteps, row: int) -> int:
    return int(steps.slowest[row]) // max(int(steps.executions[row]), 1)


def _named(steps: ProgramSteps, row: int) -> str:
    return steps.name[row] or f"{steps.type[row]} {int(steps.program[row])}"


def _program(steps: ProgramSteps, row: int, place: tuple[str, int]) -> Evidence:
    return Evidence("program", int(steps.program[row]), _named(steps, row), int(steps.cycles[row]), "cycles", *place)
