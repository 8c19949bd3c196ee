"""The merged flame of the timeline: places of its blocks by hand and for any trace."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from hypothesis import given

from popvision.analysis.trace.calls import call_tree
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans
from webapp.system_analyser.timeline.flame_tab import NARROWEST, flame_blocks


class Block(NamedTuple):
    row: int
    depth: int
    left: float
    width: float


def test_places_by_hand(tmp_path: Path) -> None:
    spans = [(0, 0, 600, "a/step"), (0, 0, 300, "a/x"), (0, 300, 400, "a/y"), (1, 0, 400, "b/io")]
    source = make_trace(tmp_path / "a.pvti", spans)
    tree = call_tree(source, source.begin, source.end + 1)
    blocks = flame_blocks(tree)
    places = {
        source.names.label[tree.name[row]]: (tree.depth[row], left, width)
        for row, left, width in zip(blocks.row, blocks.left, blocks.width, strict=True)
    }
    assert places == {"step": (0, 0.0, 0.6), "x": (1, 0.0, 0.3), "y": (1, 0.3, 0.1), "io": (0, 0.6, 0.4)}
    assert blocks.narrow == 0


@given(nested_spans())
def test_blocks_nest_and_do_not_overlap(tmp_path: Path, spans: list[Span]) -> None:
    source = make_trace(tmp_path / "a.pvti", spans)
    tree = call_tree(source, source.begin, source.end + 1)
    drawn = flame_blocks(tree)
    assert len(drawn) + drawn.narrow == len(tree)
    depths = tree.depth[drawn.row]
    blocks = [Block(*each) for each in zip(drawn.row, depths, drawn.left, drawn.width, strict=True)]
    whole = len({(thread, time) for thread, begin, end, _ in spans for time in range(begin, end)})
    for block in blocks:
        assert abs(block.width - tree.total[block.row] / whole) < 1e-9
        if block.depth:
            above = [each for each in blocks if each.depth == block.depth - 1 and each.row < block.row][-1]
            assert above.left - 1e-9 <= block.left
            assert block.left + block.width <= above.left + above.width + 1e-9
    for depth in range(10):
        row = sorted((each.left, each.left + each.width) for each in blocks if each.depth == depth)
        assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(row))


def test_a_narrow_path_is_counted(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "a.pvti", [(0, 0, 1_000_000, "a/x"), (1, 0, 1, "a/y")])
    blocks = flame_blocks(call_tree(source, source.begin, source.end + 1))
    assert (blocks.row.tolist(), blocks.narrow) == ([0], 1)
    assert NARROWEST > 1 / 1_000_001
