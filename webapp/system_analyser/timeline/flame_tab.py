"""The tab "Flame": calls of a window merged by path of labels, each as wide as its part of the time.

The tree is that of the tab Call Tree. What lies inside a call begins at its left edge, the longest first; the free part
at its right is its self time. An inner event that outlives what encloses it is cut at the right edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.calls import CallTree, sums_before
from popvision.analysis.trace.columns import HostTrace
from webapp.base.arrays import Float64Array, Int64Array
from webapp.system_analyser.timeline.channel_colours import channel_colour, channel_pattern

#: Rows of the drawing, and the narrowest block as a share of the width.
MOST_DEPTH, NARROWEST = 64, 1 / 2000

#: Height of a row.
ROW_PIXELS = 19


@dataclass(frozen=True, eq=False)
class FlameBlocks:
    """Paths of a tree that are drawn: rows, and places as shares of the width. `narrow` counts the others."""

    row: Int64Array
    left: Float64Array
    width: Float64Array
    narrow: int

    def __len__(self) -> int:
        return len(self.row)


def flame_blocks(tree: CallTree, whole: int = 0, narrowest: float = NARROWEST) -> FlameBlocks:
    """The blocks that are wide enough to be seen. The width is `whole` ns, else the time of all outermost calls."""
    whole = whole or int(tree.total[tree.depth == 0].sum())
    # In ns: where each block begins and how much of it what encloses it has room for; the last stands for the whole.
    left, wide = np.zeros((2, len(tree) + 1), np.int64)
    wide[-1] = whole
    for rows in tree.levels():
        parent = tree.parent[rows]
        before = np.minimum(sums_before(parent, tree.total[rows]), wide[parent])
        left[rows] = left[parent] + before
        wide[rows] = np.minimum(tree.total[rows], wide[parent] - before)
    shares = wide[:-1] / max(whole, 1)
    seen = np.flatnonzero((shares >= narrowest) & (tree.depth < MOST_DEPTH))
    return FlameBlocks(seen, left[seen] / max(whole, 1), shares[seen], len(tree) - len(seen))


def flame_content(source: HostTrace, tree: CallTree, scope: str, theme: str) -> Component:
    """The drawing below a line with its scope."""
    blocks = flame_blocks(tree)
    if blocks.narrow:
        scope += f". {blocks.narrow:,} paths are too narrow or too deep to be drawn"
    places = zip(blocks.row.tolist(), blocks.left.tolist(), blocks.width.tolist(), strict=True)
    drawn = [_block(source, tree, row, left, width, theme) for row, left, width in places]
    depth = 1 + int(tree.depth[blocks.row].max(initial=0))
    box = html.Div(drawn, className="tl-flame", style={"height": ROW_PIXELS * depth}, role="list")
    return html.Div([html.Div(f"{scope}.", className="tl-scope"), html.Div(box, className="tl-flame-view")])


def _block(source: HostTrace, tree: CallTree, row: int, left: float, width: float, theme: str) -> Component:
    names = source.names
    name = int(tree.name[row])
    channel = int(names.channel[name])
    label = names.label[name]
    style: dict[str, Any] = {
        "left": f"{100 * left:.4f}%",
        "width": f"{100 * width:.4f}%",
        "top": ROW_PIXELS * int(tree.depth[row]),
        "backgroundColor": channel_colour(channel, theme),
    }
    events = "" if source.samples else f"{tree.count[row]:,} events, "
    unit = source.figure_unit
    title = (
        f"{label}\n{names.channel_name[channel]}\n{events}{tree.total[row] / 1e3:,.3f} {unit}, "
        f"self {tree.self_time[row] / 1e3:,.3f} {unit}"
    )
    text = html.Span(label) if width > 0.02 else None
    return html.Div(text, className=f"tl-pattern-{channel_pattern(channel)}", style=style, title=title, role="listitem")
