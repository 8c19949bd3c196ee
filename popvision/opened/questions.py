"""The common part of an opened report and an opened trace: a source until it is closed, its card, its questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.cards import Card
from popvision.opened.frames import answer_frame
from popvision.questions import Answer, Question

if TYPE_CHECKING:
    from types import TracebackType

    import pandas as pd
    from rich.table import Table

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Opened(Generic[S]):
    """A source that can be closed; a context manager. It keeps no file open. Printed, it shows its card."""

    def __init__(self, source: S, name: str, kind: str, card: Callable[[S], Card]) -> None:
        """`kind` is the title of the card of a source that cannot be read: "Report"."""
        self._source: S | None = source
        self._name, self._kind = name, kind
        self._make_card = card

    @property
    def source(self) -> S:
        """The source, for functions of `popvision.analysis` without a method of this object. Raises FormatError when
        closed."""
        if self._source is None:
            raise FormatError(f"{self._name} was closed; open it again with popvision.open.")
        return self._source

    def close(self) -> None:
        """Release the memory of everything that was read."""
        self._source = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _card(self) -> Card:
        try:
            return self._make_card(self.source)
        except (FormatError, NotRecordedError) as problem:
            return Card(f"{self._kind} {self._name}", [("problem", str(problem))])

    def __repr__(self) -> str:
        return self._card().text()

    def __rich__(self) -> Table:
        return self._card().table()

    def _repr_html_(self) -> str:
        return self._card().html()


@overload
def asked(question: Question[P, Answer]) -> Callable[Concatenate[Opened[ReportSource], P], pd.DataFrame]: ...


@overload
def asked(question: Question[P, R]) -> Callable[Concatenate[Opened[ReportSource], P], R]: ...


def asked(question: Question[P, Any]) -> Callable[Concatenate[Opened[ReportSource], P], Any]:
    """The method of an opened report that asks a question: a DataFrame for rows, else the array or dict. It raises
    FormatError or NotRecordedError with one sentence; bad arguments raise NoSuchError."""

    @wraps(question)
    def method(self: Opened[ReportSource], /, *arguments: P.args, **named: P.kwargs) -> Any:
        answer = question(self.source, *arguments, **named)
        return answer_frame(self.source, answer) if isinstance(answer, Answer) else answer

    method.__doc__ = "\n\n".join(part for part in (question.about, question.raises, question.columns_text()) if part)
    return method
