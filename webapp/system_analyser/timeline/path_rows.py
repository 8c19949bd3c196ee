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
from webapp.base.arrays import AnyArray
from webapp.base.packed import packed_response
from webapp.base.query import whole_number
from webapp.system_analyser.timeline.flame_tab import FlameBlocks, flame_blocks
from webapp.system_analyser.timeline.query_window import window_of_query

if TYPE_CHECKING:
    from popvision.analysis.trace.calls import CallTree
    from popvision.analysis.trace.columns import HostTrace

#: Types of the flame graph, by the value of tl_flame; without one, events lie over time.
FLAME_TYPES = {"": "Timeline", "paths": "Aggregated", "callers": "Bottom-up"}

_COLUMNS = (
    "left",
    "wide",
    "depth",
    "total",
    "self",
    "events",
    "channel",
    "matched",
    "thread",
    "longest_depth",
    "position",
)


def paths(source: HostTrace) -> Response:
    """Blocks of some `rows` (threads by comma, rows by semicolon), left and width as shares of the row, in the window;
    with kind=callers, bottom-up. Names below half a pixel of `width` are left out. `matched` is 0 for paths without an
    event that the filter `only` finds."""
    begin, end, width = window_of_query(source)
    text = request.args.get("only", "")
    matcher = event_matcher(source, parse_filter(text)) if text else None
    is_bottom_up = request.args.get("kind") == "callers"
    length = max(1, min(end, source.end) - begin)
    rows: list[dict[str, int]] = []
    parts: list[AnyArray] = []
    names: list[AnyArray] = []
    for threads in _rows(source):
        tree = threads_tree(source, threads, begin, end, matcher)
        tree = bottom_up(tree) if is_bottom_up else tree
        total = int(tree.total[tree.depth == 0].sum())
        whole = max(total, length)
        blocks = flame_blocks(tree, whole, 0.5 / width)
        rows.append({"blocks": len(blocks), "narrow": blocks.narrow, "total": total, "whole": whole})
        parts.append(_columns(source, tree, blocks))
        names.append(tree.name[blocks.row])
    used, label = np.unique(np.concatenate(names), return_inverse=True)
    arrays = dict(zip(_COLUMNS, np.concatenate(parts, axis=1), strict=True)) | {"label": label.astype(np.float64)}
    labels = [source.names.label[name] for name in used.tolist()]
    return packed_response({"rows": rows, "labels": labels, "window": length}, arrays)


def _columns(source: HostTrace, tree: CallTree, blocks: FlameBlocks) -> AnyArray:
    """A row for each of _COLUMNS."""
    row = blocks.row
    channel = source.names.channel[tree.name[row]]
    facts = tree.depth[row], tree.total[row], tree.self_time[row], tree.count[row], channel, tree.matched[row]
    return np.stack([blocks.left, blocks.width, *facts, *tree.longest[row].T]).astype(np.float64)


def _rows(source: HostTrace) -> list[list[int]]:
    """Raises ValueError."""
    text = request.args.get("rows", "")
    rows = [[whole_number(each, 0, len(source.threads) - 1) for each in row.split(",")] for row in text.split(";")]
    known = [[each for each in row if each is not None] for row in rows]
    if known != rows:
        raise ValueError(f"rows={text[:40]!r} is not a list of threads such as 0;1;2,3")
    return known
