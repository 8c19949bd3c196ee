"""Figures of operations that follow from others: shares of the report, rates of arithmetic, the library call.

    rate = FLOPs / cycles        intensity = FLOPs / bytes received        share = figure / the report's total

Each costs one pass over the rows of `operation_table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.operations.owners import owners
from popvision.analysis.operations.table import FIELDS
from popvision.analysis.report.figure import Figure, Table, Unit
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures of `derived_table`.
DERIVED_FIGURES: dict[str, Unit] = {
    "name": "text",
    "operation": "text",
    "context": "id",
    "operations": "count",
    **FIELDS,
    "first_index": "id",
    "last_index": "id",
    **{f"{field}_share": "share" for field in FIELDS},
    "cumulative_share": "share",
    "rate": "ratio",
    "intensity": "ratio",
}


def derived_table(source: ReportSource, table: Table, layer: str = "") -> Table:
    """The rows of `operation_table` with shares (0 to 1) in place of percentages, and operation (the library call of a
    single operation, else how many the row groups), rate and intensity (NaN where either part is 0 or unknown).

    Raises as `owners`."""
    flops, cycles, received = (_numbers(table[id]) for id in ("flops", "cycles", "received"))
    derived: dict[str, Any] = {
        "operation": _calls(source, layer, table),
        "cumulative_share": np.asarray(table["cumulative"]) / 100,
        "rate": quotient(flops, cycles),
        "intensity": quotient(flops, received),
    }
    derived |= {f"{field}_share": np.asarray(table[f"{field}_percent"]) / 100 for field in FIELDS}
    return Table(
        table.id,
        [Figure(id, unit, derived[id] if id in derived else table[id]) for id, unit in DERIVED_FIGURES.items()],
    )


def quotient(dividend: Int64Array | Float64Array, divisor: Int64Array | Float64Array) -> Float64Array:
    """dividend / divisor, NaN where either is 0, negative or NaN."""
    quotients = np.full(len(dividend), np.nan)
    np.divide(dividend, divisor, out=quotients, where=(dividend > 0) & (divisor > 0))
    return quotients


def library_call(source: ReportSource, context: int) -> str:
    """ "library::api" of a debug context of a library, the kind of a framework's operation ("Conv"), else the category,
    else ""."""
    arguments = source.debug.record(context).get("arguments")
    if not isinstance(arguments, dict):
        return ""
    library, api, kind, category = (arguments.get(name) for name in ("library", "api", "opid", "category"))
    if isinstance(api, str) and api:
        return f"{library}::{api}" if isinstance(library, str) and library else api
    if isinstance(kind, str) and kind:
        return kind
    return category if isinstance(category, str) else ""


def _calls(source: ReportSource, layer: str, table: Table) -> list[str]:
    contexts = set(owners(source, layer).context.tolist())
    texts = []
    for context, count in zip(_numbers(table["context"]).tolist(), table["operations"].tolist(), strict=True):
        if context >= 0 and int(context) in contexts:
            texts.append(library_call(source, int(context)))
        else:
            texts.append(f"{count:,} operations" if count else "")
    return texts


def _numbers(values: Any) -> Float64Array:
    """Whole numbers as floats, missing ones as NaN."""
    numbers: Float64Array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers
