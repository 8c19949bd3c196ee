"""Where a step leads: its program, operation, source line and liveness index, the tiles that end last and those that
take longest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html

from popvision.analysis.execution.step_details import StepFacts, step_tiles
from popvision.analysis.operations.owners import NO_OPERATION, owners
from popvision.analysis.operations.parts import first_indices
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import NOWHERE, places
from webapp.arrays import Int64Array
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from popvision.analysis.report.source import ReportSource

#: (text, view, state of the view).
_Link = tuple[str, str, dict[str, Any]]

#: From so many further tiles on, a tie is told by its number first.
_MANY = 16


def where_line(source: ReportSource, key: str, facts: StepFacts, hosts: list[Component]) -> list[Any]:
    """The line under the name of a step: its number, run and IPU, and links. `hosts` lead to the host's side of the
    run."""
    tree = html.A(f"program {facts.program}", href=f"/r/{key}/program_tree", **attributes(data_nav="view"))
    where: list[Any] = [f"step {facts.step} · ", tree, f" · run #{facts.run} · IPU {facts.ipu}"]
    for link in hosts:
        where += [" · ", link]
    for text, href in step_links(source, key, facts):
        where += [" · ", html.A(text, href=href, **attributes(data_nav="to"))]
    if facts.data_in or facts.data_out:
        traffic = html.A("traffic", href=f"/r/{key}/exchange?step={facts.step}", **attributes(data_nav="to"))
        where += [" · ", traffic]
    return where


def step_links(source: ReportSource, key: str, facts: StepFacts) -> list[tuple[str, str]]:
    """(text, address) of each page that the report can fill."""
    pages = [*_operation(source, facts), *_line(source, facts), *_index(source, facts), *_tiles(source, facts)]
    return [(text, f"/r/{key}/{view}?{urlencode(query)}") for text, view, query in pages]


def _operation(source: ReportSource, facts: StepFacts) -> Iterator[_Link]:
    known = if_recorded(lambda: owners(source))
    row = NO_OPERATION if known is None else int(known.program[facts.program])
    if known is not None and row != NO_OPERATION:
        context = int(known.context[row])
        yield f"operation {known.name[row] or f'#{context}'}", "operations", {"ops_at": context}


def _line(source: ReportSource, facts: StepFacts) -> Iterator[_Link]:
    known = if_recorded(lambda: places(source))
    row = NOWHERE if known is None else int(known.program[facts.program])
    if known is not None and row != NOWHERE:
        file, line = known.file[row], int(known.line[row])
        yield f"{PurePath(file).name}:{line}", "source", {"src_file": file, "src_line": line}


def _index(source: ReportSource, facts: StepFacts) -> Iterator[_Link]:
    index = int(source.kept.once("first liveness indices", lambda: first_indices(source))[facts.program])
    if index >= 0:
        yield f"liveness index {index:,}", "liveness", {"liveness": index}


def _tiles(source: ReportSource, facts: StepFacts) -> Iterator[_Link]:
    """The tiles that end last and those that take the most cycles. All of a tie are counted, the first is named."""
    if not facts.active_tiles or tiles_unknown(source):
        return
    tiles, base = step_tiles(source, facts.ipu, facts.step), facts.ipu * facts.tiles
    for text, tied in (("last to end", tiles.last), ("longest", tiles.longest)):
        yield f"{text}: {tied_text(tied, base)}", "memory", {"tiles": base + int(tied[0])}


def tied_text(tied: Int64Array, base: int) -> str:
    """ "tile 3", "tile 1,284 and 7 more", "1,400 tiles, first tile 0"."""
    first, more = f"tile {base + int(tied[0]):,}", len(tied) - 1
    if more >= _MANY:
        return f"{len(tied):,} tiles, first {first}"
    return f"{first} and {more} more" if more else first
