"""Which recorded execution steps belong to a liveness index: its program, as often as it ran.

A program that stands at several indices (a function called from several places) runs as one program: what is recorded
names the program, not the place, so all its executions count for each of its indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def first_step(source: ReportSource, program: int) -> int | None:
    """The first execution step of a program over all runs, None when it never ran or nothing is recorded."""
    found = np.flatnonzero(np.asarray(source.reader.steps().program) == program)
    return int(found[0]) if len(found) else None
