"""Live memory in pages: peaks and their variables, the curve, one liveness index, always-live variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport

#: What the rows list.
SHOWN = ("peak", "curve", "index", "always")

#: Maximum peaks in an answer.
_PEAKS = 24


def liveness_answer(
    report: OpenedReport,
    page: Page,
    *,
    show: str = "peak",
    index: int | None = None,
    ipu: int | None = None,
    tile: int | None = None,
    name: str = "",
) -> dict[str, Any]:
    """`peak` (liveness_index, program, type, name, live_bytes), `peaks` (a list of the same), always_live_bytes,
    capacity_bytes of the scope (a replica, an IPU or a tile), and rows: the variables at the peak, the curve, the
    variables at `index`, or the always-live variables; only rows whose name contains `name`.

    Raises FormatError for an unknown scope or index, NotRecordedError without liveness."""
    if show not in SHOWN or (show == "index") != (index is not None):
        raise FormatError(f"show must be one of {', '.join(SHOWN)}, and an index goes with 'index', not {show!r}.")
    curve = report.liveness(ipu, tile)
    facts = curve.attrs

    def point(index: int) -> dict[str, Any]:
        row = curve.iloc[index]
        return {
            "liveness_index": int(index),
            "program": int(row.program),
            "type": row.type,
            "name": row["name"],
            "live_bytes": int(row.live_bytes),
        }

    if show == "curve":
        table = curve
    elif show == "always":
        table = report.always_live_variables(ipu, tile)
    else:
        table = report.live_variables(facts["peak_index"] if index is None else index, ipu, tile)
    answer = {
        "provenance": facts["provenance"],
        "ipu": ipu,
        "tile": tile,
        "always_live_bytes": int(facts["always_live_bytes"]),
        "capacity_bytes": int(facts["capacity_bytes"]),
        "peak": point(facts["peak_index"]),
        "peaks": [point(each) for each in facts["peaks"][:_PEAKS]],
        "shown": show,
        "index": facts["peak_index"] if show == "peak" else index,
    }
    return answer | page_of(with_name(table, name, ("name", "type") if show == "curve" else ("name",)), page)
