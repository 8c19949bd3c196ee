"""The answer to any question as plain values: the same for `--json` and for agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError
from popvision.formats.integrity import least_verified, summed
from popvision.opened.frames import answer_frame

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource
    from popvision.questions import Answer, Question


def question_answer(
    question: Question[..., Answer],
    source: ReportSource,
    page: Page,
    arguments: Mapping[str, Any],
    *,
    name: str = "",
    order: str = "",
) -> dict[str, Any]:
    """`provenance`, `verified` ("yes", "partly" or "no") and `lost` of the report and of one that it is compared with,
    the arguments, the facts beside the rows, and a page of the rows in which a text contains `name`, those with the
    largest `order` first, "" = in the question's own order.

    Raises FormatError for bad arguments, NotRecordedError where the report lacks the answer."""
    frame = answer_frame(source, question(source, **arguments))
    others = [value.source for word, value in arguments.items() if question.parameter(word).kind == "report"]
    sources = [source, *others]
    facts = {str(fact): value for fact, value in frame.attrs.items() if fact != "units"}
    plain = {word: value for word, value in arguments.items() if question.parameter(word).kind != "report"}
    texts = tuple(column for column in frame.columns if frame[column].dtype.kind not in "iufb")
    rows = _ordered(with_name(frame, name, texts), order)
    damage = {
        "verified": least_verified(report.verified for report in sources),
        "lost": summed(part for report in sources for part in report.lost),
    }
    return {"provenance": facts.pop("provenance")} | damage | plain | facts | page_of(rows, page)


def _ordered(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    if not column:
        return frame
    if column not in frame.columns:
        raise FormatError(f"order must be one of {', '.join(frame.columns)}, not {column[:60]!r}.")
    ordered = frame.sort_values(column, ascending=False, kind="stable")
    ordered.attrs = frame.attrs
    return ordered
