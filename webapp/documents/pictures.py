"""The BSP raster of one IPU as PNG: tiles downwards, device cycles to the right."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from popvision.analysis.exchange.matrix import Matrix
from popvision.analysis.execution.raster import CLASSES, GRAIN, Grid, raster
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from webapp.base.arrays import AnyArray, Int64Array, UInt8Array
from webapp.base.theme import sequential_scale, tokens
from webapp.documents.document import Reading

COLUMNS, MOST_ROWS = 1_000, 240

#: Cells along a side of a matrix; place of one byte in its scale of colours (assets/exchange/scale.js).
_CELLS, _LEAST = 1_024, 0.14

#: Steps of the R2 sequence, 2^32 / p and 2^32 / p^2 where p^3 = p + 1; assets/execution/palette.js has the same.
_R2_COLUMN, _R2_ROW = 3_242_174_889, 2_447_445_414


#: Parts of the raster that say their shares under the mouse, along time and along tiles.
_READ_COLUMNS, _READ_ROWS = 80, 8


def bsp_picture(source: ReportSource, ipu: int, begin: int, end: int) -> tuple[bytes, list[Reading]]:
    """The picture, and the shares of time by class in parts of it. A pixel has the colour of one of its classes, chosen
    by `dithered`; time in no class is transparent."""
    steps = timeline(source, ipu)
    columns = max(1, min(COLUMNS, (end - begin) * GRAIN))
    pitch = -(-(end - begin) * GRAIN // columns)
    grid = Grid(pitch, begin * GRAIN // pitch, columns, min(MOST_ROWS, steps.tiles))
    time = raster(steps.spans, source.reader, steps.tiles, grid)
    capacity = np.diff(grid.row_tiles(steps.tiles)) * grid.pitch
    chosen = dithered(time.transpose(0, 2, 1), capacity[:, None], grid.first)
    colours = [(*_rgb(tokens("light")[f"step-{name}-fill"]), 255) for name in CLASSES]
    drawn = png(np.array([*colours, (0, 0, 0, 0)], np.uint8)[chosen])
    return drawn, _readings(time.transpose(0, 2, 1), capacity, grid.row_tiles(steps.tiles), (begin, end))


def _readings(time: Int64Array, capacity: Int64Array, tiles: Int64Array, window: tuple[int, int]) -> list[Reading]:
    """Parts of equal numbers of pixels. `time` has the shape (classes, rows, columns), `capacity` is all time of a
    pixel by row, row r shows the tiles from `tiles[r]` up to `tiles[r + 1]`."""
    _, rows, columns = time.shape
    across = np.unique(np.linspace(0, columns, _READ_COLUMNS + 1).astype(int))
    down = np.unique(np.linspace(0, rows, _READ_ROWS + 1).astype(int))
    sums = np.add.reduceat(np.add.reduceat(time, down[:-1], axis=1), across[:-1], axis=2)
    all_time = np.add.reduceat(capacity, down[:-1])[:, None] * np.diff(across)
    shares = sums / np.maximum(all_time, 1)
    begin, length = window[0], window[1] - window[0]
    found = []
    for row, column in np.ndindex(*all_time.shape):
        top, bottom, left, right = down[row], down[row + 1], across[column], across[column + 1]
        cycles = f"{begin + length * left // columns:,} to {begin + length * right // columns:,}"
        text = f"Tiles {tiles[top]:,} to {tiles[bottom] - 1:,}, cycles {cycles}: " + _phases(shares[:, row, column])
        found.append(Reading(left / columns, top / rows, right / columns, bottom / rows, text))
    return found


def _phases(shares: AnyArray) -> str:
    """Phases that take time, most first."""
    named = sorted(zip(shares.tolist(), CLASSES, strict=True), reverse=True)
    texts = [f"{'waiting' if name == 'wait' else name} {share:.1%}" for share, name in named if share >= 0.0005]
    return ", ".join(texts) or "no step"


def dithered(time: Int64Array, capacity: Int64Array, first: int) -> Int64Array:
    """The class drawn in each pixel, shape (rows, columns), from `time`, shape (classes, rows, columns); the number of
    classes where nothing is drawn.

    An ordered dither: a class covers as many pixels of an area as it takes of its time (`capacity` is all time of a
    pixel), and no mixture of two colours looks like a third class. Thresholds follow the R2 sequence (M. Roberts, "The
    Unreasonable Effectiveness of Quasirandom Sequences", 2018), evenly spread along rows and columns.
    """
    _, rows, columns = time.shape
    row, column = np.arange(rows, dtype=np.uint64)[:, None], np.arange(first, first + columns, dtype=np.uint64)[None]
    threshold = (column * np.uint64(_R2_COLUMN) + row * np.uint64(_R2_ROW)) % np.uint64(1 << 32)
    place = (threshold / float(1 << 32)) * np.maximum(capacity, time.sum(axis=0))
    return np.asarray((np.cumsum(time, axis=0) <= place).sum(axis=0), np.int64)


def matrix_scale(*matrices: Matrix) -> tuple[int, int]:
    """(tiles per cell along each side, bytes of the largest cell) of pictures that share one scale of colours."""
    size = 1
    while max(each.tiles for each in matrices) > size * _CELLS:
        size *= 2
    return size, max(each.largest(size) for each in matrices)


def matrix_png(matrix: Matrix, size: int, largest: int) -> bytes:
    """A picture of the matrix in the scale that `matrix_scale` gives. Colours are the page's in its light theme: the
    scale of assets/exchange/scale.js, log(1 + bytes) / log(1 + largest), zero transparent."""
    cells = matrix.block((0, matrix.tiles), (0, matrix.tiles), size)
    values = cells.values.reshape(cells.rows, cells.columns)
    share = _LEAST + (1 - _LEAST) * np.log1p(values) / np.log1p(max(1, largest))
    stops = [(at, _rgb(colour)) for at, colour in sequential_scale("light")]
    places = [at for at, _ in stops]
    channels = [np.interp(share, places, [colour[each] for _, colour in stops]) for each in range(3)]
    alpha = np.where(values > 0, 255, 0)
    return png(np.stack([*channels, alpha], axis=-1).round().astype(np.uint8))


def png(pixels: UInt8Array) -> bytes:
    """An RGBA image, shape (rows, columns, 4)."""
    rows, columns, _ = pixels.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    body = b"".join(_chunk(*each) for each in ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 9))))
    return b"\x89PNG\r\n\x1a\n" + body + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
