"""Statistics of a host trace, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from popvision.opened.trace import OpenedTrace


def trace_statistics_answer(
    trace: OpenedTrace,
    page: Page,
    *,
    name: str = "",
    by: str = "self_us",
    begin_us: float | None = None,
    end_us: float | None = None,
) -> dict[str, Any]:
    """Rows of `OpenedTrace.statistics`, largest `by` first, with the trace's duration.

    Raises FormatError for an unknown column or an empty window."""
    table = trace.statistics(begin_us, end_us)
    numbers = [column for column in table.columns if column not in ("label", "channel")]
    if by not in numbers:
        raise FormatError(f"there is no column {by!r} to sort by; use one of {', '.join(numbers)}.")
    facts = dict(table.attrs)
    table = table.sort_values(by, ascending=False, kind="stable", ignore_index=True)
    table.attrs = facts
    answer = {"provenance": facts["provenance"], "duration_us": trace.duration_us, "by": by}
    return answer | page_of(with_name(table, name, ("label", "channel")), page)
