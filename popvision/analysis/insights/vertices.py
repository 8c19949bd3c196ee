"""Rules of vertices and plans: slow codelets, tiny vertices, float where half would do, serial passes, guesses.

A compute set counts for the vertex type that takes most of its thread cycles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.insights.bytes_used import CLOSE
from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.steps import OF_CYCLES, ProgramSteps, line_of_program
from popvision.analysis.insights.work import LEAST_SHARE
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.programs.debug_chain import debug_chain
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Codelets that compute without the AMP units, and broadcasts over rows that are no whole 64-bit vectors.
_SLOW = (
    (
        re.compile(r"^poplin::(ConvPartial(Horizontal|Vertical)Mac|OuterProduct)"),
        "without the AMP units",
        "Give the product or convolution channel counts that are multiples of 16 (half) or 8 (float), or pad them, so "
        "that the planner can use the AMP vertices.",
    ),
    (
        re.compile(r"^popops::BroadcastVectorOuter\w+<.*,true>$"),
        "on rows that are no whole 64-bit vectors",
        "Make the inner dimension a multiple of 4 (half) or 2 (float), or pad it.",
    ),
)
_FLOAT_PRODUCT = re.compile(r"^poplin::ConvPartial(1x1Out|nx1)<float,")
#: Rate of float products beside that of half: 62.5 of 250 TFLOP/s on Mk2, 31.1 of 124.5 on Mk1 (Graphcore's tables).
_FLOAT_RATE = 0.25
_FLOAT_SHARE = 0.5
_SLOW_SHARE = 0.1
_GUESS_SHARE = 0.2
_PASSES = re.compile(r"^(\d+) passes over (\w+) channels", re.MULTILINE)
_TOP = 3
#: Vertices are tiny below this many thread cycles each on average, and many above this many on one tile, four for
#: each worker.
_TINY_CYCLES, _MANY = 40, 24


def slow_vertices(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Compute sets whose vertices take a slow path."""
    types = _types(source, steps)
    for pattern, what, change in _SLOW:
        rows = [row for row, name in types.items() if pattern.match(name)]
        total = sum(int(steps.slowest[row]) for row in rows)
        if not rows or steps.share(total) < _SLOW_SHARE:
            continue
        rows.sort(key=lambda row: (-int(steps.slowest[row]), row))
        yield Finding(
            "slow_vertices",
            f"{_sets(len(rows))} {what}, for {total:,} cycles; the longest is {steps.name[rows[0]]} "
            f"({types[rows[0]]}).",
            total,
            "cycles",
            steps.share(total),
            OF_CYCLES,
            "cycles of the slowest tile in these compute sets: as if the fast codelet took no time",
            _evidence(source, steps, rows),
            change,
        )


