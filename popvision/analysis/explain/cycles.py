"""Derivations of cycles: a program on one tile, the length of its step, the programs below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.explain.derivation import Derivation, Term, from_report, stored
from popvision.analysis.programs.details import tile_figures
from popvision.analysis.programs.figures import UNKNOWN, figures
from popvision.analysis.report.columns import programs_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: programs listed below a control program
SHOWN = 30
_NO_WORKER = 255


def times(number: int) -> str:
    """ "once" or "N times"."""
    return "once" if number == 1 else f"{number:,} times"


def stored_terms(source: ReportSource, program: int) -> list[Term]:
    """Terms stored for the program, else for its compute set."""
    compute_set = int(programs_of(source).compute_set[program])
    terms = source.reader.cost_terms(f"program:{program}")
    if not terms and compute_set >= 0:
        terms = source.reader.cost_terms(f"computeSet:{compute_set}")
    return [stored(term) for term in terms]


def tile_of_terms(source: ReportSource, program: int) -> int:
    """The tile that the stored terms speak of, -1 where they name none."""
    return next((int(term.value) for term in stored_terms(source, program) if term.text == "tile"), -1)


def cycles_of_tile(source: ReportSource, program: int, tile: int) -> Derivation:
    """Cycles of one execution on a tile: the stored terms, or what the columns say of another tile."""
    by_tile, terms = tile_figures(source, program), stored_terms(source, program)
    value = next((float(c[tile]) for c in (by_tile.estimated, by_tile.recorded) if c is not None and c.any()), None)
    type_ = programs_of(source).type[program]
    title = f"cycles of one execution on tile {tile}"
    if type_ in ("Sync", "SyncAns", "Sans"):
        return Derivation(title, value, "cycles", _barrier(source, tile), [_BARRIER])
    same = tile_of_terms(source, program) in (-1, tile)
    notes = []
    if not same:
        notes.append(
            f"The report stores terms only for tile {tile_of_terms(source, program)}, the busiest; for tile {tile} it "
            "holds the values listed here."
        )
        terms = _parts_on_tile(source, program, tile)
    elif not terms:
        notes.append("The report stores no terms for this program.")
    derivation = Derivation(title, value, "cycles", terms, notes)
    rest = None if value is None or derivation.sum is None else value - derivation.sum
    if rest is not None and not derivation.complete:
        notes.append(f"The stored terms leave {rest:+,.0f} cycles of the figure unexplained.")
    if by_tile.recorded is not None and value is not None and int(by_tile.recorded[tile]) != int(value):
        notes.append(
            f"The last recorded execution (step {by_tile.recorded_step}) took {int(by_tile.recorded[tile]):,}."
        )
    return derivation


_BARRIER = (
    "A barrier lasts until the last tile arrives, plus a round trip to the controller. Its cycles depend on the run, "
    "so the report stores only the delays."
)


def _barrier(source: ReportSource, tile: int) -> list[Term]:
    target = source.reader.target()
    facts = [from_report("round trip of the tile nearest to the controller", target.min_sync_delay)]
    if target.relative_sync_delay is not None:
        delay = int(target.relative_sync_delay[tile % target.tiles_per_ipu])
        facts.append(from_report("delay of this tile beyond that of the nearest", delay))
    return facts


def _parts_on_tile(source: ReportSource, program: int, tile: int) -> list[Term]:
    """Vertices by worker context for a compute set, bytes for an exchange."""
    by_tile = tile_figures(source, program)
    columns = (
        ("bytes received", by_tile.received),
        ("bytes sent", by_tile.sent),
        ("exchange code", by_tile.exchange_code),
    )
    terms = [from_report(text, int(column[tile])) for text, column in columns if column is not None and column[tile]]
    return terms + _lanes(source, program, tile)


def _lanes(source: ReportSource, program: int, tile: int) -> list[Term]:
    """The longest worker context and the vertices that run on the supervisor, from the table of worker lanes."""
    reader, target = source.reader, source.reader.target()
    compute_set = int(programs_of(source).compute_set[program])
    lanes = reader.vertex_lanes(compute_set, tile // target.tiles_per_ipu) if compute_set >= 0 else None
    if lanes is None:
        return []
    local = tile % target.tiles_per_ipu
    of_tile = slice(int(lanes.tile_offsets[local]), int(lanes.tile_offsets[local + 1]))
    worker, spent = np.asarray(lanes.worker[of_tile], np.int64), np.asarray(lanes.thread_cycles[of_tile], np.int64)
    terms = [from_report("vertices", len(worker))]
    if (worker != _NO_WORKER).any():
        sums = np.bincount(worker[worker != _NO_WORKER], weights=spent[worker != _NO_WORKER]).astype(np.int64)
        longest, contexts = int(np.argmax(sums)), target.worker_contexts
        text = f"{contexts} x {int(sums[longest]):,} thread cycles of worker {longest}"
        terms.append(from_report(text, contexts * int(sums[longest]), 1, "table of worker lanes"))
    alone = int(spent[worker == _NO_WORKER].sum())
    if alone:
        terms.append(from_report("supervisor and multi vertices", alone, 1, "table of worker lanes"))
    return terms


def step_length(source: ReportSource, program: int) -> Derivation | None:
    """How much the last execution added to the total: from the end of what came before to its own end, both on the
    last tile. None for programs without a recorded step."""
    reader = source.reader
    steps = np.flatnonzero(np.asarray(reader.steps().program) == program)
    if not len(steps):
        return None
    step = int(steps[-1])
    every = [reader.steps_on_ipu(ipu) for ipu in range(reader.target().num_ipus)]
    ipu = int(np.argmax([int(columns.cycles[step]) for columns in every]))
    columns = every[ipu]
    terms = [
        from_report("end on the last tile", int(columns.all_to_max[step]), 1),
        from_report("begin on the last tile", int(columns.all_from_max[step]), -1),
        from_report("tiles that take part", int(columns.active_tiles[step])),
        from_report("cycles of the busiest tile", int(columns.max_cycles[step])),
    ]
    title = f"length of its last execution, step {step} on IPU {ipu}"
    return Derivation(title, float(columns.cycles[step]), "cycles", terms)


def sums_of_below(source: ReportSource, program: int) -> Derivation | None:
    """Total cycles over all recorded runs: its own steps, its children and a called function. None where it is its own
    steps alone, executed once."""
    programs, sums = programs_of(source), figures(source)
    total, executions = int(sums.total_cycles[program]), int(sums.executions[program])
    begin, end = (int(programs.child_offsets[program + i]) for i in (0, 1))
    below = [int(child) for child in programs.children[begin:end]]
    if not below and executions <= 1 and (programs.callee is None or programs.callee[program] < 0):
        return None
    if total == UNKNOWN:
        return Derivation("total cycles, all recorded runs", None, "cycles", notes=[sums.calls_unknown])
    terms = []
    if executions:
        terms.append(from_report(f"its own {executions:,} steps", int(sums.self_cycles[program]), 1))
    chosen = sorted((b for b in below if sums.total_cycles[b]), key=lambda child: -int(sums.total_cycles[child]))
    for child in chosen[:SHOWN]:
        text = f"program {child}, {programs.type[child]} {programs.name[child]}".rstrip()
        text += f", entered {times(int(sums.entered[child]))}"
        terms.append(from_report(text, int(sums.total_cycles[child]), 1))
    rest = sum(int(sums.total_cycles[child]) for child in chosen[SHOWN:])
    if rest:
        terms.append(from_report(f"{len(chosen) - SHOWN:,} further programs", rest, 1))
    derivation = Derivation("total cycles, all recorded runs", float(total), "cycles", terms)
    if programs.callee is not None and int(programs.callee[program]) >= 0:
        callee = int(programs.callee[program])
        derivation.notes.append(f"It calls program {callee}; other calls of that program count at their callers.")
    elif terms and not derivation.complete:
        derivation.notes.append("On several IPUs each part counts the IPU where it takes longest.")
    return derivation
