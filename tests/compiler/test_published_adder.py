"""The lines of a published Mk1 summary that its list of vertices determines (published-numbers 6.2), to the byte."""

import pytest

from benchmarks.tf_adder import measure, mk1

TILES = 1216


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("adder"), mk1())


def test_graph(ours):
    assert (ours["vertices"], ours["edges"], ours["compute sets"]) == (1219, 1223, 4)


def test_lines_that_vertices_determine(ours):
    assert ours["vertexInstanceState"] == 14640 == 12 * TILES + 3 * 16
    assert ours["instrumentationResults"] == 4876 == 4 * (TILES + 3)
    assert ours["stack"] == 3852288 == 3168 * TILES
    for empty in ("constant", "copyDescriptor", "vectorListDescriptor", "vertexFieldData", "globalExchangeCode"):
        assert ours[empty] == 0


def test_stacks_lie_in_the_second_element_of_every_tile(ours):
    """Published: 23,878,396 bytes including gaps, 16 KiB + 3,168 + about 60 on all tiles but one."""
    assert ours["including gaps"] == pytest.approx(23_878_396, rel=0.01)
    assert ours["excluding gaps"] == pytest.approx(5_355_604, rel=0.05)
    assert ours["tiles out of memory"] == 0
