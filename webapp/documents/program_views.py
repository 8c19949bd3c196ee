"""Documents of the program tree, the execution trace and the exchange view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from popvision.analysis.exchange.matrix import Matrix, matrix_of
from popvision.analysis.exchange.table import exchange_programs_table
from popvision.analysis.execution.raster import CLASSES
from popvision.analysis.execution.timeline import PHASES, TYPE_NAMES, program_labels, timeline
from popvision.analysis.execution.window import window_figures
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.programs.figures import figures
from popvision.analysis.programs.program_tree import root_of, roots, tree_rows
from popvision.analysis.programs.table import program_table
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure
from popvision.analysis.report.figure import Table as FigureTable
from popvision.analysis.report.not_recorded import CODE_SIZES, NotRecordedError
from webapp.base.formats import bytes_text, cycles_text, integer_text, seconds_text
from webapp.base.view import ViewContext
from webapp.documents.bars import flame_svg
from webapp.documents.confidential import Names
from webapp.documents.document import Axis, Block, Drawing, Facts, Field, Note, Picture, Table
from webapp.documents.memory_views import MOST_ROWS, figure_table
from webapp.documents.pictures import bsp_picture, matrix_png, matrix_scale
from webapp.graph_analyser.execution.state import ipus_of, window_of

#: IPUs with a picture.
MOST_PICTURES = 4

_INDENT = "\u2003"


def tree_blocks(context: ViewContext, names: Names) -> list[Block]:
    """The tree of the selected program's root (by default the first root) with its figures."""
    source = context.source
    programs, tops = programs_of(source), roots(source)
    chosen = context.selection.program
    if not tops:
        return [Note("This report has no programs.")]
    inside = chosen is not None and chosen < len(programs.type)
    root = root_of(source, chosen) if inside and chosen is not None else tops[0].program
    tree, table = tree_rows(source, root), program_table(source, context.selection.ipu)
    order = np.argsort(table["id"])[tree.program[:MOST_ROWS]]
    types = [
        _INDENT * min(depth, 30) + programs.type[program]
        for program, depth in zip(tree.program.tolist(), tree.depth[:MOST_ROWS].tolist(), strict=False)
    ]
    rows = [Figure("type", "text", types), *(figure for figure in table.take(order) if figure.id != "type")]
    ids = ("type", "id", "name", "self", "total", "executions", "received")
    listed = figure_table(f"Programs below #{root}", FigureTable(table.id, rows), ids, {"name": "program"})
    notes = [figures(source).calls_unknown] if figures(source).calls_unknown else []
    notes += [] if len(source.reader.runs().name) else [why_no_run(source)]
    return [*map(Note, notes), replace(listed, total=len(tree.program))]


def execution_blocks(context: ViewContext, names: Names) -> list[Block]:
    """Figures of the window, the BSP raster of its tiles, and its longest steps."""
    source = context.source
    window, target = window_of(source, context.selection), source.reader.target()
    ipus = ipus_of(source, context.selection)
    length = window.end - window.begin
    seconds = length / target.clock_hz if target.clock_hz > 0 else None
    where = window.text if window.is_everything else window.origin
    facts = Facts(
        [
            ("Device cycles", cycles_text(length), f"{window.begin:,} to {window.end:,}, {where}"),
            ("Device time", seconds_text(seconds), "modelled: cycles / clock"),
            ("IPUs", integer_text(len(ipus)), ", ".join(map(str, ipus[:16]))),
        ]
    )
    rows = []
    for ipu in ipus:
        window_sums = window_figures(source, ipu, window.begin, window.end)
        shares = {phase: window_sums.share(phase) for phase in PHASES}
        rows.append({"ipu": ipu, **shares, "use": window_sums.utilisation, "balance": window_sums.balance})
    fields = [
        Field("ipu", "IPU", "integer"),
        *(Field(phase, phase.capitalize(), "percent") for phase in PHASES),
        Field("use", "Tile utilisation", "percent"),
        Field("balance", "Tile balance", "percent"),
    ]
    blocks: list[Block] = [facts, Table("Shares of tile cycles", fields, rows)]
    legend = [(name, "waiting" if name == "wait" else name) for name in CLASSES]
    for ipu in ipus[:MOST_PICTURES]:
        if not length:
            break
        bars, narrow = flame_svg(source, ipu, window.begin, window.end, names)
        blocks.append(Drawing(f"Flame graph of IPU {ipu}", bars))
        if narrow:
            text = "bars narrower than a pixel: each pixel has the colour of the one that takes most of it."
            blocks.append(Note(f"{narrow:,} {text}"))
        alt = f"Tiles of IPU {ipu} over device cycles {window.begin:,} to {window.end:,}, coloured by class of step"
        note = f"Tiles downwards, device cycles {window.begin:,} to {window.end:,} to the right."
        picture, readings = bsp_picture(source, ipu, window.begin, window.end)
        across, down = Axis("Device cycles", window.begin, length), Axis("Tile", 0, target.tiles_per_ipu)
        blocks.append(Picture(f"Tiles of IPU {ipu} over time", picture, alt, legend, note, across, down, readings))
    if len(ipus) > MOST_PICTURES:
        blocks.append(Note(f"Pictures of the first {MOST_PICTURES} of {len(ipus)} IPUs."))
    return [*blocks, _steps(context, ipus[0], window.begin, window.end)]


