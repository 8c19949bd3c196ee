"""A reference picture of tiles, computed in a second way, for sizes where a loop over cells takes hours.

The busy time of one tile and class before a moment is a function that grows inside the tile's intervals and is flat
between them; a pixel is the difference of two of its values. webapp and the raster of popvision.analysis cut steps into
columns instead; this module shares only the colours of tokens.css with them. All sums are exact integers.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from popvision.arrays import Int64Array, UInt8Array, UInt32Array
from popvision.formats.profile import ProfileReader
from popvision.formats.profile.model import PROGRAM_TYPES

CLASSES = ("compute", "exchange", "global", "host", "wait", "sync")
_CLASS_OF_TYPE = {
    "OnTileExecute": 0,
    "DoExchange": 1,
    "GlobalExchange": 2,
    "StreamCopyMid": 3,
    "StreamCopyBegin": 4,
    "StreamCopyEnd": 5,
    "Sync": 5,
    "Sans": 5,
    "SyncAns": 5,
}
_TOKENS = Path(__file__).parents[1] / "webapp" / "assets" / "shared" / "tokens.css"
_BLOCK = 2_000  # steps read at once


def reference_picture(path: Path, pitch: int, columns: int, rows: int) -> UInt8Array:
    """Colours (rows, columns, 3) of IPU 0 from cycle 0 on, `pitch` / 1024 cycles per column, light theme."""
    reader = ProfileReader(path)
    kinds = reader.steps().type
    begin, duration = _cells(reader)
    edges = np.arange(columns + 1, dtype=np.int64) * pitch
    tiles = begin.shape[1]
    row_of = np.searchsorted(np.arange(1, rows + 1) * tiles // rows, np.arange(tiles), side="right")
    time = np.zeros((len(CLASSES), rows, columns), np.int64)
    for index in range(len(CLASSES)):
        names = [name for name, own in _CLASS_OF_TYPE.items() if own == index]
        steps = np.flatnonzero(np.isin(kinds, [PROGRAM_TYPES.index(name) for name in names]))
        for tile in range(tiles if len(steps) else 0):
            passed = _time_before(edges, begin[steps, tile], duration[steps, tile])
            time[index, row_of[tile]] += np.diff(passed)
    return _colours(time, np.bincount(row_of, minlength=rows)[:, None] * pitch)


def _cells(reader: ProfileReader) -> tuple[Int64Array, UInt32Array]:
    """Absolute begin and duration, (steps, tiles); the duration is 0 for a tile that takes no part."""
    figures = reader.steps_on_ipu(0)
    count, tiles = len(figures.base), reader.target().tiles_per_ipu
    begin, duration = np.empty((count, tiles), np.int64), np.empty((count, tiles), np.uint32)
    for at in range(0, count, _BLOCK):
        block = slice(at, min(at + _BLOCK, count))
        begin[block] = np.stack(reader.arrays(figures.start_array[block].tolist())) + figures.base[block, None]
        duration[block] = np.stack(reader.arrays(figures.cycles_array[block].tolist()))
    return begin, duration


def _time_before(edges: Int64Array, begin: Int64Array, duration: UInt32Array) -> Int64Array:
    """Busy time of one tile before each edge, in 1/1024 cycle. A tile's intervals are in order and do not overlap."""
    done = np.concatenate([[0], np.cumsum(duration, dtype=np.int64)])
    entered = np.searchsorted(begin * 1024, edges, side="left")
    latest = np.maximum(entered - 1, 0)
    within = np.minimum(edges - begin[latest] * 1024, duration[latest].astype(np.int64) * 1024)
    return np.where(entered > 0, done[latest] * 1024 + within, 0)


def _colours(time: Int64Array, whole: Int64Array) -> UInt8Array:
    levels = np.maximum((62 * time + whole) // (2 * whole), time > 0)
    row, column = np.indices(levels.shape[1:])
    threshold = (column * 3_242_174_889 + row * 2_447_445_414) % 2**32 >> 16
    total = levels.sum(axis=0)
    place = threshold * np.where(2 * (31 - total) <= np.count_nonzero(levels, axis=0), total, 31) >> 16
    chosen = (np.cumsum(levels, axis=0) <= place).sum(axis=0)
    colours = np.array([*(_rgb(f"step-{name}-fill") for name in CLASSES), _rgb("sunken")], np.uint8)
    picture: UInt8Array = colours[chosen]
    return picture


def _rgb(token: str) -> list[int]:
    block = _TOKENS.read_text("utf-8").split('html[data-theme="light"]')[1].split("}")[0]
    match = re.search(rf"--{token}: #([0-9a-f]{{6}});", block)
    if match is None:
        raise LookupError(f"tokens.css has no colour --{token}")
    return [int(match[1][at : at + 2], 16) for at in (0, 2, 4)]
