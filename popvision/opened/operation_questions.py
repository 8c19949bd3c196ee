"""Operations of a software layer as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.table import EACH, FIELDS, operation_frame
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd

#: Column of `operation_frame` -> column here; those that are not named keep theirs.
_NAMES = {
    "cycles": "total_cycles",
    "code": "code_bytes",
    "exchange_code": "exchange_code_bytes",
    "control_code": "control_code_bytes",
    "vertex_code": "vertex_code_bytes",
    "flops_once": "once_flops",
    "received": "received_bytes",
    "sent": "sent_bytes",
    "always_live": "always_live_bytes",
    "not_always_live": "not_always_live_bytes",
    "live_at_peak": "peak_live_bytes",
}

#: What rows can be sorted by: column here -> column of `operation_frame`.
ORDERS = {_NAMES.get(each, each): each for each in FIELDS}


class OperationQuestions(Asked):
    """An operation is an outermost call of a software layer, such as one poplin::matMul; what is made under it is its
    own (analysis/operation_owners.py)."""

    @question
    def operations(
        self, layer: str = "", *, level: int = EACH, under: str = "", by: str = "total_cycles", ipu: int | None = None
    ) -> pd.DataFrame:
        """A row per operation of a layer (PopLibs by default, else the most frequent one), largest `by` first: name,
        context (id of its debug context, missing for groups), operations (how many the row groups), total_cycles (over
        all recorded runs; of several IPUs added up), code_bytes and its parts, flops (of all executions) and
        once_flops, received_bytes, sent_bytes, always_live_bytes, not_always_live_bytes, peak_live_bytes (at the
        report's peak), programs, compute_sets, variables, steps; of each a "<column>_percent" of the report's whole;
        cumulative_percent of `by`; first_index and last_index (liveness indices, inclusive). The row "(not attributed)"
        is the rest, so columns add up to the report's own totals.

        `level` 1, 2 ... groups by so many parts of the name, `under` keeps what begins with these parts. `attrs`:
        layer, missing (sentences about what the report lacks).

        Raises NotRecordedError without debug information."""
        if by not in ORDERS:
            raise ValueError(f"there is no order {by!r}; use one of {', '.join(ORDERS)}")
        found = operations(self.source, layer, ipu)
        table = operation_frame(self.source, layer, ipu, level, under, ORDERS[by])
        names = {old: _NAMES.get(old, old) for old in FIELDS}
        percents = {f"{old}_percent": f"{new}_percent" for old, new in names.items()}
        table = table.rename(columns=names | percents | {"cumulative": "cumulative_percent"})
        return self._labelled(table, layer=found.owners.layer, missing=list(found.missing))
