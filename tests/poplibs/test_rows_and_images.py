"""Circular buffers, runs of rows, and images, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_CHAR, UNSIGNED_INT, Graph, Type, concat
from simulator.poplar.program import Repeat, Sequence
from simulator.poplibs import popops
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, run_engine, small_graph

Given = dict[str, tuple[Any, Any]]


@pytest.mark.parametrize("type_", [FLOAT, HALF, INT])
def test_a_circular_buffer_gives_what_was_added_so_long_ago(type_: Type) -> None:
    size, shape = 3, [2, 5]
    numbers = np.arange(10).reshape(shape)

    def build(graph: Graph, prog: Sequence) -> tuple[Given, Any]:
        buffer = popops.CircBuf(graph, type_, size, shape, "buffer")
        assert buffer.size() == size
        t = linear(graph, type_, shape)
        step = Sequence()
        popops.addInPlace(graph, t, 1, step)
        buffer.add(t, step)
        prog.add(Repeat(5, step))
        ago = [buffer.prev(i, prog, "ago") for i in range(size)]
        index = popops.cast(graph, buffer.getIndex(), type_, prog)
        return {"t": (t, numbers)}, concat([*(one.flatten() for one in ago), index])

    wanted = [*(numbers.reshape(-1) + 5), *(numbers.reshape(-1) + 4), *(numbers.reshape(-1) + 3), 5 % size]
    assert run_engine(build).tolist() == wanted


def test_what_a_circular_buffer_refuses() -> None:
    graph = small_graph()
    buffer = popops.CircBuf(graph, FLOAT, 2, [3])
    with pytest.raises(poplibs_error, match=r"prev\(2\): the buffer has 2 entries"):
        buffer.prev(2, Sequence())
    with pytest.raises(poplibs_error, match=r"shape \[4\]; the buffer holds float of shape \[3\]"):
        buffer.add(linear(graph, FLOAT, [4]), Sequence())
    with pytest.raises(poplibs_error, match="0 entries"):
        popops.CircBuf(graph, FLOAT, 0, [3])


@given(st.data())
def test_runs_of_rows_are_copied(data: Any) -> None:
    rows, out_rows, width = (data.draw(st.integers(1, 9)) for _ in range(3))
    count = data.draw(st.integers(1, 5))
    numbers = np.array([[data.draw(st.integers(0, 10)) for _ in range(count)] for _ in range(3)], np.uint32)
    zeroes = data.draw(st.booleans())
    type_ = data.draw(st.sampled_from([FLOAT, HALF, INT]))
    source = np.arange(rows * width).reshape(rows, width) + 1
    target = -np.arange(out_rows * width).reshape(out_rows, width) - 1

    def build(graph: Graph, prog: Sequence) -> tuple[Given, Any]:
        t_in, t_out = linear(graph, type_, [rows, width]), linear(graph, type_, [out_rows, width, 1])
        places = [linear(graph, UNSIGNED_INT, [count], name) for name in ("n", "from", "to")]
        popops.sequenceSlice(graph, t_in, t_out, *places, zeroes, prog, "slice")
        given = {"in": (t_in, source), "out": (t_out, target[..., None])}
        return given | {str(i): (place, numbers[i]) for i, place in enumerate(places)}, t_out

    wanted = np.zeros_like(target) if zeroes else target.copy()
    for length, first, place in numbers.T.astype(int).tolist():
        for row in range(length):
            if first + row < rows and place + row < out_rows:
                wanted[place + row] = source[first + row]
    for found in both_ways(build):
        assert np.array_equal(found[..., 0], wanted)


def test_what_runs_of_rows_cannot_be() -> None:
    graph = small_graph()
    numbers = [linear(graph, UNSIGNED_INT, [2]) for _ in range(3)]
    matrix = linear(graph, FLOAT, [4, 3])
    for bad, sentence in ((linear(graph, FLOAT, [4, 2]), "do not fit"), (linear(graph, FLOAT, [4]), "has no rows")):
        with pytest.raises(poplibs_error, match=sentence):
            popops.sequenceSlice(graph, matrix, bad, *numbers, False, Sequence())
    with pytest.raises(poplibs_error, match="vectors of as many UNSIGNED_INT"):
        popops.sequenceSlice(graph, matrix, matrix, linear(graph, INT, [2]), *numbers[1:], False, Sequence())


@pytest.mark.parametrize("type_", [UNSIGNED_CHAR, HALF, FLOAT])
def test_images_are_scaled_and_padded(type_: Type) -> None:
    image = np.random.default_rng(0).integers(0, 200, (4, 5, 3))
    offsets, scales = np.array([1.0, 0.5, 2.0]), np.array([0.5, 2.0, 0.25])

    def build(graph: Graph, prog: Sequence) -> tuple[Given, Any]:
        of_result = HALF if type_ is UNSIGNED_CHAR else type_
        t = popops.createNormaliseImageInput(graph, type_, image.shape, "image")
        shift, factor = linear(graph, of_result, [3]), linear(graph, of_result, [3])
        out = popops.normaliseImage(graph, prog, t, 0.125, shift, factor, "normalise")
        assert out.elementType() is of_result
        tiles, of_image = graph.getTileMapping(out), graph.getTileMapping(t)
        assert [bool(a) for a in tiles] == [bool(b) for b in of_image]  # pixels stay where they are
        return {"image": (t, image), "shift": (shift, offsets), "factor": (factor, scales)}, out

    found = run_engine(build)
    assert (found[..., 3] == 0).all()
    np.testing.assert_allclose(found[..., :3], (image * 0.125 - offsets) * scales, rtol=2e-3, atol=2e-2)


def test_images_that_are_none() -> None:
    graph = small_graph()
    with pytest.raises(poplibs_error, match=r"an image \[..., 3\]"):
        popops.createNormaliseImageInput(graph, INT, [4, 3])
    image = popops.createNormaliseImageInput(graph, FLOAT, [4, 3])
    three, halves = linear(graph, FLOAT, [3]), linear(graph, HALF, [3])
    with pytest.raises(poplibs_error, match="scales is half"):
        popops.normaliseImage(graph, Sequence(), image, 1.0, three, halves)
    with pytest.raises(poplibs_error, match="inScale is 0"):
        popops.normaliseImage(graph, Sequence(), image, 0.0, three, three)
