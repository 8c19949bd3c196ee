"""The execution steps of one IPU on the device's time axis, as flat bars that follow each other without gaps.

Step s takes [begin[s], end[s]) with begin = cyclesFrom.max and end = cyclesTo.max over all tiles of the IPU, so that
the end of a step is the begin of the next and the lengths add up to the total. A step can be busy outside its bar, on
tiles that are ahead of the slowest: `spans` says from when to when any tile takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.execution.raster import CLASSES, StepSpans
from popvision.analysis.report.columns import steps_of
from popvision.arrays import Int64Array, UInt8Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES, Programs, Runs, Steps, StepsOnIpu

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Phases in the order of their bars; every type that takes time belongs to one.
PHASES = ("compute", "exchange", "global exchange", "host", "sync")

#: Program type -> what it is drawn as. Waiting for the host, the transfer and the sync that ends it look different,
#: although all three are the phase "host".
_CLASS_OF_TYPE = {
    "OnTileExecute": "compute",
    "DoExchange": "exchange",
    "GlobalExchange": "global",
    "StreamCopyMid": "host",
    "StreamCopyBegin": "wait",
    "StreamCopyEnd": "sync",
    "Sync": "sync",
    "SyncAns": "sync",
    "Sans": "sync",
}

NOT_DRAWN = 255

#: Names of program types; `Timeline.type` holds rows of it.
TYPE_NAMES = PROGRAM_TYPES

#: Types of programs whose name is a kind.
_BARRIERS = ("Sync", "SyncAns", "Sans")

#: Row = index into PROGRAM_TYPES -> index into CLASSES, or 255 for types that take no time.
PIXEL_CLASS = np.array(
    [CLASSES.index(_CLASS_OF_TYPE[name]) if name in _CLASS_OF_TYPE else NOT_DRAWN for name in PROGRAM_TYPES], np.uint8
)

#: Row = index into PROGRAM_TYPES -> index into PHASES, or 255.
PHASE = np.array(
    [PHASES.index(PHASE_OF_TYPE[name]) if name in PHASE_OF_TYPE else NOT_DRAWN for name in PROGRAM_TYPES], np.uint8
)


@dataclass(frozen=True)
class Timeline:
    """Steps of one IPU; row = execution step, all runs. Times are absolute cycles."""

    ipu: int
    tiles: int  #: tiles of the IPU
    begin: Int64Array
    end: Int64Array
    type: UInt8Array  #: index into PROGRAM_TYPES
    program: Int64Array
    run: Int64Array
    spans: StepSpans
    figures: StepsOnIpu

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True)
class RunBars:
    """Engine runs on the device's time axis: run r takes [begin[r], end[r])."""

    name: list[str]
    begin: Int64Array
    end: Int64Array
    first: Int64Array  #: first execution step
    last: Int64Array  #: last execution step, inclusive

    @property
    def total(self) -> int:
        """Length of the time axis in cycles."""
        return int(self.end[-1]) if len(self.end) else 0


def make_timeline(ipu: int, tiles: int, steps: Steps, figures: StepsOnIpu) -> Timeline:
    """The timeline, from columns."""
    spans = StepSpans(
        pixel_class=PIXEL_CLASS[steps.type],
        base=_int64(figures.base),
        busy_begin=_int64(figures.active_from_min),
        busy_end=_int64(figures.active_to_max),
        start_array=_int64(figures.start_array),
        cycles_array=_int64(figures.cycles_array),
    )
    begin, end = _int64(figures.all_from_max), _int64(figures.all_to_max)
    return Timeline(ipu, tiles, begin, end, steps.type, _int64(steps.program), _int64(steps.run), spans, figures)


def timeline(source: ReportSource, ipu: int) -> Timeline:
    """The steps of one IPU, read once per opened report.

    Raises ValueError when the report has no such IPU; FormatError when a column cannot be read."""
    target = source.reader.target()
    if not 0 <= ipu < target.num_ipus:
        raise ValueError(f"IPU {ipu} is not one of this report's {target.num_ipus} IPUs (0 to {target.num_ipus - 1})")
    return source.kept.recent(
        ("timeline", ipu),
        lambda: make_timeline(ipu, target.tiles_per_ipu, steps_of(source), source.reader.steps_on_ipu(ipu)),
    )


def run_bars(source: ReportSource) -> RunBars:
    """The recorded runs, one after the other."""
    return source.kept.once("run bars", lambda: make_run_bars(source.reader.runs()))


def make_run_bars(runs: Runs) -> RunBars:
    """Recorded runs follow each other on the device clock: each begins where the one before ends. A bar bears the name
    that the program gave its run, such as "Engine::run #3 (training)"."""
    end = np.cumsum(_int64(runs.cycles))
    first, count = _int64(runs.first_step), _int64(runs.n_steps)
    names = [f"Engine::run #{row}" + (f" ({name})" if name else "") for row, name in enumerate(runs.name)]
    return RunBars(names, end - runs.cycles, end, first, first + count - 1)


def step_count(source: ReportSource) -> int:
    """Number of recorded execution steps over all runs, from the rows of the runs alone."""
    bars = run_bars(source)
    return int((bars.last - bars.first + 1).sum())


def program_labels(source: ReportSource) -> list[str]:
    """What each lowered program is called on a page: its debug name, else its compute set's, else its type. The name of
    a barrier says only of which kind it is: "Sync (Internal)"."""
    reader = source.reader
    return source.kept.once("program labels", lambda: make_labels(reader.programs(), reader.compute_sets().name))


def make_labels(programs: Programs, compute_sets: Sequence[str]) -> list[str]:
    """Labels, from columns."""
    rows = zip(programs.name, programs.compute_set.tolist(), programs.type, strict=True)
    labels = (name or (compute_sets[cs] if 0 <= cs < len(compute_sets) else "") or kind for name, cs, kind in rows)
    return [
        f"{kind} ({label})" if kind in _BARRIERS and label in ("Internal", "External") else label
        for label, kind in zip(labels, programs.type, strict=True)
    ]


def _int64(column: npt.ArrayLike) -> Int64Array:
    return np.asarray(column).astype(np.int64, copy=False)
