"""What all questions stand on: the open source, and one family of exceptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from popvision.analysis.report.provenance import provenance_line
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.frames import frame, labelled
from popvision.opened.held import Held

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

P = ParamSpec("P")
R = TypeVar("R")


class NoSuchError(FormatError, ValueError):
    """A question names a tile, an IPU, a program ... that the report does not have, or an argument makes no sense."""


class Asked(Held["ReportSource"]):
    """An open report: the source that questions are put to."""

    def __init__(self, source: ReportSource) -> None:
        super().__init__(source, str(source.reader.path))

    def _frame(self, columns: dict[str, Any], **facts: Any) -> pd.DataFrame:
        return frame(columns, self._provenance(), **facts)

    def _labelled(self, table: pd.DataFrame, **facts: Any) -> pd.DataFrame:
        return labelled(table, self._provenance(), **facts)

    def _provenance(self) -> str:
        try:
            return provenance_line(self.source)
        except (FormatError, NotRecordedError):
            return f"Profile: {self._name}"


A = TypeVar("A", bound=Asked)


def question(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, P], R]:
    """A method that raises FormatError or NotRecordedError with one sentence, and nothing else for bad arguments."""

    @wraps(method)
    def asked(self: A, /, *arguments: P.args, **named: P.kwargs) -> R:
        source = self.source
        try:
            return method(self, *arguments, **named)
        except (FormatError, NotRecordedError):
            raise
        except (ValueError, IndexError, KeyError) as error:
            text = str(error.args[0] if error.args else error).rstrip(".")
            raise NoSuchError(f"{source.label}: {text}.") from error

    return asked
