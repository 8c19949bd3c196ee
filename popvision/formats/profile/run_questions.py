"""Questions about what ran: runs, steps, cycles of tiles, blocks."""

from __future__ import annotations

from collections.abc import Iterator

from popvision.arrays import AnyArray
from popvision.formats.errors import FormatError
from popvision.formats.profile import run_reader
from popvision.formats.profile.model import (
    BranchRecord,
    Runs,
    Steps,
    StepsOnIpu,
    TileBlocks,
)
from popvision.formats.profile.profile_file import ProfileFile, present


class RunQuestions(ProfileFile):
    """What the execution profile says."""

    def runs(self) -> Runs:
        """One row per recorded run."""
        return run_reader.runs(self._tables)

    def steps(self) -> Steps:
        """One row per execution step, all runs."""
        return run_reader.steps(self._tables)

    def step_count(self) -> int:
        """Rows of `steps`, also where another tool's file lacks some of its columns."""
        return run_reader.step_count(self._tables)

    def steps_on_ipu(self, ipu: int) -> StepsOnIpu:
        """One row per execution step on one IPU; cycles, from and to absolute."""
        return run_reader.steps_on_ipu(self._tables, ipu)

    def run_tail(self, run: int, ipu: int) -> AnyArray:
        """Cycles per tile between its last step and the end of the run."""
        found = self._row_arrays("run_tail", {"run": run, "ipu": ipu}, ("tail_array",))
        if found is None:
            raise FormatError(f"{self.path} has no tail of run {run} on IPU {ipu}.")
        return present(found[0])

    def branch_record(self, run: int) -> BranchRecord:
        """What loops and switches did in a run; no rows where control flow was not instrumented."""
        return run_reader.branch_record(self._tables, run)

    def blocks(self, tile: int) -> list[TileBlocks]:
        """What lightweight profiling recorded on a tile, run after run; nothing where it did not, or in a file before
        format 1.2."""
        return run_reader.blocks(self._tables, self.arrays, tile)

    def tiles_with_blocks(self) -> list[int]:
        """Tiles that recorded blocks, ascending."""
        return run_reader.tiles_with_blocks(self._tables)

    def total_cycles(self) -> int:
        """Device cycles of all recorded runs together."""
        return run_reader.total_cycles(self._tables)

    def intervals(self, ipu: int, first_step: int, last_step: int) -> Iterator[tuple[int, int, AnyArray, AnyArray]]:
        """(step, base, start, cycles) of steps first..last, the last included: tile t is busy in
        [base + start[t], base + start[t] + cycles[t]), int64 cycles. Streams: memory does not grow with the window."""
        return run_reader.intervals(self.steps_on_ipu(ipu), self.arrays, first_step, last_step)
