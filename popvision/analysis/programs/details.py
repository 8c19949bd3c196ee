"""One lowered program in full: facts, figures of each tile, its vertices and the terms of its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Provenance, least_certain
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROVENANCE

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class ProgramFacts:
    """What the tree says of a program. Cycles and bytes as in program_tree; `phase` is "" for programs without time."""

    program: int
    type: str
    name: str
    owner: str
    phase: str
    compute_set: int  #: -1 where none
    compute_set_name: str
    repeat_count: int
    entered: int  #: entries over all recorded runs, from the branch record; -1 where it has none
    trips: int  #: bodies or branches that they ran there; -1 where nothing is recorded
    sync_type: str
    debug_id: int  #: -1 where none
    children: int
    executions: int
    self_cycles: int
    total_cycles: int
    bytes_received: int
    bytes_sent: int
    flops: int  #: of one execution, -1 where not known
    provenance: str  #: the least certain class among its figures, "" where nothing says


@dataclass(frozen=True)
class TileFigures:
    """Per tile of all IPUs, of one execution; None where the report has nothing. `recorded` are the cycles of
    execution step `recorded_step`, the last one of the program."""

    estimated: Int64Array | None
    recorded: Int64Array | None
    recorded_step: int  #: -1 where none
    received: Int64Array | None
    sent: Int64Array | None
    exchange_code: Int64Array | None
    control_code: Int64Array | None


@dataclass(frozen=True)
class CostRow:
    """One term of a figure; `provenance` is one of model.PROVENANCE, taken from the head of the source."""

    object: str
    term: str
    value: float
    provenance: str
    source: str


def program_facts(source: ReportSource, program: int, ipu: int | None = None) -> ProgramFacts:
    """Raises ValueError for a program that is not there."""
    reader = source.reader
    programs = programs_of(source)
    if not 0 <= program < len(programs.type):
        raise ValueError(f"there is no program {program}: ids go from 0 to {len(programs.type) - 1}")
    sums = figures(source, ipu)
    compute_set = int(programs.compute_set[program])
    sets = reader.compute_sets()
    entered, trips = recorded_trips(source, program)
    return ProgramFacts(
        program=program,
        type=programs.type[program],
        name=programs.name[program],
        owner=programs.owner[program],
        phase=PHASE_OF_TYPE.get(programs.type[program], ""),
        compute_set=compute_set,
        compute_set_name=sets.name[compute_set] if compute_set >= 0 else "",
        repeat_count=int(programs.repeat_count[program]),
        entered=entered,
        trips=trips,
        sync_type=programs.sync_type[program],
        debug_id=int(programs.debug_id[program]),
        children=int(programs.child_offsets[program + 1] - programs.child_offsets[program]),
        executions=int(sums.executions[program]),
        self_cycles=int(sums.self_cycles[program]),
        total_cycles=int(sums.total_cycles[program]),
        bytes_received=int(sums.bytes_received[program]),
        bytes_sent=int(sums.bytes_sent[program]),
        flops=int(sets.flops[compute_set]) if compute_set >= 0 else -1,
        provenance=cycles_provenance(source, program),
    )


def recorded_trips(source: ReportSource, program: int) -> tuple[int, int]:
    """How often all recorded runs entered a Repeat or switch, and the bodies or branches they ran there in all; (-1,
    -1) where the branch record has nothing of it (debug.instrumentControlFlow)."""
    entered, trips = -1, -1
    for run in range(len(source.reader.runs().name)):
        record = source.reader.branch_record(run)
        for row in np.flatnonzero(record.program == program).tolist():
            entered = max(entered, 0) + int(record.entered[row])
            trips = max(trips, 0) + int(record.trips[row])
    return entered, trips


def cycles_provenance(source: ReportSource, program: int) -> Provenance:
    """The least certain source of a program's cycles: of its vertices and of the terms stored for it."""
    compute_set = int(programs_of(source).compute_set[program])
    vertices = source.reader.compute_set_vertices(compute_set) if compute_set >= 0 else []
    classes = [part.provenance for part in vertices]
    return least_certain(classes + [row.provenance for row in cost_rows(source, program)])


def tile_figures(source: ReportSource, program: int) -> TileFigures:
    """Figures of every tile, all IPUs in order."""
    reader = source.reader
    target = reader.target()
    parts = [reader.program_on_ipu(program, ipu) for ipu in range(target.num_ipus)]

    def joined(name: str) -> Int64Array | None:
        columns = [None if part is None else getattr(part, name) for part in parts]
        if all(column is None for column in columns):
            return None
        nothing = np.zeros(target.tiles_per_ipu, np.int64)
        return np.concatenate([nothing if column is None else np.asarray(column, np.int64) for column in columns])

    recorded, step = _recorded_cycles(source, program)
    code = (joined("exchange_code"), joined("control_code"))
    return TileFigures(joined("cycles"), recorded, step, joined("rx"), joined("tx"), *code)


def _recorded_cycles(source: ReportSource, program: int) -> tuple[Int64Array | None, int]:
    reader = source.reader
    steps = np.flatnonzero(np.asarray(reader.steps().program) == program)
    if not len(steps) or tiles_unknown(source):  # one duration for many tiles says nothing of a single one
        return None, -1
    step = int(steps[-1])
    ids = [int(reader.steps_on_ipu(ipu).cycles_array[step]) for ipu in range(reader.target().num_ipus)]
    return np.concatenate([np.asarray(array, np.int64) for array in reader.arrays(ids)]), step


def cost_rows(source: ReportSource, program: int) -> list[CostRow]:
    """Terms stored for the program and for its compute set."""
    compute_set = int(programs_of(source).compute_set[program])
    objects = [f"program:{program}"] + ([f"computeSet:{compute_set}"] if compute_set >= 0 else [])
    rows = []
    for name in objects:
        for term in source.reader.cost_terms(name):
            head, colon, rest = term.source.partition(": ")
            is_class = bool(colon) and head in PROVENANCE
            provenance, text = (head, rest) if is_class else ("unknown", term.source)
            rows.append(CostRow(name, term.term, term.value, provenance, text))
    return rows


def code_bytes_of(source: ReportSource, programs: Sequence[int]) -> list[int]:
    """Bytes of exchange and control code of each program over all tiles, without those of programs below."""
    totals = dict.fromkeys(programs, 0)
    for column in ("exchange_code", "control_code"):
        for program, _, values in source.reader.program_columns(column, programs):
            totals[program] += int(np.sum(values, dtype=np.int64))
    return [totals[program] for program in programs]
