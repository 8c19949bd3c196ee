"""Operations of a software layer, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, page_of, with_name

if TYPE_CHECKING:
    from popvision.opened.report import OpenedReport


def operations_answer(
    report: OpenedReport,
    page: Page,
    *,
    layer: str = "",
    level: int = 0,
    under: str = "",
    by: str = "total_cycles",
    ipu: int | None = None,
    name: str = "",
) -> dict[str, Any]:
    """`layer`, `layers` (all layers of the report), `missing` and `apart` (sentences), and rows, largest `by` first;
    see `OpenedReport.operations`.

    Raises NotRecordedError without debug information, FormatError for an unknown layer, IPU or column."""
    from popvision.analysis.operations.owners import layers

    table = report.operations(layer, level=level, under=under, by=by, ipu=ipu)
    facts = table.attrs
    answer = {
        "provenance": facts["provenance"],
        "layer": facts["layer"],
        "layers": layers(report.source),
        "level": level,
        "under": under,
        "by": by,
        "ipu": ipu,
        "missing": facts["missing"],
        "apart": facts["apart"],
    }
    return answer | page_of(with_name(table, name), page)
