"""What does not fit into the tiles, and what does.

The largest batch and the largest memory proportion of products that fit are found by bisection. Every candidate is
compiled: no figure is extrapolated from another. It takes memory to grow with both, as a bisection must; the answer
itself has been compiled whatever the others do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import popvision
from popvision.formats.errors import NotRecordedError
from simulator.base.errors import graph_memory_allocation_error

#: Hundredths of a tile's memory that matrix products and convolutions may take for temporaries: those that are tried
#: lie between the first two; the second is the default, with which the module did not fit.
LEAST, _DEFAULT, _RESOLUTION = 5, 60, 5

#: modules that the message about exceeded memory names
_RANKED = 5


@dataclass(frozen=True)
class Fitting:
    """What was compiled and fits. A value is None where nothing that was tried fits."""

    batch: int | None
    proportion: float | None  #: of a tile's memory, at the module's own batch
    tried_batches: int
    tried_proportions: int
    is_complete: bool  #: False where the time ran out: something larger may fit
    refused_batch: str = ""  #: the sentence of what refused a smaller batch, which ends their search


class _Search:
    """Compilations up to a point in time."""

    def __init__(self, seconds: float, progress: Callable[[str], None]) -> None:
        self._end = time.monotonic() + seconds
        self._progress = progress
        self.ran_out = False

    def largest(
        self, low: int, high: int, step: int, fits: Callable[[int], bool], text: Callable[[int], str]
    ) -> tuple[int | None, int]:
        """The largest of low, low + step, ... below `high` that fits, and how many were tried. The least goes first: if
        that does not fit, none does."""
        best: int | None = None
        tried = 0
        candidates = range(low, high, step)
        first, last = 0, len(candidates) - 1
        while first <= last:
            if time.monotonic() >= self._end:
                self.ran_out = True
                break
            middle = (first + last + 1) // 2 if tried else 0
            candidate = candidates[middle]
            fitted = fits(candidate)
            tried += 1
            self._progress(f"{text(candidate)} {'fits' if fitted else 'does not fit'}")
            if fitted:
                best, first = candidate, middle + 1
            elif tried == 1:
                break
            else:
                last = middle - 1
        return best, tried


def find_fitting(
    batch: int,
    fits: Callable[[int, float | None], bool],
    seconds: float,
    progress: Callable[[str], None] = lambda line: None,
) -> Fitting:
    """Search below `batch`, with which the module does not fit. `fits(batch, proportion)` compiles; a proportion of
    None is the default. `seconds` limit the start of a compilation, not its end. A smaller batch that `fits` refuses
    with an exception, as a loss with labels of its own may, ends the search of batches and is part of the answer."""
    search = _Search(seconds, progress)
    hundredths, tried_proportions = search.largest(
        LEAST,
        _DEFAULT,
        _RESOLUTION,
        lambda one: fits(batch, one / 100),
        lambda one: f"availableMemoryProportion {one / 100}",
    )
    largest, tried_batches, refused = None, 0, ""
    try:
        largest, tried_batches = search.largest(1, batch, 1, lambda one: fits(one, None), lambda one: f"batch {one}")
    except Exception as error:  # the user's own module and loss run here, and refuse as they like
        refused = (str(error).strip() or type(error).__name__).splitlines()[0]
    proportion = None if hundredths is None else hundredths / 100
    return Fitting(largest, proportion, tried_batches, tried_proportions, not search.ran_out, refused)


def open_report(path: str | Path) -> Any:
    """The report in a folder or file, as `popvision.open` gives it."""
    return popvision.open(path)


def missing_memory(report: Any, problem: str) -> list[str]:
    """Lines about a report whose program does not fit.

    First the fullest tile; where the bytes of each tile would fit, but the code not into the part where it can run, the
    compiler's sentence (`problem`). Then the modules, ranked by the bytes that their variables hold at the peak of
    liveness (always live ones included); these are missing where the report lacks debug information or liveness."""
    tiles = report.tiles()
    worst = tiles.loc[tiles["including_gaps_bytes"].idxmax()]
    missing = int(worst["including_gaps_bytes"]) - int(worst["capacity_bytes"])
    lines = [f"Out of memory: tile {int(worst['tile'])} needs {missing:,} bytes more than it has."]
    if missing <= 0:
        lines = [problem]
    try:
        modules = report.operations(layer="poptorch")
    except (NotRecordedError, ValueError):
        return lines
    modules = modules[modules["context"].notna()]
    at_peak = (modules["always_live_bytes"] + modules["peak_live_bytes"]).astype("int64")
    for row in at_peak.sort_values(ascending=False, kind="stable").index[:_RANKED]:
        lines.append(f"  {modules['name'][row]}: {int(at_peak[row]):,} bytes at the peak")
    return lines


def memory_error_text(error: Exception) -> str:
    """The error's text; for exceeded memory with the lines of its saved profile, if there is one."""
    if not isinstance(error, graph_memory_allocation_error) or not error.profile_path:
        return str(error)
    return "\n".join([str(error), *missing_memory(open_report(error.profile_path), "")[1:]])
