"""What is live when, in pages: peaks and the variables there, the curve, one index, always-live variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, named, page_of
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport

#: What the rows are.
SHOWN = ("peak", "curve", "index", "always")

#: Peaks that are named.
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
    capacity_bytes of the scope (a replica, an IPU or a tile), and rows: the variables at the peak, the curve itself,
    the variables at `index`, or the always-live ones; those whose name contains `name`.

    Raises FormatError for a scope or index that is not there, NotRecordedError without liveness."""
    if show not in SHOWN or (show == "index") != (index is not None):
        raise FormatError(f"show must be one of {', '.join(SHOWN)}, and an index goes with 'index', not {show!r}.")
    curve = report.liveness(ipu, tile)
    facts = curve.attrs

    def at(row: int) -> dict[str, Any]:
        found = curve.iloc[row]
        return {
            "liveness_index": int(row),
            "program": int(found.program),
            "type": found.type,
            "name": found["name"],
            "live_bytes": int(found.live_bytes),
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
        "peak": at(facts["peak_index"]),
        "peaks": [at(each) for each in facts["peaks"][:_PEAKS]],
        "shown": show,
        "index": facts["peak_index"] if show == "peak" else index,
    }
    return answer | page_of(named(table, name, ("name", "type") if show == "curve" else ("name",)), page)
