"""Operations of a software layer: programs, cycles, code, FLOPs, exchanged bytes and memory of each.

owners.py says what belongs to an operation, code.py how code counts. The other columns:

- cycles: lengths of the steps of its programs over all recorded runs, on one IPU or added up over all of them (then the
  total is the device's times its IPUs), but for runs that happen once per attachment: these are cycles_apart (once.py);
- flops: of one execution of its compute sets, times their recorded executions (`flops_once`: without that factor);
- received, sent: bytes that its steps moved, all IPUs and runs;
- always_live, not_always_live: bytes of the variables created under it, one replica; `live_at_peak`: those of the
  latter that are live at the report's highest liveness index;
- first_index, last_index: first and last (inclusive) liveness index of its programs, -1 where it has none.

Row 0 is "not attributed", so that for each figure the sum of the column is the report's own total.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.liveness.curve import curve, live_classes, peak
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.operations.code import OperationCode, operation_code, vertex_sharing
from popvision.analysis.operations.owners import NO_OPERATION, Owners, owners
from popvision.analysis.report.columns import liveness, programs_of, variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


T = TypeVar("T")

FLOPS = "No FLOPs were recorded: they need profiler.includeFlopEstimates=true."


@dataclass(frozen=True)
class OperationCycles:
    """By operation, row 0 not attributed. `steps` = execution steps of its programs."""

    cycles: Int64Array  #: with `cycles_apart`, adds up to the report's total cycles, times the IPUs that are counted
    cycles_apart: Int64Array  #: of runs that happen once per attachment
    steps: Int64Array
    received: Int64Array
    sent: Int64Array
    ipus: list[int]  #: IPUs whose cycles are counted


@dataclass(frozen=True)
class OperationFlops:
    """Estimated floating point operations, -1 where none of its compute sets has an estimate. Rows add up to the sum
    over compute sets, those without an estimate counting as 0."""

    flops: Int64Array | None  #: of all recorded executions, None where no run was recorded
    flops_once: Int64Array  #: each of its programs executed once


@dataclass(frozen=True)
class OperationMemory:
    """Bytes of one replica. `live_at_peak` is None where no liveness was recorded."""

    always_live: Int64Array
    not_always_live: Int64Array
    live_at_peak: Int64Array | None
    peak_index: int  #: -1 where not recorded


@dataclass(frozen=True)
class Operations:
    """All figures of a layer, one row per operation, row 0 not attributed. A part is None where the report lacks it;
    `missing` then says which option records it."""

    owners: Owners
    programs: Int64Array
    compute_sets: Int64Array
    variables: Int64Array
    tiles: Int64Array  #: tiles on which it has vertices, -1 where not known
    first_index: Int64Array
    last_index: Int64Array
    cycles: OperationCycles | None
    code: OperationCode | None
    flops: OperationFlops | None
    memory: OperationMemory | None
    missing: list[str]
    apart: str  #: what happened once per attachment and is in no share, as a sentence; "" for nothing

    @property
    def remarks(self) -> list[str]:
        """Sentences about the figures: what the report lacks, and what is set apart."""
        return [*self.missing, *([self.apart] if self.apart else [])]

    @property
    def worth_a_column(self) -> tuple[str, ...]:
        """Figures that tables show in this report though they leave them out in others."""
        return ("cycles_apart",) if self.apart else ()

    def columns(self) -> dict[str, Int64Array]:
        """The figures that add up, by name; those that the report lacks are left out."""
        by_name = {name: getattr(self, name) for name in ("programs", "compute_sets", "variables")}
        if self.cycles is not None:
            by_name |= {
                name: getattr(self.cycles, name) for name in ("cycles", "cycles_apart", "steps", "received", "sent")
            }
        if self.code is not None:
            by_name |= {"code": self.code.total, "exchange_code": self.code.exchange}
            by_name |= {"control_code": self.code.control, "vertex_code": self.code.vertex}
        if self.flops is not None:
            by_name["flops_once"] = self.flops.flops_once
            if self.flops.flops is not None:
                by_name["flops"] = self.flops.flops
        if self.memory is not None:
            by_name |= {name: getattr(self.memory, name) for name in ("always_live", "not_always_live")}
            if self.memory.live_at_peak is not None:
                by_name["live_at_peak"] = self.memory.live_at_peak
        return by_name


def operations(source: ReportSource, layer: str = "", ipu: int | None = None) -> Operations:
    """Figures of every operation of a layer. Raises NotRecordedError without debug information, ValueError for a layer
    or an IPU that is not there."""
    ownership = owners(source, layer)
    ipus = target_of(source).num_ipus
    if ipu is not None and not 0 <= ipu < ipus:
        raise ValueError(f"there is no IPU {ipu}: this report has IPUs 0 to {ipus - 1}")
    key = ("operations", source.generation, ipu, ownership.layer)
    return source.kept.recent(key, lambda: _operations(source, ownership, ipu))


def operation_row(sums: Operations, context: int) -> int:
    """The row of the operation whose debug context has this id; ValueError where there is none."""
    rows = np.flatnonzero(sums.owners.context[1:] == context)
    if not len(rows):
        raise ValueError(f"there is no operation {context} in layer {sums.owners.layer}")
    return int(rows[0]) + 1


class _Recorded:
    """What a report holds; `missing` collects what it says of the rest."""

    def __init__(self) -> None:
        self.missing: list[str] = []

    def part(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except NotRecordedError as problem:
            if str(problem) not in self.missing:
                self.missing.append(str(problem))
            return None


def _operations(source: ReportSource, ownership: Owners, ipu: int | None) -> Operations:
    recorded = _Recorded()
    n = len(ownership.context)
    none = np.full(n, -1, np.int64)
    sharing = recorded.part(lambda: vertex_sharing(source, ownership.layer))
    first, last = recorded.part(lambda: _indices(source, ownership)) or (none, none)
    return Operations(
        owners=ownership,
        programs=_count(ownership.program, n),
        compute_sets=_count(ownership.compute_set, n),
        variables=_count(ownership.variable, n),
        tiles=none if sharing is None else sharing.tiles,
        first_index=first,
        last_index=last,
        cycles=recorded.part(lambda: _cycles(source, ownership, ipu)),
        code=recorded.part(lambda: operation_code(source, ownership.layer)),
        flops=recorded.part(lambda: _flops(source, ownership)),
        memory=recorded.part(lambda: _memory(source, ownership)),
        missing=recorded.missing,
        apart=recorded.part(lambda: set_apart(source).sentence) or "",
    )


def _count(owner: Int64Array, n: int) -> Int64Array:
    return np.bincount(owner, minlength=n).astype(np.int64)


def _indices(source: ReportSource, ownership: Owners) -> tuple[Int64Array, Int64Array]:
    """First and last liveness index of the programs of each operation."""
    owner = ownership.program[np.asarray(liveness(source).program, np.int64)]
    index = np.arange(len(owner))
    n = len(ownership.context)
    first, last = np.full(n, len(owner), np.int64), np.full(n, -1, np.int64)
    np.minimum.at(first, owner, index)
    np.maximum.at(last, owner, index)
    return np.where(last < 0, -1, first), last


def _cycles(source: ReportSource, ownership: Owners, ipu: int | None) -> OperationCycles:
    reader = source.reader
    if not len(reader.runs().name):
        raise NotRecordedError(why_no_run(source))
    owner = ownership.program[np.asarray(reader.steps().program, np.int64)]
    n = len(ownership.context)
    by_ipu = [reader.steps_on_ipu(each) for each in range(target_of(source).num_ipus)]
    counted_ipus = list(range(len(by_ipu))) if ipu is None else [ipu]
    cycles, apart, received, sent = (np.zeros(n, np.int64) for _ in range(4))
    of_runs = counted(source)
    for number, each in enumerate(by_ipu):
        if number in counted_ipus:
            cycles += _sums(owner, of_runs.cycles(number), n)
            apart += _sums(owner, of_runs.cycles_apart(number), n)
        received += _sums(owner, each.data_in, n)
        sent += _sums(owner, each.data_out, n)
    cycles[NO_OPERATION] = of_runs.total_cycles * len(counted_ipus) - int(cycles[1:].sum())
    apart[NO_OPERATION] = of_runs.apart.total * len(counted_ipus) - int(apart[1:].sum())
    return OperationCycles(cycles, apart, _count(owner, n), received, sent, counted_ipus)


def _flops(source: ReportSource, ownership: Owners) -> OperationFlops:
    """Programs of one compute set share its estimate: each of them executes it."""
    estimate = np.asarray(source.reader.compute_sets().flops, np.int64)
    compute_set = np.asarray(programs_of(source).compute_set, np.int64)
    program = np.flatnonzero((compute_set >= 0) & (compute_set < len(estimate)))
    program = program[estimate[compute_set[program]] >= 0]
    if not len(program):
        raise NotRecordedError(FLOPS)
    owner, once = ownership.program[program], estimate[compute_set[program]]
    n = len(ownership.context)
    known = np.bincount(owner, minlength=n) > 0
    known[NO_OPERATION] = True
    flops = None
    if len(source.reader.runs().name):
        steps = np.bincount(np.asarray(source.reader.steps().program, np.int64), minlength=len(compute_set))
        flops = np.where(known, _sums(owner, once * steps[program], n), -1)
    return OperationFlops(flops, np.where(known, _sums(owner, once, n), -1))


def _memory(source: ReportSource, ownership: Owners) -> OperationMemory:
    known = variables(source)
    n = len(ownership.context)
    size = np.asarray(known.bytes, np.int64) // target_of(source).num_replicas
    always = np.asarray(known.always_live, bool)
    eq_class = np.asarray(known.eq_class, np.int64)
    temporary = ~always & (eq_class >= 0)
    always_live, at_times = (_sums(ownership.variable[rows], size[rows], n) for rows in (always, temporary))
    try:
        line = curve(source)
    except NotRecordedError:
        return OperationMemory(always_live, at_times, None, -1)
    always_live[NO_OPERATION] = line.always_live - int(always_live[1:].sum())
    index = peak(line).index
    live = temporary & np.isin(eq_class, live_classes(source, index))
    at_peak = _sums(ownership.variable[live], size[live], n)
    at_peak[NO_OPERATION] = int(line.not_always_live[index]) - int(at_peak[1:].sum())
    return OperationMemory(always_live, at_times, at_peak, index)


def _sums(owner: Int64Array, values: npt.NDArray[np.integer], n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, owner, np.asarray(values, np.int64))
    return sums
