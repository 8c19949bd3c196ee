"""The stencil programs beside published figures compute what their equations say, and constants have their reasons."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sensitivity.larger_constant import more
from benchmarks.sensitivity.page import title
from benchmarks.sensitivity.reasons import REMAINING
from benchmarks.validation import stencils
from simulator.machine.unsourced import UNSOURCED
from simulator.poplar import Engine
from simulator.poplar.program import Sequence


def shifted(mesh: np.ndarray, halo: int, axis: int, by: int) -> np.ndarray:
    """The inner points' neighbours at this distance along an axis."""
    at = [slice(halo + (by if i == axis else 0), n - halo + (by if i == axis else 0)) for i, n in enumerate(mesh.shape)]
    return mesh[tuple(at)]


def heat_step(mesh: np.ndarray) -> np.ndarray:
    """One explicit step of the heat equation; the border stays."""
    after = mesh.copy()
    sides = sum(shifted(mesh, 1, axis, by) for axis in range(mesh.ndim) for by in (-1, 1))
    inner = shifted(mesh, 1, 0, 0)
    after[(slice(1, -1),) * mesh.ndim] = (1 - 2 * mesh.ndim * stencils.ALPHA) * inner + stencils.ALPHA * sides
    return after


def diffusion_step(mesh: np.ndarray) -> np.ndarray:
    """One step with the second derivative of fourth order, -1/12 4/3 -5/2 4/3 -1/12."""
    after = mesh.copy()
    weights = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
    change = sum(w * shifted(mesh, 2, axis, by) for axis in range(mesh.ndim) for by, w in weights.items())
    after[(slice(2, -2),) * mesh.ndim] += stencils.ALPHA * change
    return after


@pytest.mark.parametrize(
    ("vertex", "block", "halo", "step"),
    [
        ("Heat3D", (4, 5, 6), 1, heat_step),
        ("Heat3DPairs", (4, 5, 6), 1, heat_step),
        ("Heat3DPairs", (3, 6, 7), 1, heat_step),
        ("Heat2DPairs", (7, 8), 1, heat_step),
        ("Heat2DPairs", (12, 5), 1, heat_step),
        ("Diffusion3D4", (4, 5, 6), 2, diffusion_step),
    ],
)
def test_two_steps_are_those_of_the_equation(vertex: str, block: tuple[int, ...], halo: int, step: object) -> None:
    assert callable(step)
    stencil = stencils.build(vertex, block, halo)
    start = np.random.default_rng(3).random(stencil.a.shape()).astype(np.float32)
    stencil.graph.createHostWrite("a", stencil.a)
    stencil.graph.createHostWrite("b", stencil.b)
    stencil.graph.createHostRead("result", stencil.b)
    result = np.empty_like(start)
    with Engine(stencil.graph, Sequence(stencil.two_steps)) as engine:
        engine.load(stencil.device)
        engine.writeTensor("a", start)
        engine.writeTensor("b", start)
        engine.run(0)
        engine.readTensor("result", result)
    np.testing.assert_allclose(result, step(step(start.astype(np.float64))), rtol=1e-4, atol=1e-5)


def test_every_constant_without_a_source_has_a_reason_to_remain() -> None:
    assert set(REMAINING) == {title(entry) for entry in UNSOURCED}


def test_a_larger_constant_is_ten_percent_larger_or_one_more() -> None:
    assert [more(4), more(100), more(1.25)] == [5, 110, 1.375]
