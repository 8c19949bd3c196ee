"""Instrumentation: what each of its three kinds counts, what counting costs, and which rows of the program table a run
on hardware then records.

- Compute: a counter pair around each compute set on every tile (level "tile"), around each vertex ("vertex"), or, with
  a sync after each compute set, as "tile" up to that sync ("ipu", "device"). Exchanges within an IPU and their syncs
  are recorded with it: their length is known from compilation.
- External exchange: a counter pair around each part of a stream copy and each exchange between IPUs, on the tiles that
  take part. Their syncs and waits are recorded with it.
- Control flow: a word for each branch taken and each loop left, written on debug.branchRecordTile as tiles write a
  constant. No public source says how it is written: a guess.

A row that no active kind counts is not recorded, which is not the same as zero cycles. Models count nothing and record
everything.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from popvision.formats.profile.model import CostTerm
from simulator.arrays import BoolArray
from simulator.base.options.compile import CompileSettings
from simulator.compiler.cost.estimate import ComputeEstimate
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.machine import Machine
from simulator.machine import counters, footprint

#: Types of programs that move data over host or IPU links, and those of them that have counters.
_EXTERNAL = frozenset({"StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd", "GlobalExchange"})
_COUNTED_EXTERNAL = frozenset({"StreamCopyMid", "GlobalExchange"})


def needs_sync(level: str, machine: Machine) -> bool:
    """True where a sync follows each compute set."""
    return machine.hardware and level in ("ipu", "device")


def add_compute_counters(
    estimates: list[ComputeEstimate], copies: list[LocalCopy], level: str, machine: Machine
) -> list[ComputeEstimate]:
    """The estimates with the cycles of counters at this level ("" = none). `copies` are the last estimates."""
    if not level or not machine.hardware:
        return estimates
    own = len(estimates) - len(copies)
    return [
        one if index >= own and not copies[index - own].counted else _with_counters(one, index, level, machine)
        for index, one in enumerate(estimates)
    ]


def _with_counters(estimate: ComputeEstimate, index: int, level: str, machine: Machine) -> ComputeEstimate:
    reads = (estimate.cycles > 0).astype(np.int64)
    if level == "vertex" and estimate.vertices:
        reads = np.zeros(machine.tiles, np.int64)
        for row in estimate.vertices:
            reads[machine.tiles_of(row.ipu)] += row.count
    name = f"computeSet:{index}"

    def explain(tile: int) -> list[CostTerm]:
        if not reads[tile]:
            return estimate.explain(tile)
        term = CostTerm(name, counters.TERM, counters.PAIR_CYCLES * int(reads[tile]), counters.SOURCE)
        return [*estimate.explain(tile), term]

    reading = counters.PAIR_CYCLES * reads
    counted = None if estimate.counted is None else estimate.counted.with_more(reading)
    return replace(estimate, cycles=estimate.cycles + reading, counted=counted, explain=explain)


def add_external_counters(table: ProgramTable, settings: CompileSettings, machine: Machine) -> None:
    """Add the cycles of counters around host copies and exchanges between IPUs."""
    if not settings.external_exchange or not machine.hardware:
        return
    for row, type_ in enumerate(table.type):
        work = table.work[row]
        if type_ in _COUNTED_EXTERNAL and work.cycles is not None:
            counted = work.cycles + counters.PAIR_CYCLES * (work.cycles > 0)
            table.work[row] = replace(work, cycles=counted, counter_cycles=counters.PAIR_CYCLES)


def branch_record(settings: CompileSettings, machine: Machine) -> LocalCopy | None:
    """The compute set that records one branch or loop; None where control flow is not instrumented on hardware."""
    if not settings.control_flow or not machine.hardware:
        return None
    written = np.zeros(machine.tiles, np.int64)
    written[settings.branch_record_tile % machine.tiles] = footprint.BRANCH_RECORD_BYTES
    nothing = np.zeros(machine.tiles, np.int64)
    return LocalCopy(moved=nothing, runs=nothing, buffer=nothing, filled=written, counted=False)


def recorded_rows(
    table: ProgramTable, branch_record_set: int, settings: CompileSettings, machine: Machine
) -> BoolArray | None:
    """Flags of the rows whose steps runs record, None = all. `branch_record_set`: the compute set of branch records,
    -1 = none."""
    kinds = (bool(settings.compute_level), settings.external_exchange, settings.control_flow)
    if not machine.hardware or all(kinds):
        return None
    compute, external_exchange, control_flow = kinds
    external = np.array(
        [
            type_ in _EXTERNAL or (type_ == "Sync" and sync == "external")
            for type_, sync in zip(table.type, table.sync_type, strict=True)
        ],
        np.bool_,
    )
    branches = np.array(table.compute_set) == branch_record_set
    branches &= branch_record_set >= 0
    return np.where(external, external_exchange, np.where(branches, control_flow, compute)).astype(np.bool_)
