"""How a figure of a report comes about, from what the report stores: nothing is computed by a model of the machine.

A derivation is a figure with the terms that make it up. Terms with a sign add up to the figure, the others are facts
that they use (model.CostTerm). The report keeps the terms of one tile, the busiest; for other tiles the parts are what
its columns say, and what those cannot tell is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.explain.cycles import cycles_of_tile, step_length, sums_of_below, tile_of_terms
from popvision.analysis.explain.derivation import Derivation
from popvision.analysis.explain.memory import code_and_state, live_while_running
from popvision.analysis.programs.details import program_facts, tile_figures
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
    """The tile asked for, that of the stored terms, or the one with most cycles; -1 for none."""
    if wanted is not None:
        return wanted
    stored = tile_of_terms(source, program)
    if stored >= 0:
        return stored
    found = tile_figures(source, program)
    for column in (found.estimated, found.recorded):
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
