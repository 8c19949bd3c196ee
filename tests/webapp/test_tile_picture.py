"""The picture of tiles of an exported page, decoded: a class covers its share, no colours are mixed."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from webapp.base.arrays import UInt8Array
from webapp.documents.pictures import dithered, png


def decoded(data: bytes) -> UInt8Array:
    """RGBA pixels of a PNG without filters."""
    columns, rows = struct.unpack(">II", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(rows, 1 + 4 * columns)
    return lines[:, 1:].reshape(rows, columns, 4)


def test_a_png_holds_its_pixels() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert np.array_equal(decoded(png(pixels)), pixels)


def test_two_classes_never_look_like_a_third() -> None:
    """Compute 50 %, exchange 34.4 %, host 15.6 % in every pixel: the mixture of the first two is near the third."""
    time = np.zeros((6, 100, 200), np.int64)
    time[[0, 1, 3]] = np.array([500, 344, 156])[:, None, None]
    chosen = dithered(time, np.full((100, 1), 1000), 7)
    assert np.bincount(chosen.ravel(), minlength=7) / chosen.size == pytest.approx(
        [0.5, 0.344, 0, 0.156, 0, 0, 0], abs=0.002
    )
    for line in (*chosen, *chosen.T):
        assert np.bincount(line, minlength=7)[3] / len(line) == pytest.approx(0.156, abs=0.05)


def test_a_pixel_of_one_class_has_it_and_time_in_no_class_is_empty() -> None:
    time = np.zeros((6, 40, 50), np.int64)
    time[2, :20] = 10
    time[4, 20:] = 4
    chosen = dithered(time, np.full((40, 1), 10), 0)
    assert (chosen[:20] == 2).all()
    lower = np.bincount(chosen[20:].ravel(), minlength=7) / chosen[20:].size
    assert lower == pytest.approx([0, 0, 0, 0, 0.4, 0, 0.6], abs=0.01)


def test_the_choice_belongs_to_the_place_on_the_axis() -> None:
    time = np.random.default_rng(3).integers(0, 9, (6, 10, 60))
    capacity = np.full((10, 1), 60)
    assert np.array_equal(dithered(time, capacity, 5)[:, 20:], dithered(time[:, :, 20:], capacity, 25))
