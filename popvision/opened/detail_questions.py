"""Questions that look closer: source lines, worker lanes, blocks, host copies, liveness over time, two reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.exchange.host import host_copies
from popvision.analysis.execution.worker_lanes import NO_CONTEXT, worker_lanes
from popvision.analysis.liveness.curve import curve
from popvision.analysis.liveness.device_time import timed_steps
from popvision.analysis.memory.binary_memory import binary_bytes
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.programs.table import FIELDS, compared_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.analysis.source_code.lines import file_table, line_table, places
from popvision.arrays import Int64Array
from popvision.opened.asked import Asked, question
from popvision.opened.liveness_questions import scope
from popvision.opened.program_questions import COLUMNS
from popvision.query.functions import BLOCK_KINDS

if TYPE_CHECKING:
    import pandas as pd


#: Column of `source_lines` -> column here.
_LINES = {
    "File": "file",
    "Line": "line",
    "Lines": "lines",
    "Cycles": "total_cycles",
    "Received": "received_bytes",
    "Live": "live_bytes",
    "Executions": "executions",
    "Programs": "programs",
    "Variables": "variables",
}

_NO_BLOCKS = (
    "This report holds no blocks of tile {tile}: they need profiler.blocks.filter or profiler.programs.filter, and the "
    "tile among profiler.blocks.tile."
)


class DetailQuestions(Asked):
    """Closer looks."""

    @question
    def source_files(self, ipu: int | None = None) -> pd.DataFrame:
        """A row per source file of the program, most cycles first: file ("" = not attributed), lines (that made
        something), total_cycles, received_bytes, live_bytes (at the peak).

        Raises NotRecordedError without debug information."""
        return self._labelled(file_table(self.source, ipu).rename(columns=_LINES).reset_index(drop=True))

    @question
    def source_lines(self, file: str, ipu: int | None = None) -> pd.DataFrame:
        """A row per line of a file that made something: line, total_cycles, received_bytes, live_bytes, executions,
        programs, variables."""
        if file not in set(places(self.source).file):
            raise ValueError(f"no line of file {file[:200]!r} made anything; source_files() lists the files")
        return self._labelled(line_table(self.source, file, ipu).rename(columns=_LINES), file=file)

    @question
    def worker_lanes(self, compute_set: int, tile: int) -> pd.DataFrame:
        """Which vertex of a compute set runs on which worker of a tile, in issue order, by the estimate: vertex_type,
        worker (-1: on the whole tile), thread_cycles as stored, begin_cycle and end_cycle from the begin of the
        compute set."""
        found, types = worker_lanes(self.source, compute_set, tile), self.source.reader.vertex_types().name
        return self._frame(
            {
                "vertex_type": [types[each] for each in found.vertex_type.tolist()],
                "worker": np.where(found.worker == NO_CONTEXT, -1, found.worker),
                "thread_cycles": found.thread_cycles,
                "begin_cycle": found.begin,
                "end_cycle": found.end,
            },
            compute_set=compute_set,
            tile=tile,
        )

    @question
    def blocks(self, tile: int = 0) -> pd.DataFrame:
        """What lightweight profiling recorded on a tile, in order: run, program (-1 for an overflow), type, name, kind
        ("common", "overflow", "flush" or "stream copy"), begin_cycle, end_cycle.

        Raises NotRecordedError for a tile without blocks."""
        count = target_of(self.source).num_tiles
        if not 0 <= tile < count:
            raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {count - 1}")
        found, programs = self.source.reader.blocks(tile), programs_of(self.source)
        if not found:
            raise NotRecordedError(_NO_BLOCKS.format(tile=tile))
        program, kind, begin, end = (
            np.concatenate([np.asarray(getattr(each, name), np.int64) for each in found])
            for name in ("program", "kind", "start", "end")
        )
        ids = program.tolist()
        return self._frame(
            {
                "run": np.repeat(np.arange(len(found)), [len(each.program) for each in found]),
                "program": program,
                "type": [programs.type[each] if each >= 0 else "" for each in ids],
                "name": [programs.name[each] if each >= 0 else "" for each in ids],
                "kind": [BLOCK_KINDS.get(each, "unknown") for each in kind.tolist()],
                "begin_cycle": begin,
                "end_cycle": end,
            },
            tile=tile,
        )

    @question
    def host_copies(self) -> pd.DataFrame:
        """A row per copy between host and device, most bytes first, over all recorded runs: program, name, executions,
        to_device_bytes, to_host_bytes, begin_cycles (waiting), mid_cycles (moving), end_cycles,
        achieved_bytes_per_cycle, use_share (of what the host link could move)."""
        import pandas as pd

        names = ("program", "name", "executions", "to_device", "to_host", "begin", "mid", "end", "achieved", "use")
        table = pd.DataFrame(host_copies(self.source), columns=list(names))
        ends = {"to_device": "to_device_bytes", "to_host": "to_host_bytes", "begin": "begin_cycles"}
        ends |= {"mid": "mid_cycles", "end": "end_cycles", "achieved": "achieved_bytes_per_cycle", "use": "use_share"}
        return self._labelled(table.rename(columns=ends).astype({"begin_cycles": "Int64", "end_cycles": "Int64"}))

    @question
    def liveness_over_time(self, run: int = 0, ipu: int = 0, tile: int | None = None) -> pd.DataFrame:
        """What is live while a run goes on, on an IPU or one tile: step, begin_cycle, end_cycle, liveness_index (-1
        before the first known one), live_bytes (missing there)."""
        import pandas as pd

        timed = timed_steps(self.source, run, ipu)
        line = curve(self.source, scope(None if tile is not None else ipu, tile))
        index = timed.carried()
        live = line.not_always_live[np.maximum(index, 0)] + line.always_live
        return self._frame(
            {
                "step": timed.step,
                "begin_cycle": timed.begin,
                "end_cycle": timed.end,
                "liveness_index": index,
                "live_bytes": pd.arrays.IntegerArray(live.astype(np.int64), index < 0),
            },
            run=run,
        )

    @question
    def binary_bytes(self, replica: int | None = None) -> Int64Array:
        """Bytes of the sections of each tile's image in archive.a, an array over tiles; 0 where a tile has none.

        Raises NotRecordedError without archive.a (autoReport.outputArchive)."""
        return binary_bytes(self.source, replica)

    @question
    def compared_programs(self, other: Asked, by: str = "self_cycles", ipu: int | None = None) -> pd.DataFrame:
        """This report's programs beside those of `other` (popvision.open), largest difference first: program,
        other_program (missing where only one has it), type, name, matched (how), `by` and other_`by`. `by` is one of
        self_cycles, total_cycles, executions, received_bytes, sent_bytes, live_bytes, code_bytes, trips."""
        fields = {COLUMNS.get(field, field): field for field in FIELDS}
        if by not in fields:
            raise ValueError(f"there is no figure {by!r} of programs; use one of {', '.join(fields)}")
        field = fields[by]
        table = compared_frame(self.source, other.source, field, ipu)
        names = {"id": "program", "target_id": "other_program"}
        names |= {f"{field}_source": by, f"{field}_target": f"other_{by}"}
        return self._labelled(table.rename(columns=names), other=str(other.source.reader.path))
