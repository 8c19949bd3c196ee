"""Route of the thread rows whose calls are merged by path: /data/<key>/timeline/paths.

A row of the page is a thread, or all threads of a process. Its blocks lie on a width that stands for the window, or for
the row's total where that is more, as with several threads; so a block's width is its time on the scale of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from flask import Response, request

from popvision.analysis.trace.bottom_up import bottom_up
from popvision.analysis.trace.calls import threads_tree
from popvision.analysis.trace.event_filter import event_matcher, parse_filter
from webapp.packed import packed_response
from webapp.query import whole_number
from webapp.system_analyser.timeline.flame_tab import Block, flame_blocks
from webapp.system_analyser.timeline.query_window import window_of_query

if TYPE_CHECKING:
    from popvision.analysis.trace.calls import CallTree
    from popvision.analysis.trace.columns import HostTrace

#: Types of the flame graph, by the value of tl_flame; without one, events lie over time.
FLAME_TYPES = {"": "Timeline", "paths": "Aggregated", "callers": "Bottom-up"}

_COLUMNS = ("depth", "total", "self", "events", "channel", "label", "matched", "thread", "longest_depth", "position")


def paths(source: HostTrace) -> Response:
    """Blocks of some `rows` (threads by comma, rows by semicolon), left and width as shares of the row, in the window;
    with kind=callers, bottom-up. Names below half a pixel of `width` are left out. `matched` is 0 for paths without an
    event that the filter `only` finds."""
    begin, end, width = window_of_query(source)
    text = request.args.get("only", "")
    matcher = event_matcher(source, parse_filter(text)) if text else None
    is_bottom_up = request.args.get("kind") == "callers"
    length = max(1, min(end, source.end) - begin)
    labels: dict[int, int] = {}
    places: list[tuple[float, float]] = []
    facts: list[tuple[int, ...]] = []
    rows: list[dict[str, int]] = []
    for threads in _rows(source):
        tree = threads_tree(source, threads, begin, end, matcher)
        tree = bottom_up(tree) if is_bottom_up else tree
        total = sum(time for time, depth in zip(tree.total, tree.depth, strict=True) if depth == 0)
        whole = max(total, length)
        blocks, narrow = flame_blocks(tree, whole, 0.5 / width)
        rows.append({"blocks": len(blocks), "narrow": narrow + tree.omitted, "total": total, "whole": whole})
        places += [(block.left, block.width) for block in blocks]
        facts += [_facts(source, tree, block, labels) for block in blocks]
    columns = np.array(facts, np.float64).reshape(-1, len(_COLUMNS)).T
    left, wide = np.array(places, np.float64).reshape(-1, 2).T
    arrays = {"left": left, "wide": wide} | dict(zip(_COLUMNS, columns, strict=True))
    names = [source.names.label[name] for name in labels]
    return packed_response({"rows": rows, "labels": names, "window": length}, arrays)


def _facts(source: HostTrace, tree: CallTree, block: Block, labels: dict[int, int]) -> tuple[int, ...]:
    row = block.row
    name = tree.name[row]
    figures = (block.depth, tree.total[row], tree.self_time[row], tree.count[row], int(source.names.channel[name]))
    return (*figures, labels.setdefault(name, len(labels)), tree.matched[row], *tree.longest[row])


def _rows(source: HostTrace) -> list[list[int]]:
    """Raises ValueError."""
    text = request.args.get("rows", "")
    rows = [[whole_number(each, 0, len(source.threads) - 1) for each in row.split(",")] for row in text.split(";")]
    known = [[each for each in row if each is not None] for row in rows]
    if known != rows:
        raise ValueError(f"rows={text[:40]!r} is not a list of threads such as 0;1;2,3")
    return known
