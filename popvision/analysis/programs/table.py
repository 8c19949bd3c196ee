"""Every lowered program as a row: the figures of the program tree, side by side, of one report or of two.

-1 in a column = the report does not say; in the frames such figures are missing (NA).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.details import code_bytes_of
from popvision.analysis.programs.figures import figures
from popvision.analysis.programs.memory import peak_live
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


#: Columns of the tree. Cycles are device cycles, bytes those of all recorded runs; `executions` = how often runs
#: came to the program; `trips` = turns of a Repeat per execution; `received`, `sent` with everything below and called;
#: `live` = most live bytes while it runs; `code` = exchange and control code of the program itself.
FIELDS = ("self", "total", "executions", "received", "live", "code", "trips", "sent")


def program_columns(source: ReportSource, ipu: int | None = None) -> dict[str, Int64Array]:
    """By field one figure for each program, on one IPU or over all of them."""
    return source.kept.recent(("program_columns", source.generation, ipu), lambda: _columns(source, ipu))


def column_totals(source: ReportSource, ipu: int | None = None) -> dict[str, int]:
    """What 100 % is for a field: the report's total, for `live` the highest point of the curve. Fields that have no
    meaningful whole (executions, trips) are left out."""
    found = program_columns(source, ipu)
    sums = figures(source, ipu)
    return {
        "self": source.reader.total_cycles(),
        "total": source.reader.total_cycles(),
        "received": int(sums.bytes_received.sum()),
        "sent": int(sums.bytes_sent.sum()),
        "live": int(found["live"].max(initial=0)),
        "code": int(found["code"].sum()),
    }


def program_frame(source: ReportSource, ipu: int | None = None) -> pd.DataFrame:
    """A row per program, most self cycles first: id, type, name and FIELDS."""
    import pandas as pd

    programs = programs_of(source)
    frame = pd.DataFrame({"id": np.arange(len(programs.type)), "type": programs.type, "name": programs.name})
    for field, values in program_columns(source, ipu).items():
        frame[field] = _known(values)
    return frame.sort_values(["self", "id"], ascending=[False, True], ignore_index=True)


def compared_frame(source: ReportSource, target: ReportSource, field: str, ipu: int | None = None) -> pd.DataFrame:
    """A row per pair of matched programs and per program that only one report has: id, target_id, type, name, matched
    ("debug identity", "name", "order", "only source", "only target"), <field>_source, <field>_target; largest absolute
    difference first, a missing side counting as 0 there. Raises KeyError for a field that is not one of FIELDS."""
    import pandas as pd

    from popvision.analysis.compare.matching import HOW, match_programs

    found = match_programs(source, target)
    lone, other = len(found.only_source), len(found.only_target)
    mine = np.concatenate([found.source, found.only_source, np.full(other, -1)])
    theirs = np.concatenate([found.target, np.full(lone, -1), found.only_target])
    how = [HOW[each] for each in found.how.tolist()] + ["only source"] * lone + ["only target"] * other
    ours, others = programs_of(source), programs_of(target)
    which = list(zip(mine.tolist(), theirs.tolist(), strict=True))
    frame = pd.DataFrame(
        {
            "id": _known(mine),
            "target_id": _known(theirs),
            "type": [ours.type[a] if a >= 0 else others.type[b] for a, b in which],
            "name": [ours.name[a] if a >= 0 else others.name[b] for a, b in which],
            "matched": how,
            f"{field}_source": _known(_taken(program_columns(source, ipu)[field], mine)),
            f"{field}_target": _known(_taken(program_columns(target, ipu)[field], theirs)),
        }
    )
    size = (frame[f"{field}_target"].fillna(0) - frame[f"{field}_source"].fillna(0)).abs()
    order = size.sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _taken(values: Int64Array, rows: Int64Array) -> Int64Array:
    return np.where(rows >= 0, values[np.maximum(rows, 0)], -1) if len(values) else np.full(len(rows), -1)


def _known(values: Int64Array) -> pd.api.extensions.ExtensionArray:
    import pandas as pd

    return pd.arrays.IntegerArray(np.asarray(values, np.int64), np.asarray(values) < 0)


def _columns(source: ReportSource, ipu: int | None) -> dict[str, Int64Array]:
    programs = programs_of(source)
    n = len(programs.type)
    sums = figures(source, ipu)
    unknown = np.full(n, -1, np.int64)
    ran = bool(len(source.reader.runs().name))
    try:
        live = peak_live(source, ipu)
    except NotRecordedError:
        live = unknown
    trips = np.where(np.array(programs.type) == "Repeat", np.asarray(programs.repeat_count), -1).astype(np.int64)
    recorded = {
        "self": sums.self_cycles,
        "total": sums.total_cycles,
        "executions": sums.entered,
        "received": sums.total_received,
        "live": live,
        "code": np.array(code_bytes_of(source, range(n)), np.int64),
        "trips": trips,
        "sent": sums.total_sent,
    }
    return recorded if ran else recorded | dict.fromkeys(("self", "total", "executions", "received", "sent"), unknown)
