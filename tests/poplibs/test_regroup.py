"""popops.rearrange: elements stay, the groups in memory change where that helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import CHAR, FLOAT, HALF, INT, Graph, IPUModel, Tensor, Type
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin, popops, poputil
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import run_engine, small_graph

Given = dict[str, tuple[Any, Any]]


def _grouped(graph: Graph, type_: Type, shape: list[int], dimension: int, group: int) -> Tensor:
    """A [rows, columns] tensor whose dimension stands in groups in memory."""
    other = 1 - dimension
    t = graph.addVariable(type_, [shape[dimension] // group, shape[other], group])
    poputil.mapTensorLinearly(graph, t, group * shape[other], group)
    t = t.dimShuffle([1, 0, 2]).reshape([shape[other], shape[dimension]])
    return t if dimension else t.transpose()


@given(st.data())
def test_elements_stay_and_groups_are_those_of_the_reference(data: Any) -> None:
    type_ = data.draw(st.sampled_from([FLOAT, HALF, INT]))
    least = popops.rearrange.getMinimumRegroupGrainSize(type_)
    rows, columns = (data.draw(st.integers(1, 3)) * 4 * least for _ in range(2))
    before, after = (least * data.draw(st.sampled_from([1, 2, 4])) for _ in range(2))
    ref = data.draw(st.booleans())
    made: list[int] = []
    numbers = np.arange(rows * columns).reshape(rows, columns) % 2048  # exact as halves

    def build(graph: Graph, prog: Sequence) -> tuple[Given, Any]:
        t = _grouped(graph, type_, [rows, columns], 0, before)
        wanted = _grouped(graph, type_, [rows, columns], 1, after) if ref else after
        out = popops.rearrange.regroupIfBeneficial(graph, t, wanted, prog, "regroup")
        made.append(poputil.detectInnermostGrouping(graph, out))
        return {"t": (t, numbers)}, out

    assert np.array_equal(run_engine(build), numbers)
    assert made[0] >= least
    assert after % made[0] == 0 or made[0] % after == 0


def test_a_tensor_that_is_not_regrouped_is_itself() -> None:
    graph, prog = small_graph(), Sequence()
    regroup = popops.rearrange.regroupIfBeneficial
    t = _grouped(graph, FLOAT, [16, 16], 1, 8)
    assert regroup(graph, t, 4, prog) is t  # the innermost groups are columns already
    small = _grouped(graph, HALF, [16, 16], 0, 2)
    assert regroup(graph, small, 4, prog) is small  # too small to transpose
    bytes_ = _grouped(graph, CHAR, [16, 16], 0, 8)
    assert regroup(graph, bytes_, 8, prog) is bytes_
    row = t[0]
    assert regroup(graph, row, row, prog) is row
    assert not prog.programs
    with pytest.raises(poplibs_error, match=r"the shapes \[16, 16\] and \[16, 8\] differ"):
        regroup(graph, t, t[:, :8], prog)
    with pytest.raises(poplibs_error, match="groups of 3 do not divide a dimension of 16"):
        regroup(graph, t, 3, prog)


def test_matrices_stay_on_their_ipu_and_share_its_tiles() -> None:
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, 4
    graph, prog = Graph(model.createDevice().getTarget()), Sequence()
    t = graph.addVariable(FLOAT, [2, 16, 8])
    for ipu in range(2):
        graph.setTileMapping(t[ipu], 4 * ipu + 1)
    turned = t.dimShuffle([0, 2, 1])  # rows of 8 by 16 columns; 8 elements stand together
    out = popops.rearrange.regroupIfBeneficial(graph, turned, 16, prog)
    for ipu in range(2):
        used = {tile for tile, parts in enumerate(graph.getTileMapping(out[ipu])) if parts}
        assert used == set(range(4 * ipu, 4 * ipu + 4))
    copies = [program for program in prog.programs if isinstance(program, Copy)]
    assert len(copies) == 1


def test_the_older_name_of_the_cache_of_products() -> None:
    assert poplin.matmul.PlanningCache is poplin.PlanningCache
