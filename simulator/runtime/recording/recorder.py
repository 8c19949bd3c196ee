"""Recorder: run records, as reports hold them.

Recorded runs lie end to end on one clock that starts with the first of them. The steps of a modelled run are computed
once: a further run of the same program shares their arrays and moves only their base.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from popvision.formats.profile.model import BranchRecord, RunRecord, TileBlocks
from simulator.arrays import Int64Array
from simulator.compiler.compiled_graph import LoweredPrograms
from simulator.compiler.machine import Machine
from simulator.runtime.clock.device_clock import DeviceClock
from simulator.runtime.clock.segments import RunTime
from simulator.runtime.recording.block_buffers import blocks_of_run, later
from simulator.runtime.recording.branch_record import branch_record


class Recorder:
    """Records up to `runs_kept` runs of each program, with their branch records unless `branch_flush` is off. `records`
    holds them all until `reset`."""

    def __init__(self, lowered: LoweredPrograms, machine: Machine, runs_kept: int, branch_flush: bool = True) -> None:
        self.records: list[RunRecord] = []
        self.block_records: list[list[TileBlocks]] = []  #: of runs that are recorded by their blocks alone
        self.cycles = 0  #: length of all recorded runs
        self._runs_kept = runs_kept
        self._has_branches = lowered.control_flow and branch_flush
        self._counts: dict[int, int] = {}
        self._templates: dict[int, tuple[RunTime, RunRecord]] = {}
        self._known_blocks: dict[int, tuple[RunTime, list[TileBlocks]]] = {}
        self._bytes_in, self._bytes_out = _bytes_by_program(lowered, machine)
        self._lowered = lowered
        self._branches: dict[int, BranchRecord] = {}

    def wants(self, program_index: int) -> bool:
        """Whether a further run of this program is to be recorded."""
        return self._counts.get(program_index, 0) < self._runs_kept

    def record(
        self,
        clock: DeviceClock,
        run: RunTime,
        program_index: int,
        name: str,
        host_start_us: int,
        host_end_us: int,
        choices: Sequence[int] = (),
    ) -> RunRecord:
        """Record one run. `choices`: the branches that data chose in it, in order."""
        template = self._template(clock, run)
        record = RunRecord(
            program_index=program_index,
            name=name,
            host_start_us=host_start_us,
            host_end_us=host_end_us,
            cycles=run.cycles,
            program=template.program,
            base=template.base + self.cycles,
            pattern=template.pattern,
            patterns=template.patterns,
            tail=template.tail,
            data_in=template.data_in,
            data_out=template.data_out,
            truncated=template.truncated,
            branches=self._branch_record(program_index, choices),
            blocks=later(template.blocks, self.cycles),
        )
        self.records.append(record)
        self.cycles += run.cycles
        self._counts[program_index] = self._counts.get(program_index, 0) + 1
        return record

    def record_blocks(self, run: RunTime) -> list[TileBlocks]:
        """Record a run by its blocks alone."""
        assert self._lowered.blocks is not None
        blocks = later(self._blocks(run), self.cycles)
        self.block_records.append(blocks)
        self.cycles += run.cycles
        return blocks

    def reset(self) -> None:
        """Drop all records; the clock starts again."""
        self.records, self.block_records = [], []
        self.cycles = 0
        self._counts = {}

    def _branch_record(self, program_index: int, choices: Sequence[int]) -> BranchRecord | None:
        """None where control flow is not instrumented, or its record not flushed. Runs in which data chose nothing
        share one."""
        if not self._has_branches:
            return None
        if choices:
            return branch_record(self._lowered, program_index, choices)
        if program_index not in self._branches:
            self._branches[program_index] = branch_record(self._lowered, program_index)
        return self._branches[program_index]

    def _template(self, clock: DeviceClock, run: RunTime) -> RunRecord:
        """The record of a run at base 0, without name, index and host time."""
        known = self._templates.get(id(run))
        if known is not None and known[0] is run:
            return known[1]
        segment = run.segment
        step = slice(None) if self._lowered.recorded is None else self._lowered.recorded[segment.program]
        program = segment.program[step]
        of_step = segment.pattern[step]
        used, pattern = np.unique(of_step, return_inverse=True)
        template = RunRecord(
            program_index=0,
            name="",
            host_start_us=0,
            host_end_us=0,
            cycles=run.cycles,
            program=program,
            base=segment.base[step],
            pattern=pattern.reshape(of_step.shape).astype(np.int32),
            patterns=[clock.patterns[i] for i in used.tolist()],
            tail=list(run.tail),
            data_in=self._bytes_in[program],
            data_out=self._bytes_out[program],
            truncated=segment.truncated,
            blocks=self._blocks(run),
        )
        if run.repeatable:
            self._templates[id(run)] = (run, template)
        return template

    def _blocks(self, run: RunTime) -> list[TileBlocks]:
        recording = self._lowered.blocks
        if recording is None:
            return []
        known = self._known_blocks.get(id(run))
        if known is None or known[0] is not run:
            known = run, blocks_of_run(run.segment.marks, recording, self._lowered.table, run.cycles)
            if run.repeatable:
                self._known_blocks[id(run)] = known
        return known[1]


def _bytes_by_program(lowered: LoweredPrograms, machine: Machine) -> tuple[Int64Array, Int64Array]:
    """Bytes received and sent by each lowered program, (programs, ipus of all replicas)."""
    received = np.zeros((len(lowered.table), machine.num_ipus), np.int64)
    sent = np.zeros_like(received)
    for row, work in enumerate(lowered.table.work):
        rx = work.exchange.rx if work.exchange is not None else work.rx
        tx = work.exchange.tx if work.exchange is not None else work.tx
        for table, size in ((received, rx), (sent, tx)):
            if size is not None:
                table[row] = size.reshape(machine.num_ipus, -1).sum(axis=1)
    return np.tile(received, machine.num_replicas), np.tile(sent, machine.num_replicas)
