"""Where a step leads: its operation, its source line, its liveness index and the tile that limits it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from popvision.analysis.execution.step_details import StepFacts, step_tiles
from popvision.analysis.operations.owners import NO_OPERATION, owners
from popvision.analysis.operations.parts import first_indices
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import NOWHERE, places

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: (text, view, state of the view).
_Link = tuple[str, str, dict[str, Any]]


def step_links(source: ReportSource, key: str, facts: StepFacts) -> list[tuple[str, str]]:
    """(text, address) of each page that the report can fill."""
    pages = [*_operation(source, facts), *_line(source, facts), *_index(source, facts), *_tile(source, facts)]
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


def _tile(source: ReportSource, facts: StepFacts) -> Iterator[_Link]:
    """The tile that takes most cycles, the first of equals."""
    if facts.active_tiles and not tiles_unknown(source):
        tile = facts.ipu * facts.tiles + int(step_tiles(source, facts.ipu, facts.step).cycles.argmax())
        yield f"longest on tile {tile:,}", "memory", {"tiles": tile}