def tiny_vertices(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Compute sets with many vertices of a few elements: starting them costs more than their work."""
    columns = source.reader.compute_set_rows()
    for row in steps.of_phase("compute").tolist():
        if steps.share(int(steps.slowest[row])) < LEAST_SHARE:
            continue
        own = (columns["compute_set"] == int(steps.compute_set[row])) & (columns["ipu"] == steps.ipu)
        rows = np.flatnonzero(own & (columns["count_array"] >= 0) & (columns["cycles_array"] >= 0))
        if not len(rows):
            continue
        counts = sum(np.asarray(each, np.int64) for each in source.reader.arrays(columns["count_array"][rows].tolist()))
        cycles = sum(
            np.asarray(each, np.int64) for each in source.reader.arrays(columns["cycles_array"][rows].tolist())
        )
        number, most = int(np.sum(counts)), int(np.max(counts))
        if most <= _MANY or int(np.sum(cycles)) >= _TINY_CYCLES * number:
            continue
        workers = source.reader.target().worker_contexts
        slowest = int(steps.slowest[row])
        lost = slowest - slowest * workers // most
        yield Finding(
            "tiny_vertices",
            f"{steps.name[row]} has {number:,} vertices, up to {most:,} on a tile, of {np.sum(cycles) / number:.0f} "
            f"thread cycles each on average, for {slowest:,} cycles.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"its cycles ({slowest:,}) x (1 - {workers} / {most:,}): one vertex for each worker, as if their number "
            "alone cost time",
            _evidence(source, steps, [row]),
            "Connect longer slices to fewer vertices, six a tile, or use popops, which splits work so.",
        )


def float_products(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Products and convolutions in float that are half of the program or more."""
    types = _types(source, steps)
    rows = [row for row, name in types.items() if _FLOAT_PRODUCT.match(name)]
    total = sum(int(steps.slowest[row]) for row in rows)
    if not rows or steps.share(total) < _FLOAT_SHARE:
        return
    lost = int(total * (1 - _FLOAT_RATE))
    rows.sort(key=lambda row: (-int(steps.slowest[row]), row))
    yield Finding(
        "float_products",
        f"Products and convolutions in float take {total:,} cycles; in half the same units work four times as fast.",
        lost,
        "cycles",
        steps.share(lost),
        OF_CYCLES,
        f"their cycles ({total:,}) x (1 - {_FLOAT_RATE}), the published rates of float and half products",
        _evidence(source, steps, rows),
        "Where the precision allows it, create the operands as HALF (popops.cast); partial sums can stay FLOAT "
        "(option partialsType).",
    )


def serial_passes(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Products and convolutions in passes although the tiles have memory left."""
    memory = if_recorded(partial(memory_by_tile, source, None))
    if memory is None or memory.capacity <= 0 or memory.including_gaps.max() >= CLOSE * memory.capacity:
        return
    left = memory.capacity - int(memory.including_gaps.max())
    for context, rows in _serial_rows(source, steps).items():
        record = source.debug.record(context)
        found = _PASSES.search(str(record.get("arguments", {}).get("plan", "")))
        if found is None:
            continue
        passes, over = int(found[1]), found[2]
        moved = sum(int(steps.cycles[row]) for row in rows if steps.phase[row] in ("exchange", "sync"))
        lost = moved - moved // passes
        if steps.share(lost) < LEAST_SHARE:
            continue
        name = str(record.get("name", ""))
        yield Finding(
            "serial_passes",
            f"{name} works in {passes:,} passes over {over} channels, although every tile has {left:,} B or more left; "
            f"its exchanges and syncs take {moved:,} cycles.",
            lost,
            "cycles",
            steps.share(lost),
            OF_CYCLES,
            f"cycles of its exchanges and syncs ({moved:,}) x (1 - 1 / {passes:,} passes)",
            _evidence(source, steps, sorted(rows, key=lambda row: (-int(steps.cycles[row]), row))),
            "Raise availableMemoryProportion of this product or convolution (options of poplin.matMul and "
            "poplin.convolution), so that it needs fewer passes.",
        )


def guesses(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Cycles whose model is a guess and that carry much of the program."""
    unsure = {each for each, provenance in source.reader.compute_set_provenance() if provenance == "guess"}
    rows = [row for row in steps.of_phase("compute").tolist() if int(steps.compute_set[row]) in unsure]
    total = sum(int(steps.slowest[row]) for row in rows)
    if not rows or steps.share(total) < _GUESS_SHARE:
        return
    rows.sort(key=lambda row: (-int(steps.slowest[row]), row))
    yield Finding(
        "guesses",
        f"{total:,} cycles ({steps.share(total):.0%}) come from cycle estimates that are guesses: other findings about "
        "these compute sets are as uncertain.",
        0,
        "cycles",
        0.0,
        "",
        "cycles of the slowest tile in compute sets that have vertices without a public figure",
        _evidence(source, steps, rows),
        "Write these vertices as C++ codelets (graph.addCodelets), whose instructions are counted, or give them a "
        "cycle estimate that you measured.",
    )


def _types(source: ReportSource, steps: ProgramSteps) -> dict[int, str]:
    """Row of a computing program -> the vertex type that takes most of its compute set's thread cycles."""
    key = ("types_of_programs", source.generation, steps.ipu)
    return source.kept.recent(key, lambda: _read_types(source, steps))


def _read_types(source: ReportSource, steps: ProgramSteps) -> dict[int, str]:
    columns = source.reader.compute_set_rows()
    chosen = np.flatnonzero((columns["ipu"] == steps.ipu) & (columns["cycles_array"] >= 0))
    ids, which = np.unique(columns["cycles_array"][chosen], return_inverse=True)
    arrays = source.reader.arrays(ids.tolist(), narrow=True)
    sums = np.array([np.sum(each, dtype=np.int64) for each in arrays], np.int64)[which]
    largest: dict[int, tuple[int, int]] = {}
    owners, types = columns["compute_set"][chosen].tolist(), columns["vertex_type"][chosen].tolist()
    for owner, type_, spent in zip(owners, types, sums.tolist(), strict=True):
        if spent > largest.get(owner, (-1, -1))[0]:
            largest[owner] = (spent, type_)
    names = source.reader.vertex_types().name
    rows = steps.of_phase("compute").tolist()
    sets = {row: int(steps.compute_set[row]) for row in rows}
    return {row: names[largest[each][1]] for row, each in sets.items() if each in largest}


def _serial_rows(source: ReportSource, steps: ProgramSteps) -> dict[int, list[int]]:
    """Debug context whose plan has serial passes -> rows of the programs below it."""
    try:
        contexts = source.debug
    except NotRecordedError:
        return {}
    planned = {
        number
        for number, record in contexts.records()
        if _PASSES.search(str((record.get("arguments") or {}).get("plan", "")))
    }
    if not planned:
        return {}
    debug = source.reader.programs().debug_id
    below: dict[int, list[int]] = {}
    for row, program in enumerate(steps.program.tolist()):
        own = next((each.id for each in debug_chain(source, int(debug[program])) if each.id in planned), None)
        if own is not None:
            below.setdefault(own, []).append(row)
    return below


def _sets(number: int) -> str:
    return "1 compute set works" if number == 1 else f"{number:,} compute sets work"


def _evidence(source: ReportSource, steps: ProgramSteps, rows: list[int]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            "program",
            int(steps.program[row]),
            steps.name[row],
            int(steps.cycles[row]),
            "cycles",
            *line_of_program(source, int(steps.program[row])),
        )
        for row in rows[:_TOP]
    )
