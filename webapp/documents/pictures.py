"""The BSP raster of one IPU as PNG: tiles downwards, device cycles to the right."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from popvision.analysis.execution.raster import CLASSES, GRAIN, Grid, raster
from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from webapp.arrays import UInt8Array
from webapp.theme import tokens

COLUMNS, MOST_ROWS = 1_000, 240


def bsp_png(source: ReportSource, ipu: int, begin: int, end: int) -> bytes:
    """A pixel mixes the colours of its classes by their shares of its tile cycles; the rest is transparent."""
    steps = timeline(source, ipu)
    columns = max(1, min(COLUMNS, (end - begin) * GRAIN))
    pitch = -(-(end - begin) * GRAIN // columns)
    grid = Grid(pitch, begin * GRAIN // pitch, columns, min(MOST_ROWS, steps.tiles))
    time = raster(steps.spans, source.reader, steps.tiles, grid).astype(np.float64)
    pixel_cycles = np.diff(grid.row_tiles(steps.tiles)) * grid.pitch
    shares = time / pixel_cycles[None, None, :]
    colours = np.array([_rgb(tokens("light")[f"step-{name}-fill"]) for name in CLASSES], np.float64)
    filled = shares.sum(axis=0)
    mixed = np.einsum("cxr,ck->rxk", shares, colours) / np.maximum(filled, 1e-12).T[:, :, None]
    alpha = np.clip(filled, 0, 1).T[:, :, None] * 255
    return png(np.concatenate([mixed, alpha], axis=2).round().astype(np.uint8))


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
