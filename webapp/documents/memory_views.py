"""Documents of the summary, the memory and the liveness view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.lowered import lowered_table
from popvision.analysis.memory.usage import breakdown, memory_by_tile
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Table as FigureTable
from popvision.analysis.report.figure_titles import field_of, figure_title, heading, viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.summary.facts import summarise
from popvision.analysis.summary.headline import headline
from popvision.questions.entire_report import options
from popvision.questions.execution import runs
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text, seconds_text
from webapp.base.view import ViewContext
from webapp.components.figure_columns import KINDS
from webapp.documents.bars import share_bar
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Curves, Drawing, Facts, Field, Note, Table
from webapp.graph_analyser.liveness.state import GRAPHS as CURVES
from webapp.graph_analyser.liveness.state import liveness_state, where_text
from webapp.graph_analyser.memory.state import GRAPHS, memory_state

if TYPE_CHECKING:
    import pandas as pd

#: Rows of an exported table; its heading states the total.
MOST_ROWS = 1_000

#: Tiles whose allocations are listed.
MOST_TILES = 4


def frame_table(title: str, frame: pd.DataFrame, fields: list[Field], most: int = MOST_ROWS) -> Table:
    """The first rows of a frame."""
    import pandas as pd

    names = [each.name for each in fields]
    cut = frame[names].head(most).astype(object)
    rows = cut.where(pd.notna(cut), None).to_dict("records")
    return Table(title, fields, [{str(k): v for k, v in row.items()} for row in rows], len(frame))


def figure_table(
    title: str, table: FigureTable, ids: Sequence[str], names: Mapping[str, str], most: int = MOST_ROWS
) -> Table:
    """The first rows of some figures of a table, with headings and help of the catalogue. `names` are the kinds of the
    figures that are names in the report."""
    shown = [figure for id in ids for figure in table if figure.id == id]
    fields = [
        Field(field_of(table, figure), heading(table, figure), names.get(figure.id, KINDS[figure.unit]), hint)
        for figure in shown
        for hint in [figure_title(table.id, figure.id).hint]
    ]
    return frame_table(title, viewer_frame(FigureTable(table.id, shown)), fields, most)


def summary_blocks(context: ViewContext, names: Names) -> list[Block]:
    """Headline, shares of time, runs, options."""
    source = context.source
    blocks: list[Block] = [_headline(context)]
    figures = if_recorded(lambda: headline(source))
    if figures is not None and figures.shares is not None:
        rows = [{"phase": phase, "share": share} for phase, share in figures.shares.items()]
        fields = [Field("phase", "Phase"), Field("share", "Share of tile cycles", "percent")]
        blocks += [Drawing("Where the time goes", share_bar(figures.shares)), Table("Shares of time", fields, rows)]
    recorded = if_recorded(lambda: runs(source).table)
    if recorded:
        shown = ("run", "name", "steps", "run_cycles", "device_us")
        blocks.append(figure_table("Recorded runs", recorded, shown, {"name": "run"}))
    summary = if_recorded(lambda: summarise(source))
    if summary is None:
        return blocks
    counts = [(name.replace("num_", "").replace("_", " "), integer_text(n), "") for name, n in summary.graph.items()]
    blocks.append(Facts(counts, "Graph"))
    listed = figure_table("Options", options(source).table, ("group", "name", "value"), {"value": "value"})
    return [*blocks, listed] if listed.rows else blocks


def _headline(context: ViewContext) -> Block:
    figures = headline(context.source)
    longest = figures.longest
    (tile, size), room = figures.fullest or (None, None), figures.tile_capacity
    return Facts(
        [
            ("Total device cycles", cycles_text(figures.total_cycles), seconds_text(figures.device_seconds)),
            ("Fullest tile", bytes_text(size), _of(tile, None if not room or size is None else size / room)),
            ("Memory in use", bytes_text(figures.used_bytes), f"{percent_text(figures.used_share)} of all tiles"),
            (
                "Longest program",
                "–" if longest is None else cycles_text(longest.cycles),
                "" if longest is None else f"program {longest.program}, {longest.type}",
            ),
        ]
    )


def _of(tile: int | None, share: float | None) -> str:
    return "" if tile is None else f"tile {tile:,}, {percent_text(share)} of its memory"


def memory_blocks(context: ViewContext, names: Names) -> list[Block]:
    """Memory of every tile, its breakdown by category, and the allocations of the selected tiles."""
    source = context.source
    state = memory_state(source, context.params)
    memory = memory_by_tile(source, state.replica)
    including, excluding = memory.including_gaps, memory.excluding_gaps
    first = memory.tiles.start
    shown = including if len(memory.over_capacity) else excluding
    at = int(np.argmax(shown))
    blocks: list[Block] = [
        Facts(
            [
                ("Fullest tile", bytes_text(int(shown[at])), f"tile {first + at:,}, {int(shown[at]):,} B"),
                (
                    "Including gaps",
                    bytes_text(int(including.sum())),
                    f"{int(including.sum()):,} B over {with_noun(len(including), 'tile')}",
                ),
                ("Excluding gaps", bytes_text(int(excluding.sum())), f"{int(excluding.sum()):,} B"),
                ("Capacity of a tile", bytes_text(memory.capacity), f"{memory.capacity:,} B"),
            ]
        ),
        Curves(
            "Memory by tile",
            "tile",
            ["Including gaps", "Excluding gaps"] if state.gaps else ["Excluding gaps"],
            [including, excluding] if state.gaps else [excluding],
            first=first,
            colours=[1, 2] if state.gaps else [2],
            filled=True,
            marked=[tile - first for tile in state.tiles[:64]],
        ),
    ]
    try:
        parts = breakdown(source, "category", state.replica)
        rows = [
            {"part": label, "bytes": int(v.sum()), "most": int(v.max(initial=0)), "tile": first + int(v.argmax())}
            for label, v in zip(parts.labels, parts.values, strict=True)
        ]
        fields = [
            Field("part", "Category"),
            Field("bytes", "All tiles", "bytes"),
            Field("most", "Fullest tile", "bytes"),
            Field("tile", "Which", "integer"),
        ]
        blocks.append(Table("By category", fields, rows))
    except NotRecordedError as problem:
        blocks.append(Note(str(problem)))
    if state.graph != "total":
        instead = (
            f"The page shows {GRAPHS[state.graph].lower()}; this file shows the total memory of each tile instead."
        )
        blocks.insert(1, Note(instead))
    return blocks + _tiles(context, state.tiles or (first + at,))


def _tiles(context: ViewContext, tiles: tuple[int, ...]) -> list[Block]:
    ids = ("variable_name", "category", "region", "address", "size_bytes", "live")
    blocks: list[Block] = []
    for tile in tiles[:MOST_TILES]:
        try:
            table = lowered_table(context.source, tile)
            table = table.take(np.argsort(-np.asarray(table["size_bytes"]), kind="stable"))
            blocks.append(figure_table(f"Allocations of tile {tile:,}", table, ids, {"variable_name": "variable"}))
        except NotRecordedError as problem:
            return [*blocks, Note(str(problem))]
    if len(tiles) > MOST_TILES:
        blocks.append(Note(f"{len(tiles):,} tiles are selected; the first {MOST_TILES} are listed."))
    return blocks


def liveness_blocks(context: ViewContext, names: Names) -> list[Block]:
    """The curve, its peak, and the variables live at the selected index (by default the peak)."""
    source = context.source
    state = liveness_state(source, context.params)
    line = curve(source, state.where)
    top = peak(line)
    live = line.not_always_live
    programs = if_recorded(lambda: programs_of(source))
    name = "" if programs is None else names.show("program", programs.name[top.program])
    total = top.not_always_live + top.always_live
    place = where_text(state.where, 1)
    index = state.indices[0] if state.indices else top.index
    curves = Curves(
        f"Live bytes of {place}",
        "liveness index",
        ["Not always live, on top of always live", "Always live"],
        [live + line.always_live, np.full(len(live), line.always_live)],
        marked=list(state.indices),
        colours=[2, 1],
        filled=True,
    )
    blocks: list[Block] = [
        Facts(
            [
                ("Peak", bytes_text(total), f"{total:,} B at index {top.index:,}, program {top.program} {name}"),
                ("Always live", bytes_text(line.always_live), f"{line.always_live:,} B"),
                ("Capacity", bytes_text(line.capacity), place),
                ("Indices", integer_text(len(live)), ""),
            ]
        ),
        curves,
    ]
    if state.graph != "curve":
        instead = f"The page shows {CURVES[state.graph].lower()}; this file shows the curve of {place} instead."
        blocks.insert(1, Note(instead))
    wanted: list[Any] = [
        (f"Live at index {index:,}, not always live", lambda: live_table(source, [index], state.where)),
        ("Always live", lambda: always_live_table(source, state.where)),
    ]
    for title, read in wanted:
        try:
            blocks.append(figure_table(title, read(), ("name", "variable", "size_bytes"), {"name": "variable"}))
        except NotRecordedError as problem:
            blocks.append(Note(str(problem)))
    return blocks
