"""Derivations of figures from what the report stores; no model of the machine computes anything.

A derivation is a figure with the terms that make it up. Terms with a sign add up to the figure, the others are facts
that they use (model.CostTerm). The report stores the terms of one tile, the busiest; for other tiles the parts come
from its columns, and the rest of the figure is named as unexplained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.explain.cycles import cycles_of_tile, step_length, sums_of_below, tile_of_terms, times
from popvision.analysis.explain.derivation import Derivation, Term, from_report
from popvision.analysis.liveness.curve import curve
from popvision.analysis.programs.details import program_facts, tile_figures
from popvision.analysis.programs.memory import UNKNOWN, peak_live
from popvision.analysis.programs.table import program_vertices
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_knowledge import tiles_unknown

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class ProgramExplanation:
    """Derivations of one program's figures; `notes` are sentences about what the report cannot say."""

    program: int
    type: str
    name: str
    tile: int  #: whose cycles are derived, -1 where the program has no figure of a tile
    executions: int
    derivations: list[Derivation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def explain_program(source: ReportSource, program: int, tile: int | None = None) -> ProgramExplanation:
    """Cycles on a tile (the busiest by default), the length of its last step, what it consists of, its memory.

    Raises ValueError for a program or a tile that is not there."""
    facts = program_facts(source, program)
    tiles = source.reader.target().num_tiles
    if tile is not None and not 0 <= tile < tiles:
        raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {tiles - 1}")
    chosen = _tile(source, program, tile)
    derivations, notes = [], []
    unknown = tiles_unknown(source)
    if chosen >= 0 and not unknown:
        derivations.append(cycles_of_tile(source, program, chosen))
    elif unknown and facts.phase:
        notes.append(unknown)
    for part in (step_length(source, program), sums_of_below(source, program)):
        if part is not None:
            derivations.append(part)
    if not derivations:
        notes.append(_nothing(facts.type, facts.phase))
    derivations += live_while_running(source, program)
    derivations += code_and_state(source, program, chosen if tile is not None else None)
    return ProgramExplanation(
        program, facts.type, facts.name, chosen, facts.executions, derivations, notes + _unsure(derivations)
    )


def _tile(source: ReportSource, program: int, wanted: int | None) -> int:
    """The requested tile, that of the stored terms, or the one with most cycles; -1 for none."""
    if wanted is not None:
        return wanted
    stored = tile_of_terms(source, program)
    if stored >= 0:
        return stored
    by_tile = tile_figures(source, program)
    for column in (by_tile.estimated, by_tile.recorded):
        if column is not None and column.any():
            return int(np.argmax(column))
    return -1


def _nothing(type_: str, phase: str) -> str:
    if phase:
        return f"The report holds no cycles of this {type_}: no recorded run reached it, and no estimate is stored."
    return f"A {type_} takes no cycles of its own."


def _unsure(derivations: list[Derivation]) -> list[str]:
    """One sentence about the class of the figures."""
    classes = {term.provenance for part in derivations for term in part.terms if term.sign}
    if "guess" in classes:
        return ["Some terms are guesses: no public source gives them."]
    return ["Some terms are fitted to published figures; no public rule gives them."] if "fitted" in classes else []


def live_while_running(source: ReportSource, program: int) -> list[Derivation]:
    """The peak of what is live at the program's indices; nothing where no liveness was recorded."""
    try:
        line, peak = curve(source), int(peak_live(source)[program])
    except NotRecordedError:
        return []
    if peak == UNKNOWN:
        return []
    own = np.flatnonzero(np.asarray(line.program) == program)
    terms = [from_report("always live, all tiles", line.always_live, 1)]
    if len(own):
        index = int(own[np.argmax(line.not_always_live[own])])
        terms.append(from_report(f"not always live, at liveness index {index}", int(line.not_always_live[index]), 1))
    derivation = Derivation("peak of live bytes while it runs", float(peak), "B", terms)
    if not derivation.complete:
        derivation.notes.append("The peak is at the liveness index of a program below it.")
    return [derivation]


def code_and_state(source: ReportSource, program: int, tile: int | None) -> list[Derivation]:
    """Exchange code, control code and vertex state, over all tiles or on one."""
    by_tile = tile_figures(source, program)
    out = []
    for title, column in (("exchange code", by_tile.exchange_code), ("control code", by_tile.control_code)):
        if column is None or not column.any():
            continue
        if tile is not None:
            out.append(Derivation(f"{title} on tile {tile}", float(column[tile]), "B"))
            continue
        number = int(np.count_nonzero(column))
        terms = [
            from_report("tiles with this code", number),
            from_report("most on one tile", int(column.max())),
            from_report(f"sum over {number:,} tiles", int(column.sum()), 1),
        ]
        out.append(Derivation(f"{title}, all tiles", float(column.sum()), "B", terms))
    vertices = program_vertices(source, program)
    if len(vertices) and tile is None:
        columns = (vertices[id] for id in ("instances", "name", "state_bytes"))
        terms = [
            from_report(f"{count:,} x {name}", size, 1, "state of the type")
            for count, name, size in zip(*columns, strict=True)
        ]
        out.append(Derivation("vertex state, all tiles", float(sum(vertices["state_bytes"])), "B", terms))
    return out


_SIGN = {1: "+", -1: "-", 0: " "}
#: longest text of a source on a line
_WIDTH = 110


def program_text(explanation: ProgramExplanation) -> str:
    """The explanation of one program."""
    head = f"Program {explanation.program}: {explanation.type} {explanation.name}".rstrip()
    executed = f"{head}\nexecuted {times(explanation.executions)}"
    notes = "\n\n" + "\n".join(explanation.notes) + "\n" if explanation.notes else "\n"
    return "\n\n".join([executed, *map(derivation_text, explanation.derivations)]) + notes


def derivation_text(derivation: Derivation) -> str:
    """One figure with its terms; the last line says whether they add up to it."""
    total = None if derivation.value is None else number(derivation.value)
    lines = [f"{derivation.figure}: {'not known' if total is None else f'{total} {derivation.unit}'}"]
    width = max((len(number(term.value)) for term in derivation.terms), default=0)
    for term in derivation.terms:
        lines.append(f"  {_SIGN[term.sign]} {number(term.value):>{width}}  {term.text}")
        lines += _source(term, width)
    if derivation.sum is not None:
        word = "the figure" if derivation.complete else f"of {total or '?'}"
        lines.append(f"  = {number(derivation.sum):>{width}}  {word}")
    return "\n".join(lines + [f"  {note}" for note in derivation.notes])


def _source(term: Term, width: int) -> list[str]:
    if term.provenance == "report":
        return []
    indent = " " * (width + 8)
    words, lines, line = f"{term.provenance}: {term.source}".split(), [], ""
    for word in words:
        if line and len(line) + len(word) + 1 > _WIDTH:
            lines.append(indent + line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, indent + line]


def number(value: float) -> str:
    """Whole numbers without a point."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3f}"
