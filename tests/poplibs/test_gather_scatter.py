"""gather and scatter: vertices or engine against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, INT, UNSIGNED_INT, Graph, Tensor
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import GatherParams
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, run_engine, small_graph

Given = tuple[dict[str, tuple[Tensor, Any]], Tensor]
VALUES = np.arange(60, dtype=np.float32).reshape(3, 5, 4)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("indices", [[1, 0, 2], [[2, 1], [0, 0]]], ids=str)
@pytest.mark.parametrize("index_type", [INT, UNSIGNED_INT], ids=str)
def test_gather_along_an_axis(index_type: Any, indices: Any, axis: int) -> None:
    def build(graph: Graph, program: Sequence) -> Given:
        t = popops.createGatherInput(graph, FLOAT, [3, 5, 4], axis, GatherParams(), "in")
        i = linear(graph, index_type, list(np.shape(indices)), "i")
        return {"t": (t, VALUES), "i": (i, indices)}, popops.gather(graph, t, i, axis, program, GatherParams(), "g")

    for found in both_ways(build):
        assert np.array_equal(found, np.take(VALUES, indices, axis))


def test_gather_of_points_and_windows() -> None:
    points = np.array([[0, 1, 2], [2, 4, 3]])

    def at_points(graph: Graph, program: Sequence) -> Given:
        t = popops.createGatherInput(graph, FLOAT, [3, 5, 4], [1, 1, 1], [0, 1, 2])
        i = linear(graph, UNSIGNED_INT, [2, 3], "i")
        out = popops.gather(graph, t, i, 1, [], [1, 1, 1], [0, 1, 2], [0, 1, 2], program)
        return {"t": (t, VALUES), "i": (i, points)}, out

    for found in both_ways(at_points):
        assert found.tolist() == [VALUES[0, 1, 2], VALUES[2, 4, 3]]

    def windows(graph: Graph, program: Sequence) -> Given:
        t, i = linear(graph, FLOAT, [3, 5, 4], "t"), linear(graph, UNSIGNED_INT, [2, 2], "i")
        # index vectors are the columns of i, for dimensions 1 and 0; slices of 1 x 2 x 3 from (row, column, 0)
        out = popops.gather(graph, t, i, 0, [0, 2], [1, 2, 3], [0], [1, 0], program)
        return {"t": (t, VALUES), "i": (i, [[1, 3], [0, 2]])}, out

    expected = np.stack([VALUES[0, 1:3, :3], VALUES[2, 3:5, :3]])
    assert np.array_equal(run_engine(windows), expected.transpose(1, 0, 2))


def test_scatter_of_rows_and_points() -> None:
    updates = -np.arange(1, 9, dtype=np.float32).reshape(2, 4)

    def rows(graph: Graph, program: Sequence) -> Given:
        t, i, u = linear(graph, FLOAT, [5, 4], "t"), linear(graph, INT, [2], "i"), linear(graph, FLOAT, [2, 4], "u")
        popops.scatter(graph, t, i, u, 1, [1], [0], [0], program, "s")
        return {"t": (t, VALUES[0]), "i": (i, [3, 0]), "u": (u, updates)}, t

    expected = VALUES[0].copy()
    expected[[3, 0]] = updates
    for found in both_ways(rows):
        assert np.array_equal(found, expected)

    def points(graph: Graph, program: Sequence) -> Given:
        t, i = linear(graph, FLOAT, [5, 4], "t"), linear(graph, UNSIGNED_INT, [3, 2], "i")
        u = linear(graph, FLOAT, [3], "u")
        popops.scatter(graph, t, i, u, 1, [], [0, 1], [1, 0], program)
        return {"t": (t, VALUES[0]), "i": (i, [[1, 0], [2, 4], [1, 0]]), "u": (u, [7, 8, 9])}, t

    expected = VALUES[0].copy()
    expected[4, 2], expected[0, 1] = 8, 9
    for found in both_ways(points):
        assert np.array_equal(found, expected)


def test_scatter_of_windows_with_a_computation() -> None:
    updates = np.arange(1, 13, dtype=np.float32).reshape(2, 2, 3)

    def build(graph: Graph, program: Sequence) -> Given:
        t, i = linear(graph, FLOAT, [5, 4], "t"), linear(graph, UNSIGNED_INT, [2, 2], "i")
        u = linear(graph, FLOAT, [2, 2, 3], "u")

        def less(graph: Graph, current: Tensor, update: Tensor, prog: Sequence) -> Tensor:
            return popops.sub(graph, current, update, prog)

        popops.scatter(graph, t, i, u, 1, [1, 2], [], [0, 1], less, program)
        return {"t": (t, VALUES[0]), "i": (i, [[1, 0], [2, 1]]), "u": (u, updates)}, t

    expected = VALUES[0].copy()
    expected[1:3, 0:3] -= updates[0]
    expected[2:4, 1:4] -= updates[1]
    assert np.array_equal(run_engine(build), expected)


def test_wrong_gathers_and_scatters_are_named() -> None:
    graph, program = small_graph(), Sequence()
    t, i, f = linear(graph, FLOAT, [4, 6]), linear(graph, UNSIGNED_INT, [3, 2]), linear(graph, FLOAT, [3])
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("has no axis 2", lambda: popops.gather(graph, t, i, 2, program, GatherParams())),
        ("the indices hold float", lambda: popops.gather(graph, t, f, 0, program, GatherParams())),
        ("index vectors of 2", lambda: popops.gather(graph, t, i, 1, [], [1, 1], [0, 1], [0], program)),
        ("do not fit", lambda: popops.gather(graph, t, i, 1, [], [5, 1], [1], [0, 1], program)),
        ("must be 1", lambda: popops.gather(graph, t, i, 1, [1], [2, 1], [0], [0, 1], program)),
        ("is beyond indices", lambda: popops.gather(graph, t, i, 3, [1], [1, 1], [0], [0, 1], program)),
        ("more than maxElementsPerTile", lambda: popops.createGatherInput(graph, FLOAT, [99, 6], 0, GatherParams(4))),
        ("do not fit an operand", lambda: popops.scatter(graph, t, i, f, 1, [0], [0, 1], [0, 1], program)),
        (
            "larger than the operand",
            lambda: popops.scatter(graph, t, i, linear(graph, FLOAT, [3, 5, 7]), 1, [1, 2], [], [0, 1], program),
        ),
    ]
    for text, call in wrong:
        with pytest.raises(poplibs_error, match=text):
            call()
