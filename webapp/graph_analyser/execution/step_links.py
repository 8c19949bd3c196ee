"""Where a step leads: its program, operation, source line and liveness index, the tiles that end last and those that
take longest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html

from popvision.analysis.execution.last_tiles import tied_text
from popvision.analysis.execution.step_details import StepFacts, step_tiles
from popvision.analysis.operations.owners import NO_OPERATION, owners
from popvision.analysis.operations.parts import first_indices
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import NOWHERE, places
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from popvision.analysis.report.source import ReportSource

#: (text, view, state of the view).
_Link = tuple[str, str, dict[str, Any]]


def where_line(
    source: ReportSource, key: str, facts: StepFacts, hosts: list[Component], *, lists_tiles: bool = True
) -> list[Any]:
    """The line under the name of a step: its number, run and IPU, and links. `hosts` lead to the host's side of the
    run. With `lists_tiles` the tiles that end last or take longest lead to their rows in the table beside it."""
    tree = html.A(f"program {facts.program}", href=f"/r/{key}/program_tree", **attributes(data_nav="view"))
    where: list[Any] = [f"step {facts.step} · ", tree, f" · run #{facts.run} · IPU {facts.ipu}"]
    for link in hosts:
        where += [" · ", link]
    for text, href in step_links(source, key, facts):
        where += [" · ", html.A(text, href=href, **attributes(data_nav="to"))]
    for among, text, tiles in limiting_tiles(source, facts):
        memory = f"/r/{key}/memory?tiles={tiles[0]}"
        if lists_tiles:
            query = urlencode({"step": facts.step, "ipu": facts.ipu, "detail": "details", "among": among})
            rows = html.A(text, href=f"/r/{key}/execution?{query}", **attributes(data_among=among))
            about = f"Memory of tile {tiles[0]:,}"
            where += [" · ", rows, " (", html.A("memory", href=memory, title=about, **attributes(data_nav="to")), ")"]
        else:
            where += [" · ", html.A(text, href=memory, **attributes(data_nav="to"))]
    if facts.data_in or facts.data_out:
        traffic = html.A("traffic", href=f"/r/{key}/exchange?step={facts.step}", **attributes(data_nav="to"))
        where += [" · ", traffic]
    return where


def step_links(source: ReportSource, key: str, facts: StepFacts) -> list[tuple[str, str]]:
    """(text, address) of each page that the report can fill."""
    pages = [*_operation(source, facts), *_line(source, facts), *_index(source, facts)]
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


def limiting_tiles(source: ReportSource, facts: StepFacts) -> Iterator[tuple[str, str, list[int]]]:
    """(value of `among`, text, tiles) of those that end last and those that take the most cycles. All of a tie are
    counted, the first is named."""
    if not facts.active_tiles or tiles_unknown(source):
        return
    tiles, base = step_tiles(source, facts.ipu, facts.step), facts.ipu * facts.tiles
    for among, text, tied in (("last", "last to end", tiles.last), ("longest", "longest", tiles.longest)):
        yield among, f"{text}: {tied_text(base + int(tied[0]), len(tied))}", (base + tied).tolist()
