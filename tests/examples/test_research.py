"""The programs of examples/research on a few tiles: what they compute is right, whatever it costs."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "research"


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], program: str, *arguments: str) -> str:
    """What a program prints on 8 tiles."""
    monkeypatch.setenv("POPVISION_TILES", "8")
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    import_module(f"examples.research.{program}").main()
    return capsys.readouterr().out


def test_pairs_take_fewer_cycles_than_single_elements(monkeypatch, capsys) -> None:
    lines = printed(monkeypatch, capsys, "stream", "--elements", "240").splitlines()
    assert [line.split(",")[0] for line in lines] == ["single: a[0] = 5", "pairs: a[0] = 5"]
    single, pairs = (int(line.split()[4]) for line in lines)
    assert pairs < single


def test_pi_is_close_and_trips_cost_alike(monkeypatch, capsys) -> None:
    cycles = []
    for trips in (50, 100, 150):
        found = re.match(
            r"pi = ([\d.]+) from (\d+) points, (\d+) cycles",
            printed(monkeypatch, capsys, "monte_carlo", "--trips", str(trips)),
        )
        assert found is not None
        assert abs(float(found[1]) - np.pi) < 0.1
        assert int(found[2]) == 8 * 6 * trips
        cycles.append(int(found[3]))
    assert abs((cycles[2] - cycles[1]) - (cycles[1] - cycles[0])) < 0.02 * cycles[0]


def test_heat_spreads_as_numpy_says(monkeypatch, capsys) -> None:
    plate = np.zeros([8 * 4 + 2, 24], np.float32)
    plate[0] = 100
    for _ in range(6):
        inside = plate[1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + inside[:, :-2] + inside[:, 2:]
        plate[1:-1, 1:-1] = np.float32(0.25) * around
    line = printed(monkeypatch, capsys, "stencil", "--columns", "24", "--steps", "6")
    assert line.startswith("below the hot edge: " + " ".join(f"{value:.4f}" for value in plate[1:5, 12]))


def test_a_sample_sort_sorts(monkeypatch, capsys) -> None:
    line = printed(monkeypatch, capsys, "sample_sort", "--tiles", "8", "--keys", "32")
    assert line.startswith("256 keys sorted, largest bucket ")


def test_rays_give_the_image_that_numpy_computes(monkeypatch, capsys) -> None:
    from examples.research.ray_tracer import scene

    side = 32
    across, down = np.meshgrid((np.arange(side) + 0.5) / side - 0.5, 0.5 - (np.arange(side) + 0.5) / side)
    way = np.stack([across, down, np.ones_like(across)], -1)
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    nearest, light = np.full([side, side], np.inf), np.full([side, side], 0.1)
    for *centre, radius in scene().astype(float):
        along = way @ np.array(centre)
        left = radius**2 - np.dot(centre, centre) + along**2
        distance = along - np.sqrt(np.maximum(left, 0))
        normal = (distance[..., None] * way - centre) / radius
        hit = (left >= 0) & (distance >= 0) & (distance < nearest)
        nearest = np.where(hit, distance, nearest)
        light = np.where(hit, np.maximum(normal @ np.array([0.6, 0.64, -0.48]), 0), light)
    line = printed(monkeypatch, capsys, "ray_tracer", "--side", str(side)).splitlines()[-1]
    assert abs(float(line.split()[2].rstrip(",")) - light.mean()) < 1e-3


def test_a_sparse_product_is_that_of_scipy(monkeypatch, capsys) -> None:
    import scipy.sparse

    from examples.research.sparse_product import BLOCK, COLUMNS, matrix, values_of

    csr = matrix(64, 2)
    blocks = np.asarray(csr.nzValues).reshape(-1, BLOCK, BLOCK)
    columns, starts = np.asarray(csr.columnIndices) // BLOCK, np.asarray(csr.rowIndices) // BLOCK**2
    dense = values_of(64 * COLUMNS, 5).reshape(64, COLUMNS)
    product = scipy.sparse.bsr_matrix((blocks, columns, starts), shape=(64, 64)) @ dense
    line = printed(monkeypatch, capsys, "sparse_product", "--side", "64", "--row-blocks", "2")
    assert line.startswith(f"sum of the product {product.sum(dtype=np.float64):.4f}, ")
