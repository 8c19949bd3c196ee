"""The tab "Flame": calls of a window merged by path of labels, each as wide as its part of the time.

The tree is that of the tab Call Tree. What lies inside a call begins at its left edge, the longest first; the free part
at its right is its self time. An inner event that outlives what encloses it is cut at the right edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.calls import CallTree
from popvision.analysis.trace.columns import HostTrace
from webapp.system_analyser.timeline.channel_colours import channel_colour, channel_pattern

#: Rows of the drawing, and the narrowest block as a share of the width.
MOST_DEPTH, NARROWEST = 64, 1 / 2000

_ROW = 19  # pixels


@dataclass(frozen=True)
class Block:
    """A path of the tree, its place as shares of the width."""

    row: int  #: of the tree
    depth: int
    left: float
    width: float


def flame_blocks(tree: CallTree, whole: int = 0, narrowest: float = NARROWEST) -> tuple[list[Block], int]:
    """The blocks that are wide enough to be seen, and the number of the others. The width is `whole` ns, else the time
    of all outermost calls."""
    whole = whole or sum(total for depth, total in zip(tree.depth, tree.total, strict=True) if depth == 0)
    blocks: list[Block] = []
    narrow = 0
    edges = [(0.0, 1.0)]  # of each open depth: where the next block begins, and the right edge
    for row, (depth, total) in enumerate(zip(tree.depth, tree.total, strict=True)):
        del edges[depth + 1 :]
        left, right = edges[depth]
        width = min(total / whole if whole else 0.0, right - left)
        edges[depth] = (left + width, right)
        edges.append((left, left + width))
        if width < narrowest or depth >= MOST_DEPTH:
            narrow += 1
        else:
            blocks.append(Block(row, depth, left, width))
    return blocks, narrow


def flame_content(source: HostTrace, tree: CallTree, scope: str, theme: str) -> Component:
    """The drawing below a line with its scope."""
    blocks, narrow = flame_blocks(tree)
    if narrow:
        scope += f". {narrow:,} paths are too narrow or too deep to be drawn; the Call Tree lists them"
    depth = 1 + max((block.depth for block in blocks), default=0)
    drawn = [_block(source, tree, block, theme) for block in blocks]
    box = html.Div(drawn, className="tl-flame", style={"height": _ROW * depth}, role="list")
    return html.Div([html.Div(f"{scope}.", className="tl-scope"), html.Div(box, className="tl-flame-view")])


def _block(source: HostTrace, tree: CallTree, block: Block, theme: str) -> Component:
    names, row = source.names, block.row
    name = tree.name[row]
    channel = int(names.channel[name])
    label = names.label[name]
    style: dict[str, Any] = {
        "left": f"{100 * block.left:.4f}%",
        "width": f"{100 * block.width:.4f}%",
        "top": _ROW * block.depth,
        "backgroundColor": channel_colour(channel, theme),
    }
    title = (
        f"{label}\n{names.channel_name[channel]}\n{tree.count[row]:,} events, {tree.total[row] / 1e3:,.3f} µs, "
        f"self {tree.self_time[row] / 1e3:,.3f} µs"
    )
    text = html.Span(label) if block.width > 0.02 else None
    return html.Div(text, className=f"tl-pattern-{channel_pattern(channel)}", style=style, title=title, role="listitem")
