"""The differential flame graph of two traces: their calls merged by path, coloured by what the target has more or less.

A block is as wide as its path takes in both traces together, so that none of them vanishes. Its colour says how the
target's time differs, the deeper the larger its share; a number with a sign says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.difference import TraceDifference
from webapp.system_analyser.timeline.flame_tab import ROW_PIXELS, flame_blocks

#: Per cent of the colour in a block of which only one trace has something, and of the smallest change that is shown.
_DEEPEST, _PALEST, _LEAST = 48, 8, 0.005


@dataclass(frozen=True)
class DifferenceBlock:
    """A path: place as shares of the width, label, what the pointer is told, and the change of `TraceDifference`."""

    left: float
    width: float
    depth: int
    label: str
    title: str
    change: float

    @property
    def strength(self) -> int:
        """Per cent of the colour that stands for its change; 0 where there is none to be seen."""
        share = abs(self.change)
        return 0 if share < _LEAST else round(_PALEST + (_DEEPEST - _PALEST) * share)

    @property
    def text(self) -> str:
        """The label with the change, as a share of the source's time where there is one."""
        if self.change in (1, -1):
            return f"{self.label} (only in the {'target' if self.change > 0 else 'source'})"
        ratio = 2 * self.change / (1 - self.change)
        return f"{self.label} {ratio:+.0%}" if self.strength else self.label


def difference_blocks(difference: TraceDifference, source: HostTrace) -> tuple[list[DifferenceBlock], int]:
    """The blocks that are wide enough to be seen, and how many are not."""
    tree = difference.together()
    blocks = flame_blocks(tree)
    places = zip(blocks.row.tolist(), blocks.left.tolist(), blocks.width.tolist(), strict=True)
    return [
        _block(difference, int(tree.matched[row]), left, width, source) for row, left, width in places
    ], blocks.narrow


def _block(difference: TraceDifference, row: int, left: float, width: float, source: HostTrace) -> DifferenceBlock:
    channel, label = difference.names[int(difference.name[row])]
    lines = [label, channel]
    for name, values in (("total", difference.total), ("self", difference.own)):
        before, after = (value / 1e3 for value in values[row].tolist())
        unit = source.figure_unit
        lines.append(f"{name}: source {before:,.3f} {unit}, target {after:,.3f} {unit}, {after - before:+,.3f} {unit}")
    return DifferenceBlock(left, width, int(difference.depth[row]), label, "\n".join(lines), difference.change(row))


def difference_flame(difference: TraceDifference, source: HostTrace) -> Component:
    """The drawing."""
    blocks, narrow = difference_blocks(difference, source)
    depth = 1 + max((block.depth for block in blocks), default=0)
    box = html.Div(list(_drawn(blocks)), className="tl-flame tl-flame-difference", style={"height": ROW_PIXELS * depth})
    return html.Div([html.Div(legend(narrow), className="tl-scope"), html.Div(box, className="tl-flame-view")])


def legend(narrow: int) -> str:
    """What widths and colours mean, and how many paths are not drawn."""
    text = "Widths: time in both traces together. Colours: more (+) or less (-) in the target."
    return text + (f" {narrow:,} paths are too narrow or too deep to be drawn." if narrow else "")


def _drawn(blocks: list[DifferenceBlock]) -> Iterator[Component]:
    for block in blocks:
        style: dict[str, Any] = {
            "left": f"{100 * block.left:.4f}%",
            "width": f"{100 * block.width:.4f}%",
            "top": ROW_PIXELS * block.depth,
            "--diff-strength": f"{block.strength}%",
        }
        kind = "diff-more" if block.change > 0 else "diff-less"
        yield html.Div(
            html.Span(block.text) if block.width > 0.02 else None, className=kind, style=style, title=block.title
        )
