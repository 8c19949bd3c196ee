"""Derivations of bytes: what is live while a program runs, its code, the state of its vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.explain.derivation import Derivation, from_report
from popvision.analysis.liveness.curve import curve
from popvision.analysis.programs.details import tile_figures, vertex_rows
from popvision.analysis.programs.memory import UNKNOWN, peak_live
from popvision.analysis.report.not_recorded import NotRecordedError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


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
    found = tile_figures(source, program)
    out = []
    for title, column in (("exchange code", found.exchange_code), ("control code", found.control_code)):
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
    rows = vertex_rows(source, program)
    if rows and tile is None:
        terms = [from_report(f"{r.instances:,} x {r.name}", r.state_bytes, 1, "state of the type") for r in rows]
        out.append(Derivation("vertex state, all tiles", float(sum(r.state_bytes for r in rows)), "B", terms))
    return out
