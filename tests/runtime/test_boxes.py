"""Tensors whose axes are split in memory: their boxes give the same elements as lists of item numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base import regions
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence
from simulator.runtime.values.boxes import box_of_runs


@st.composite
def views(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """(the numbers of an array's items, a view of them with split, exchanged, joined, cut and reversed axes)."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8, 16]), min_size=1, max_size=4))
    base = view = np.arange(np.prod(sizes), dtype=np.int64).reshape(sizes)
    for _ in range(draw(st.integers(0, 4))):
        change = draw(st.sampled_from(["exchange", "join", "cut", "reverse", "repeat"]))
        axis = draw(st.integers(0, view.ndim - 1))
        if change == "exchange":
            view = view.swapaxes(axis, draw(st.integers(0, view.ndim - 1)))
        elif change == "join" and axis + 1 < view.ndim:
            view = view.reshape(*view.shape[:axis], -1, *view.shape[axis + 2 :])
        elif change == "cut":
            view = view.take(range(draw(st.integers(0, view.shape[axis] - 1)), view.shape[axis]), axis)
        elif change == "reverse":
            view = np.flip(view, axis)
        elif change == "repeat" and view.size < 4096:
            view = np.repeat(view, 2, axis) if draw(st.booleans()) else np.concatenate([view, view], axis)
    return base, view


@given(views())
def test_a_box_holds_the_elements_in_order(both: tuple[np.ndarray, np.ndarray]) -> None:
    _, view = both
    starts, lengths = regions.of_elements(view)
    equal = len(lengths) > 0 and bool((lengths == lengths[0]).all())
    in_runs = box_of_runs(starts, int(lengths[0]), view.shape) if equal else None
    for box in (in_runs, box_of_runs(view.reshape(-1), 1, view.shape)):
        if box is None:
            continue
        np.testing.assert_array_equal(box.items(int(starts[0])), view.reshape(-1))
        assert sorted(box.order) == list(range(view.ndim))
        assert [np.prod([box.sizes[d] for d in box.dimensions((a,))]) for a in range(view.ndim)] == list(view.shape)


def test_channel_groups_are_a_box() -> None:
    """[batch, channels, field] of what is stored as [groups, batch x field, channels of a group]."""
    stored = np.arange(2 * 3 * 25 * 16).reshape(2, 3, 5, 5, 16)
    view = stored.transpose(1, 0, 4, 2, 3).reshape(3, 32, 5, 5)
    box = box_of_runs(view.reshape(-1), 1, view.shape)
    assert box is not None
    assert box.sizes == (3, 2, 16, 5, 5)
    assert box.strides == (400, 1200, 1, 80, 16)
    assert box.parts == (1, 2, 1, 1)
    assert box.order == (0, 2, 3, 1)  # channels are innermost


def test_irregular_elements_are_no_box() -> None:
    numbers = np.random.default_rng(1).permutation(4096)
    assert box_of_runs(numbers, 1, (64, 64)) is None
    interleaved = np.arange(4096).reshape(2, 2048).T.reshape(-1)  # in its one axis, runs of two elements
    assert box_of_runs(interleaved, 1, interleaved.shape) is None


@given(
    st.permutations(range(4)),
    st.permutations(range(4)),
    st.sampled_from([(2, 3, 8, 16), (4, 1, 10, 8), (3, 3, 3, 3), (1, 16, 16, 2)]),
)
def test_copies_between_split_tensors(there: list[int], back: list[int], shape: tuple[int, ...]) -> None:
    """A copy from one view with split axes to another moves the same elements as NumPy's."""
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph = Graph(device)
    size = int(np.prod(shape))
    variables = [graph.addVariable(FLOAT, list(shape), name) for name in ("source", "destination")]
    for variable in variables:
        graph.setTileMapping(variable, 1)
    flat = [v.dimShuffle(order).flatten() for v, order in zip(variables, (there, back), strict=True)]
    graph.createHostWrite("in", variables[0])
    graph.createHostRead("out", variables[1])
    values = np.arange(size, dtype=np.float32)
    with Engine(graph, Sequence([Copy(flat[0], flat[1])])) as engine:
        engine.load(device)
        engine.writeTensor("in", values)
        engine.run(0)
        found = np.empty(size, np.float32)
        engine.readTensor("out", found)
    expected = np.empty(shape, np.float32)
    moved = values.reshape(shape).transpose(there).reshape(-1)
    expected.transpose(back)[...] = moved.reshape([shape[axis] for axis in back])
    np.testing.assert_array_equal(found.reshape(shape), expected)


@pytest.mark.parametrize("groups", [1, 4])
def test_a_repeated_bias(groups: int) -> None:
    """A bias in the order of what is stored: each group's values again and again."""
    bias = np.arange(groups * 8).reshape(groups, 1, 8)
    numbers = np.broadcast_to(bias, (groups, 50, 8)).reshape(-1)
    box = box_of_runs(numbers, 1, numbers.shape)
    assert box is not None
    np.testing.assert_array_equal(box.items(0), numbers)
    assert 0 in box.strides
