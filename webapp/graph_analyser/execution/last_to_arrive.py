"""Who comes last at a sync: the tile, how long the others wait for it, and the step that made it late."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.step_details import StepFacts
from popvision.analysis.execution.waits import sync_waits
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.source_code.lines import NOWHERE, places
from webapp.base.formats import cycles_text
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def last_to_arrive(source: ReportSource, key: str, facts: StepFacts, id: str) -> list[Component]:
    """Of a sync at which tiles wait: who came last, how long the others waited, and the step that made it late."""
    if facts.phase != "sync":
        return []
    waits = sync_waits(source, facts.ipu)
    row = waits.of_step(facts.step)
    if row is None:
        return [html.P("No tile waits for another at this sync.", className="note")]
    clock = source.reader.target().clock_hz
    tile, cause, program = (int(each[row]) for each in (waits.last_tile, waits.cause_step, waits.cause_program))
    mean, longest = int(waits.waited[row]) // waits.tiles, int(waits.longest[row])
    words: list[Any] = [
        html.A(f"Tile {tile:,}", href=f"/r/{key}/memory?tiles={tile}", **attributes(data_nav="to")),
        f" comes last: the tiles wait {cycles_text(mean, clock)} on average for it, "
        f"the first {cycles_text(longest, clock)}.",
    ]
    if cause >= 0:
        name = source.reader.programs().name[program] or f"program {program}"
        href = f"/r/{key}/execution?step={cause}&ipu={facts.ipu}&detail=details"
        words += [" It is late because of ", html.A(f"step {cause:,}", href=href, **attributes(data_nav="to"))]
        words += [f", {name}", *_line_of(source, key, program), "."]
    title = "the tile whose sync begins last; the step since the sync before in which it is most above the mean"
    return [html.P(words, className="note", title=title, id=id)]


def _line_of(source: ReportSource, key: str, program: int) -> list[Any]:
    """The words " at train_mlp.py:80", with a link to the line; nothing where it is not known."""
    known = if_recorded(lambda: places(source))
    row = NOWHERE if known is None else int(known.program[program])
    if known is None or row == NOWHERE:
        return []
    file, line = known.file[row], int(known.line[row])
    query = urlencode({"src_file": file, "src_line": line})
    name = f"{PurePath(file).name}:{line}"
    return [" at ", html.A(name, href=f"/r/{key}/source?{query}", **attributes(data_nav="to"))]
