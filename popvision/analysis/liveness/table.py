"""The liveness curve as a table: a row per liveness index with what runs there and what is live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import Where, curve
from popvision.analysis.liveness.steps import matching_indices, program_names
from popvision.analysis.report.figure import Figure, Table

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def curve_table(source: ReportSource, where: Where = Where(), text: str = "") -> Table:  # noqa: B008
    """liveness_index, program, step, not_always_live_bytes, live_bytes (always live included), in order of the indices.
    With `text` only steps whose type or name contains it. Raises as `liveness.curve`."""
    line = curve(source, where)
    index = matching_indices(source, text) if text.strip() else np.arange(len(line.program))
    live = line.not_always_live[index]
    return Table(
        "liveness_curve",
        [
            Figure("liveness_index", "id", index),
            Figure("program", "id", line.program[index]),
            Figure("step", "text", program_names(source, line.program[index])),
            Figure("not_always_live_bytes", "bytes", live),
            Figure("live_bytes", "bytes", live + line.always_live),
        ],
    )
