"""Rules of moving data: waiting for the host, exchanges that take longer than computing, rearranging within tiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import set_apart
from popvision.analysis.execution.overlap import overlapping_copies
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.steps import OF_CYCLES, ProgramSteps, line_of_program
from popvision.analysis.insights.work import LEAST_SHARE
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: The host is worth a finding from this part of the runs' cycles.
_HOST_SHARE = 0.1
_TOP = 3
#: Steps that copy operands within a tile into the order in which a compute set reads them.
_ARRANGES = re.compile(r"/(PreArrange|OnTileCopy)-\d+$")
_ARRANGE_SHARE = 0.1


def host(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Cycles in copies between the host and the device, by stream."""
    rows = steps.of_phase("host")
    total = int(steps.cycles[rows].sum())
    if steps.share(total) < _HOST_SHARE:
        return
    streams: dict[str, list[int]] = {}
    for row in rows.tolist():
        streams.setdefault(steps.name[row], []).append(row)
    cycles_of = {name: int(steps.cycles[each].sum()) for name, each in streams.items() if name}
    timed = [name for name, cycles in cycles_of.items() if cycles]
    largest = sorted(timed, key=lambda name: (-cycles_of[name], name))[:_TOP]
    evidence = tuple(
        Evidence(
            "program",
            int(steps.program[streams[name][0]]),
            name,
            cycles_of[name],
            "cycles",
            *line_of_program(source, int(steps.program[streams[name][0]])),
        )
        for name in largest
    )
    first = f", most of them for {largest[0]}, from begin to end ({cycles_of[largest[0]]:,})" if largest else ""
    yield Finding(
        "host",
        f"The device spends {total:,} cycles in copies from and to the host{first}.",
        total,
        "cycles",
        steps.share(total),
        OF_CYCLES,
        "cycles of all StreamCopyBegin, StreamCopyMid and StreamCopyEnd steps: as if every transfer lay ready",
        evidence,
        "Let the host prefetch (engine option exchange.enablePrefetch, a callback with prefetch), or copy larger parts "
        "less often; Copy programs of several streams that stand together wait once.",
    )


def overlap_lost(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Transfers that wait while others, on tiles of their own, run beside computing."""
    line = timeline(source, steps.ipu)
    counted = ~set_apart(source).steps
    overlapping = overlapping_copies(line, source.reader)
    overlapping = overlapping[counted[overlapping]]
    if not len(overlapping):
        return
    is_copy = np.asarray(line.type) == PROGRAM_TYPES.index("StreamCopyMid")
    copies = np.flatnonzero(is_copy & counted)
    alone = copies[~np.isin(copies, overlapping)]
    lengths = np.asarray(source.reader.steps_on_ipu(steps.ipu).cycles, np.int64)[alone]
    lost = int(lengths.sum())
    if steps.share(lost) < LEAST_SHARE:
        return
    program = np.asarray(line.program, np.int64)[alone]
    cycles = np.bincount(program, weights=lengths).astype(np.int64)
    names = source.reader.programs().name
    longest = [each for each in np.argsort(-cycles, kind="stable")[:_TOP].tolist() if cycles[each]]
    yield Finding(
        "overlap_lost",
        f"{len(overlapping):,} of {len(copies):,} transfers run beside computing on other tiles; the other "
        f"{len(alone):,} take {lost:,} cycles.",
        lost,
        "cycles",
        steps.share(lost),
        OF_CYCLES,
        f"cycles of the StreamCopyMid steps that overlap with nothing ({lost:,})",
        tuple(
            Evidence(
                "program",
                each,
                names[each] or f"program {each}",
                int(cycles[each]),
                "cycles",
                *line_of_program(source, each),
            )
            for each in longest
        ),
        "Map these streams' variables to the tiles that only transfer, and copy them to the computing tiles when they "
        "are needed.",
    )


def exchange(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Exchanges between tiles where they take longer than computing."""
    moved, computed = (int(steps.cycles[steps.of_phase(phase)].sum()) for phase in ("exchange", "compute"))
    if moved <= computed or steps.share(moved) < LEAST_SHARE:
        return
    rows = sorted(steps.of_phase("exchange").tolist(), key=lambda row: (-int(steps.cycles[row]), row))[:_TOP]
    evidence = tuple(
        Evidence(
            "program",
            int(steps.program[row]),
            steps.name[row],
            int(steps.cycles[row]),
            "cycles",
            *line_of_program(source, int(steps.program[row])),
        )
        for row in rows
    )
    yield Finding(
        "exchange",
        f"Exchange between tiles takes {moved:,} cycles, computing {computed:,}; the longest exchange is "
        f"{steps.name[rows[0]]} ({int(steps.cycles[rows[0]]):,}).",
        moved,
        "cycles",
        steps.share(moved),
        OF_CYCLES,
        "cycles of all DoExchange steps: as if all data lay where it is read",
        evidence,
        "Map data to the tiles that read it (graph.setTileMapping, createMatMulInputLHS and RHS); compute partial "
        "results where the data lies and exchange those.",
    )


def rearranging(source: ReportSource, steps: ProgramSteps) -> Iterator[Finding]:
    """Copies within tiles that bring operands into the order in which they are read."""
    rows = [row for row in steps.of_phase("compute").tolist() if _ARRANGES.search(steps.name[row])]
    total = sum(int(steps.cycles[row]) for row in rows)
    if not rows or steps.share(total) < _ARRANGE_SHARE:
        return
    rows.sort(key=lambda row: (-int(steps.cycles[row]), row))
    evidence = tuple(
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
    yield Finding(
        "rearranging",
        f"Tiles spend {total:,} cycles copying operands into the order in which they are read, most of them in "
        f"{steps.name[rows[0]]} ({int(steps.cycles[rows[0]]):,}).",
        total,
        "cycles",
        steps.share(total),
        OF_CYCLES,
        "cycles of all steps that gather operands within tiles (PreArrange, OnTileCopy): as if data lay as it is read",
        evidence,
        "Create operands where and as they are read (poplin.createMatMulInputLHS and RHS, "
        "popops.createSliceableTensor, poputil.createBroadcastOperand), and map the parts that one vertex reads to its "
        "tile in one piece.",
    )
