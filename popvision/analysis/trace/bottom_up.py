"""Bottom-up call tree: labels by self time, and inside each the calls that led to it.

Each path of the call tree hands its self time to its own label and to every call above it, so that the outermost
totals add up to all self time, and a label that calls itself counts once. O(paths x depth).
"""

from __future__ import annotations

from popvision.analysis.trace.calls import CallTree

_EMPTY = (-1, -1, -1)


def bottom_up(tree: CallTree) -> CallTree:
    """The tree of callers. `total` of a row is self time of the outermost label while it was called so, `self_time` the
    part of it that nothing called; `count` the events of the outermost label; times in ns. Rows without time are left
    out. `longest` is the longest event of the row's own label on the paths that it stands for."""
    rows = _Rows(tree)
    path: list[int] = []
    for row, depth in enumerate(tree.depth):
        del path[depth:]
        path.append(row)
        if tree.self_time[row] > 0:
            rows.add(path)
    return rows.listed()


class _Rows:
    """Rows of the tree of callers by (row above, name); -1 stands above the outermost."""

    def __init__(self, tree: CallTree) -> None:
        self.tree = tree
        self.known: dict[tuple[int, int], int] = {}
        self.inside: dict[int, list[int]] = {-1: []}
        self.figures: list[list[int]] = []  #: name, count, total, self time, matched, most time of one path
        self.longest: list[tuple[int, int, int]] = []

    def add(self, path: list[int]) -> None:
        """The self time of the last row of a path, to its label and to the calls above it."""
        tree, leaf, above = self.tree, path[-1], -1
        for row in reversed(path):
            key = (above, tree.name[row])
            if key not in self.known:
                self.known[key] = len(self.figures)
                self.inside[above].append(len(self.figures))
                self.inside[len(self.figures)] = []
                self.figures.append([tree.name[row], 0, 0, 0, 0, -1])
                self.longest.append(_EMPTY)
            above = self.known[key]
            figures = self.figures[above]
            figures[1] += tree.count[leaf]
            figures[2] += tree.self_time[leaf]
            figures[3] += tree.self_time[leaf] if row == path[0] else 0
            figures[4] += tree.matched[row] if tree.matched else 0
            if tree.longest and tree.self_time[leaf] > figures[5]:
                figures[5], self.longest[above] = tree.self_time[leaf], tree.longest[row]

    def listed(self) -> CallTree:
        """Depth first, siblings by total time."""
        listed = CallTree([], [], [], [], [], self.tree.omitted)
        stack = [(0, row) for row in self._by_total(-1)]
        while stack:
            depth, row = stack.pop()
            name, count, total, own, matched, _ = self.figures[row]
            listed.depth.append(depth)
            listed.name.append(name)
            listed.count.append(count)
            listed.total.append(total)
            listed.self_time.append(own)
            if self.tree.longest:
                listed.longest.append(self.longest[row])
                listed.matched.append(matched)
            stack += [(depth + 1, inner) for inner in self._by_total(row)]
        return listed

    def _by_total(self, above: int) -> list[int]:
        """The smallest first, as a stack needs them."""
        return sorted(self.inside[above], key=lambda row: self.figures[row][2])
