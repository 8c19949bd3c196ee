"""Stored arrays of steps that were read, by id, up to MOST_BYTES of one opened report; then others are read each time.

Reading an array costs about 7 microseconds (row, frame, checksum), adding it to a picture one. A picture of a whole run
needs the cycles of every step, so they are read in the order of steps while the browser still loads its scripts. What
an id stands for never changes as long as the report is open.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from popvision.analysis.execution.raster import ArrayReader
from popvision.analysis.execution.timeline import timeline
from popvision.arrays import IntegerArray

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Values of the arrays that one opened report keeps.
MOST_BYTES = 96 << 20

_BATCH = 512  #: steps read at once


class KeptArrays:
    """An ArrayReader that keeps the first `most_bytes` of what it reads. Threads share it: one reads at a time, so that
    none reads what another has just read."""

    def __init__(self, reader: ArrayReader, most_bytes: int = MOST_BYTES) -> None:
        self._reader = reader
        self._left = most_bytes
        self._arrays: dict[int, IntegerArray] = {}
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Nothing more will be kept."""
        return self._left <= 0

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[Any]:
        """Stored arrays in the order of `ids`, read-only; only `narrow` ones, in their stored types, are kept."""
        if not narrow:
            return self._reader.arrays(ids)
        read = self._read(ids) if any(each not in self._arrays for each in ids) else {}
        return [read[each] if each in read else self._arrays[each] for each in ids]

    def _read(self, ids: Sequence[int]) -> dict[int, IntegerArray]:
        """The arrays that are not kept yet."""
        with self._lock:
            missing = [each for each in dict.fromkeys(ids) if each not in self._arrays]
            read = dict(zip(missing, self._reader.arrays(missing, narrow=True), strict=True)) if missing else {}
            for identity, values in read.items():
                if self.is_full:
                    break
                self._arrays[identity] = values
                self._left -= values.nbytes
        return read


def kept_arrays(source: ReportSource) -> KeptArrays:
    """Those of an opened report."""
    return source.kept.once("arrays of steps", lambda: KeptArrays(source.reader))


def read_cycles(source: ReportSource, ipu: int) -> None:
    """Read the cycles of an IPU's steps until nothing more is kept. Raises what `timeline` raises."""
    ids = timeline(source, ipu).spans.cycles_array
    ids, arrays = ids[ids >= 0], kept_arrays(source)
    with source.reader.together():
        for at in range(0, len(ids), _BATCH):
            if arrays.is_full:
                break
            arrays.arrays(ids[at : at + _BATCH].tolist(), narrow=True)