def _steps(context: ViewContext, ipu: int, begin: int, end: int) -> Table:
    """Steps in the window on one IPU, longest first."""
    steps = timeline(context.source, ipu)
    labels = program_labels(context.source)
    inside = np.flatnonzero((steps.end > begin) & (steps.begin < end))
    order = inside[np.argsort(-(steps.end - steps.begin)[inside], kind="stable")]
    rows = [
        {
            "step": step,
            "type": TYPE_NAMES[int(steps.type[step])],
            "program": int(steps.program[step]),
            "name": labels[int(steps.program[step])],
            "begin": int(steps.begin[step]),
            "cycles": int(steps.end[step] - steps.begin[step]),
        }
        for step in order[:MOST_ROWS].tolist()
    ]
    fields = [
        Field("step", "Step", "integer"),
        Field("type", "Type"),
        Field("program", "Program", "integer"),
        Field("name", "Name", "program"),
        Field("begin", "Begin, cycle", "integer"),
        Field("cycles", "Cycles", "cycles"),
    ]
    return Table(f"Execution steps on IPU {ipu}, longest first", fields, rows, len(order))


def exchange_blocks(context: ViewContext, names: Names, scale: tuple[int, int] | None = None) -> list[Block]:
    """The matrix of one program, in the `scale` of `pictures.matrix_scale` that it shares with another report, and all
    exchange programs with their bytes, messages and cycles."""
    of_once = ("received", "sent", "messages", "worst_tile", "worst_bytes")
    ids = ("program", "type", "name", "total", *of_once, "executions", "cycles", "code")
    table = exchange_programs_table(context.source)
    listed = figure_table("Exchange programs, most bytes first", table, ids, {"name": "program"})
    shown = exchange_shown(context)
    unknown = [] if holds_code(context.source) else [Note(f"Code: not recorded. {CODE_SIZES}")]
    return [*([] if shown is None else [_matrix(context, shown, scale)]), listed, *unknown]


def exchange_shown(context: ViewContext) -> int | None:
    """The exchange program whose matrix is drawn: the selected one, else that with most bytes; None without any."""
    ids = [int(program) for program in exchange_programs_table(context.source)["program"]]
    chosen = context.selection.program
    return chosen if chosen in ids else next(iter(ids), None)


def exchange_matrix(context: ViewContext, program: int) -> Matrix:
    """Its matrix in the order of the page. Raises NotRecordedError."""
    return matrix_of(context.source, program, _order(context))


def _order(context: ViewContext) -> str:
    return "hardware" if context.params.get("xch_order") == "hardware" else "software"


def _matrix(context: ViewContext, program: int, scale: tuple[int, int] | None) -> Block:
    """The bytes between tiles of one exchange program."""
    order = _order(context)
    try:
        matrix = exchange_matrix(context, program)
    except NotRecordedError as problem:
        return Note(str(problem))
    alt = f"Bytes from source tiles, downwards, to destination tiles, to the right, of program {program}"
    size, largest = scale or matrix_scale(matrix)
    png = matrix_png(matrix, size, largest)
    cell = f"cell of {size} x {size} tiles" if size > 1 else "pair of tiles"
    note = (
        f"Source tiles 0 to {matrix.tiles - 1:,} downwards, destination tiles to the right ({order} order). "
        f"The scale is logarithmic, from 1 B to {bytes_text(largest)} (darkest) per {cell}"
        + (", the same in both reports." if scale else ".")
    )
    across, down = Axis(f"Destination tile ({order} order)", 0, matrix.tiles), Axis("Source tile", 0, matrix.tiles)
    return Picture(f"Bytes between tiles, program {program}", png, alt, note=note, across=across, down=down)
