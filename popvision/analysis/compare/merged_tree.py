"""Two program trees merged into one: the source's, with programs that only the target has inserted in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.programs.program_tree import MOST_ROWS, tree_rows
from popvision.analysis.report.columns import programs_of
from popvision.arrays import Int64Array
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs


_MOST_DEPTH = 10_000


@dataclass(frozen=True)
class MergedRows:
    """One tree in pre-order: row r shows source program `source[r]` and its counterpart `target[r]`, -1 where there is
    none; depth and size as in TreeRows."""

    source: Int64Array
    target: Int64Array
    depth: Int64Array
    size: Int64Array


def partners(source: ReportSource, target: ReportSource) -> tuple[Int64Array, Int64Array]:
    """(target program of each source program, source program of each target program), -1 where there is none."""
    matching = match_programs(source, target)
    return matching.target_rows(), matching.source_rows()


def merged_tree(source: ReportSource, target: ReportSource, root: int) -> MergedRows:
    """The tree below a source program. Raises as `tree_rows`."""
    return source.kept.beside(target).recent(("merged_tree", root), lambda: _walk(source, target, root))


def _walk(source: ReportSource, target: ReportSource, root: int) -> MergedRows:
    tree_rows(source, root)  # refuses trees that contain themselves
    forth, back = (each.tolist() for each in partners(source, target))
    source_children, target_children = _children(programs_of(source)), _children(programs_of(target))
    rows: list[tuple[int, int, int]] = []
    stack: list[tuple[int, int, int]] = [(root, forth[root], 0)]
    while stack:
        source_node, other, depth = stack.pop()
        if len(rows) >= MOST_ROWS or depth > _MOST_DEPTH:
            raise FormatError(f"The merged program trees have more than {MOST_ROWS:,} rows.")
        rows.append((source_node, other, depth))
        below = _merge_children(source_children(source_node), target_children(other), forth, back)
        stack.extend((a, b, depth + 1) for a, b in reversed(below))
    table = np.array(rows, np.int64).reshape(-1, 3)
    return MergedRows(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), _sizes(table[:, 2]))


def _children(programs: Programs) -> Callable[[int], list[int]]:
    offsets = np.asarray(programs.child_offsets).tolist()
    children = np.asarray(programs.children).tolist()
    return lambda row: children[offsets[row] : offsets[row + 1]] if row >= 0 else []


def _merge_children(
    source_nodes: list[int], target_nodes: list[int], forth: list[int], back: list[int]
) -> list[tuple[int, int]]:
    """Children of a pair: the source's in order, each target-only one after the sibling it follows in the target."""
    place = {other: at for at, other in enumerate(target_nodes)}
    result: list[tuple[int, int]] = []
    done = 0
    for child in source_nodes:
        other = forth[child]
        if other in place and place[other] >= done:
            result += [(-1, each) for each in target_nodes[done : place[other]] if back[each] < 0]
            done = place[other] + 1
        result.append((child, other))
    return result + [(-1, each) for each in target_nodes[done:] if back[each] < 0]


def _sizes(depth: Int64Array) -> Int64Array:
    """Rows of each subtree: up to the next row that is no deeper."""
    sizes = np.empty(len(depth), np.int64)
    path: list[int] = []
    for row, each in enumerate(depth.tolist()):
        while path and depth[path[-1]] >= each:
            closed = path.pop()
            sizes[closed] = row - closed
        path.append(row)
    for closed in path:
        sizes[closed] = len(depth) - closed
    return sizes
