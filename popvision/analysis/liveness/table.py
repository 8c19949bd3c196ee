"""The liveness curve as a table: a row per liveness index with what runs there and what is live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.curve import Where, curve
from popvision.analysis.liveness.steps import matching_indices, program_names

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


def curve_table(source: ReportSource, where: Where = Where(), text: str = "") -> pd.DataFrame:  # noqa: B008
    """Index, Program (its Id), Step, Not always live, Total (bytes, always live included), in order of the indices.
    With `text` only steps whose type or name contains it. Raises as `liveness.curve`."""
    import pandas as pd

    line = curve(source, where)
    index = matching_indices(source, text) if text.strip() else np.arange(len(line.program))
    live = line.not_always_live[index]
    return pd.DataFrame(
        {
            "Index": index,
            "Program": line.program[index],
            "Step": program_names(source, line.program[index]),
            "Not always live": live,
            "Total": live + line.always_live,
        }
    )
