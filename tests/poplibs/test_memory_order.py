"""Element-wise operators on tensors in blocks: the same vertices as element by element, from a region for each run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base import regions
from simulator.graph.tensor import Tensor
from simulator.poplar import FLOAT, Graph, Target, concat
from simulator.poplar.program import Sequence
from simulator.poplibs import pieces
from simulator.poplibs.memory_order import in_memory_order, ordered_by_memory
from simulator.poplibs.popnn import bn


def graph() -> Graph:
    return Graph(Target.createIPUTarget(1, 8, "ipu2"))


def in_groups(graph: Graph, batch: int, groups: int, size: int, field: int, tiles: int = 8) -> Tensor:
    """[batch, groups * size, field], stored as [groups, batch, field, size] as a convolution leaves them."""
    stored = graph.addVariable(FLOAT, [groups, batch, field, size], "stored")
    for part in range(groups):
        graph.setTileMapping(stored[part], part % tiles)
    return stored.dimShuffle([1, 0, 3, 2]).reshape([batch, groups * size, field])


def columns(runs: pieces.Runs) -> list[Any]:
    flat = [runs.tiles, runs.starts, runs.lengths, runs.workers, *runs.offsets]
    return [array.tolist() for array in flat + [part for operand in runs.operands for part in operand]]


@st.composite
def tensors(draw: st.DrawFn) -> tuple[Graph, Tensor, list[Tensor]]:
    """A tensor in blocks, or a slice or permutation of one, and operands of its shape with other layouts."""
    place = graph()
    sizes = [draw(st.integers(1, 4)) for _ in range(4)]
    out = in_groups(place, *sizes)
    twin = in_groups(place, *sizes)
    order = draw(st.permutations(range(3)))
    out, twin = out.dimShuffle(order), twin.dimShuffle(order)
    if draw(st.booleans()):
        begin = draw(st.integers(0, out.dim(1) - 1))
        out, twin = out.slice(begin, out.dim(1), 1), twin.slice(begin, out.dim(1), 1)
    linear = place.addVariable(FLOAT, out.shape(), "linear")
    place.setTileMapping(linear, 0)
    axis = draw(st.integers(0, 2))
    line = place.addVariable(FLOAT, [out.dim(axis)], "line")
    place.setTileMapping(line, 1)
    line = line.reshape([out.dim(other) if other == axis else 1 for other in range(3)])
    for other in range(3):
        if other != axis:
            line = line.broadcast(out.dim(other), other)
    return place, out, [twin, linear, line, out]


@given(tensors(), st.sampled_from([1, 2, 1 << 20]), st.booleans())
def test_runs_are_those_of_the_elements(
    case: tuple[Graph, Tensor, list[Tensor]], grain: int, always_dealt: bool
) -> None:
    place, out, operands = case
    runs = pieces.aligned_runs(place.store, out, operands, grain, always_dealt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "ordered_by_memory", lambda out, operands: None)
        slow = pieces.aligned_runs(place.store, out, operands, grain, always_dealt)
    assert columns(runs) == columns(slow)


@given(tensors())
def test_operands_follow_the_output(case: tuple[Graph, Tensor, list[Tensor]]) -> None:
    _, out, operands = case
    *read, target = in_memory_order(out, operands)
    where = {int(e): number for number, e in enumerate(out.view.element_numbers().reshape(-1))}
    order = [where[int(e)] for e in target.view.element_numbers().reshape(-1)]
    assert sorted(order) == list(range(out.numElements()))
    for operand, seen in zip(operands, read, strict=True):
        expected = operand.view.element_numbers().reshape(-1)
        expected = expected if operand.numElements() == 1 else expected[order]
        assert seen.view.element_numbers().reshape(-1).tolist() == expected.tolist()


def test_a_tensor_in_groups_is_read_as_one_run() -> None:
    place = graph()
    out, twin = (in_groups(place, 2, 3, 4, 5) for _ in range(2))
    assert len(out.regions()[0]) == out.numElements()
    ordered = ordered_by_memory(out, [twin])
    assert ordered is not None
    assert [len(t.regions()[0]) for t in ordered] == [1, 1]


def test_a_tensor_in_unequal_blocks_has_no_levels() -> None:
    place = graph()
    line = place.addVariable(FLOAT, [12], "line")
    place.setTileMapping(line, 0)
    uneven = concat([line.slice(0, 3), line.slice(4, 9), line.slice(10, 11)]).reshape([3, 3]).transpose()
    assert ordered_by_memory(uneven, []) is None


def test_normalising_cuts_a_region_for_each_group_of_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for each element, as before: costs grew with elements x operators."""
    place = graph()
    acts = in_groups(place, 2, 4, 16, 49)
    statistics = [place.addVariable(FLOAT, [64], name) for name in ("mean", "deviation")]
    for values in statistics:
        place.setTileMapping(values, 0)
    cut: list[int] = []
    whole = regions.cuts

    def counted(*arguments: Any) -> Any:
        result = whole(*arguments)
        cut.append(len(result[0]))
        return result

    monkeypatch.setattr(regions, "cuts", counted)
    bn.batchNormWhiten(place, acts, *statistics, Sequence())
    assert cut
    assert max(cut) <= acts.numElements() // 16


@given(st.lists(st.integers(-50, 50)), st.integers(1, 1000))
def test_ranks_are_those_of_unique(values: list[int], step: int) -> None:
    array = np.array(values, np.int64) * step
    used, place = regions.ranked(array)
    expected_used, expected_place = np.unique(array, return_inverse=True)
    assert used.tolist() == expected_used.tolist()
    assert place.tolist() == expected_place.tolist()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), max_size=12), st.integers(1, 40))
def test_overlaps_are_those_of_the_elements(pairs: list[tuple[int, int]], step: int) -> None:
    starts = np.array([start * step for start, _ in pairs], np.int64)
    lengths = np.array([length for _, length in pairs], np.int64)
    listed = regions.elements(starts, lengths).tolist()
    assert regions.overlap_themselves(starts, lengths) == (len(set(listed)) < len(listed))
