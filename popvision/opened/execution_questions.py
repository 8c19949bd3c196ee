"""What ran: runs, steps, cycles of tiles, phases, exchanges. Cycles are tile clock cycles of the device; host times are
wall time, and the two never mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import bandwidth, fans, moved, ran
from popvision.analysis.execution.intervals import interval_table
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.liveness.device_time import NOT_RUN
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.analysis.summary.facts import run_rows
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd

    from popvision.formats.profile.model import StepsOnIpu


#: Cells of an array of steps x tiles that is returned whole: 1 GB.
MOST_CELLS = 128_000_000

_ON_IPU = {
    "cycles": "step_cycles",
    "active_tiles": "active_tiles",
    "active_from_min": "active_from_min_cycle",
    "active_from_max": "active_from_max_cycle",
    "active_to_min": "active_to_min_cycle",
    "active_to_max": "active_to_max_cycle",
    "all_from_min": "all_from_min_cycle",
    "all_from_max": "all_from_max_cycle",
    "all_to_min": "all_to_min_cycle",
    "all_to_max": "all_to_max_cycle",
    "tile_cycles": "tile_cycles",
    "max_cycles": "longest_tile_cycles",
    "data_in": "data_in_bytes",
    "data_out": "data_out_bytes",
    "tile_balance": "tile_balance",
    "active_tile_balance": "active_tile_balance",
}


class ExecutionQuestions(Asked):
    """An execution step is what ran, in order, over all recorded runs; its number is the row of `steps()`."""

    @question
    def runs(self) -> pd.DataFrame:
        """A row per recorded run: run, name, program_index, steps, run_cycles, device_us (cycles / clock),
        host_start_us (since the epoch), host_us, truncated (the cap on recorded steps was reached)."""
        rows = run_rows(self.source)
        names = (
            "run",
            "name",
            "program_index",
            "steps",
            "cycles",
            "device_us",
            "host_start_us",
            "host_us",
            "truncated",
        )
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        return self._frame({{"cycles": "run_cycles"}.get(name, name): values for name, values in columns.items()})

    @question
    def steps(self) -> pd.DataFrame:
        """A row per execution step: step, run, program, type, phase ("compute", "exchange", "global exchange", "host",
        "sync" or ""), name, compute_set (-1 where none), step_cycles (its length on the IPU where it is longest),
        data_in_bytes, data_out_bytes (all IPUs)."""
        reader = self.source.reader
        rows = reader.steps()
        n = len(rows.program)
        cycles, inward, outward = (np.zeros(n, np.int64) for _ in range(3))
        for ipu in range(target_of(self.source).num_ipus if n else 0):
            steps = reader.steps_on_ipu(ipu)
            cycles = np.maximum(cycles, steps.cycles)
            inward, outward = inward + steps.data_in, outward + steps.data_out
        return self._frame(
            self._named_steps(np.arange(n))
            | {"step_cycles": cycles, "data_in_bytes": inward, "data_out_bytes": outward}
        )

    @question
    def steps_on_ipu(self, ipu: int = 0) -> pd.DataFrame:
        """A row per execution step on one IPU: step, run, program, type, phase, name, compute_set; step_cycles (lengths
        add up to the total), active_tiles, windows over active and over all tiles (<active|all>_<from|to>_<min|max>
        _cycle, absolute), tile_cycles (sum over tiles), longest_tile_cycles, data_in_bytes, data_out_bytes,
        tile_balance and active_tile_balance (mean / maximum, 0 to 1)."""
        steps = self._on_ipu(ipu)
        figures = {name: np.asarray(getattr(steps, field)) for field, name in _ON_IPU.items()}
        return self._frame(self._named_steps(np.arange(len(steps.cycles))) | figures, ipu=ipu)

    @question
    def cycles_by_tile(self, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
        """(steps, tiles of the IPU) cycles of steps `first` to `last`, the last included (all of them by default):
        0 = the tile takes no part. FormatError for more than 128 million cells: ask for windows."""
        return self._cells(first, last, ipu, begins=False)

    @question
    def begins_by_tile(self, first: int = 0, last: int | None = None, ipu: int = 0) -> Int64Array:
        """(steps, tiles of the IPU) absolute cycle at which each tile begins each step; see `cycles_by_tile`."""
        return self._cells(first, last, ipu, begins=True)

    @question
    def phases(self, ipu: int | None = None) -> pd.DataFrame:
        """A row per phase over all recorded runs, on one IPU or all: phase, tile_cycles (sum over tiles),
        average_cycles (per tile), time_share (they add up to 1; waiting counts as sync)."""
        self._check_run()
        if ipu is not None:
            self._on_ipu(ipu)
        found = phase_totals(self.source, ipu=ipu)
        return self._frame(
            {
                "phase": list(PHASES),
                "tile_cycles": [found.tile_cycles[each] for each in PHASES],
                "average_cycles": [found.average(each) for each in PHASES],
                "time_share": [found.share(each) for each in PHASES],
            }
        )

    @question
    def intervals(self) -> pd.DataFrame:
        """Tiles in each phase over time, a row per change: begin_cycle, end_cycle, computing, exchanging, syncing
        (numbers of tiles): the rows of Poplar's reportIntervals, several for each step."""
        self._check_run()
        table = interval_table(self.source)
        return self._frame(
            {
                "begin_cycle": table.begin,
                "end_cycle": table.end,
                "computing": table.computing,
                "exchanging": table.exchanging,
                "syncing": table.syncing,
            }
        )

    @question
    def exchanges(self) -> pd.DataFrame:
        """A row per program that moves bytes: program, type, name; of one execution over all tiles received_bytes,
        sent_bytes (a multicast once), receivers, senders, messages (missing where not recorded), code_bytes,
        busiest_tile (receives most), busiest_tile_bytes; each_cycles (mean of recorded executions, else the estimate),
        achieved_bytes_per_cycle, possible_bytes_per_cycle; over all recorded runs executions, total_received_bytes,
        total_sent_bytes."""
        import pandas as pd

        m, r, b, f = moved(self.source), ran(self.source), bandwidth(self.source), fans(self.source)
        return self._frame(
            {
                "program": m.program,
                "type": m.type,
                "name": m.name,
                "received_bytes": m.received,
                "sent_bytes": m.sent,
                "receivers": m.receivers,
                "senders": m.senders,
                "messages": pd.arrays.IntegerArray(f.messages, f.messages < 0),
                "code_bytes": m.code,
                "busiest_tile": m.worst_tile,
                "busiest_tile_bytes": m.worst_bytes,
                "each_cycles": b.cycles_each,
                "achieved_bytes_per_cycle": b.achieved,
                "possible_bytes_per_cycle": b.possible,
                "executions": r.executions,
                "total_received_bytes": r.received,
                "total_sent_bytes": r.sent,
            }
        )

    @question
    def messages(self, program: int) -> pd.DataFrame:
        """Who sends to whom in one exchange program: source_tile, target_tile, message_bytes of one execution.

        Raises NotRecordedError for host copies and where messages were not recorded."""
        found = messages_of(self.source, program)
        columns = {"source_tile": found.src, "target_tile": found.dst, "message_bytes": found.bytes}
        return self._frame(columns, program=program)

    def _named_steps(self, step: Int64Array) -> dict[str, Any]:
        rows, programs = self.source.reader.steps(), programs_of(self.source)
        types = [PROGRAM_TYPES[each] for each in np.asarray(rows.type).tolist()]
        return {
            "step": step,
            "run": np.asarray(rows.run, np.int64),
            "program": np.asarray(rows.program, np.int64),
            "type": types,
            "phase": [PHASE_OF_TYPE.get(each, "") for each in types],
            "name": [programs.name[each] for each in np.asarray(rows.program).tolist()],
            "compute_set": np.asarray(rows.compute_set, np.int64),
        }

    def _on_ipu(self, ipu: int) -> StepsOnIpu:
        count = target_of(self.source).num_ipus
        if not 0 <= ipu < count:
            raise ValueError(f"IPU {ipu} does not exist: this report has IPUs 0 to {count - 1}")
        return self.source.reader.steps_on_ipu(ipu)

    def _cells(self, first: int, last: int | None, ipu: int, begins: bool) -> Int64Array:
        steps, tiles = len(self._on_ipu(ipu).cycles), target_of(self.source).tiles_per_ipu
        self._check_run()
        last = steps - 1 if last is None else last
        if not 0 <= first <= last < steps:
            raise ValueError(f"steps {first} to {last} do not exist: this report has steps 0 to {steps - 1}")
        count = last - first + 1
        if count * tiles > MOST_CELLS:
            raise ValueError(f"{count:,} steps x {tiles:,} tiles is too much at once; ask for fewer steps at a time")
        cells = np.zeros((count, tiles), np.int64)
        for step, base, start, cycles in self.source.reader.intervals(ipu, first, last):
            cells[step - first] = base + start if begins else cycles
        return cells

    def _check_run(self) -> None:
        if not len(self.source.reader.steps().program):
            raise NotRecordedError(NOT_RUN)
