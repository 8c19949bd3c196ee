"""The common part of an opened report and an opened trace: a source until it is closed, its card, the exceptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Self, TypeVar

from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.opened.cards import Card

if TYPE_CHECKING:
    from types import TracebackType

    from rich.table import Table

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class NoSuchError(FormatError, ValueError):
    """An argument names a tile, an IPU, a program ... that the report does not have, or is invalid."""


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


def question(answer: Callable[Concatenate[ReportSource, P], R]) -> Callable[Concatenate[Opened[ReportSource], P], R]:
    """The method of an opened report that gives `answer` its source. It raises FormatError or NotRecordedError with one
    sentence; bad arguments raise NoSuchError."""

    @wraps(answer)
    def method(self: Opened[ReportSource], /, *arguments: P.args, **named: P.kwargs) -> R:
        source = self.source
        try:
            return answer(source, *arguments, **named)
        except (FormatError, NotRecordedError):
            raise
        except (ValueError, IndexError, KeyError) as error:
            text = str(error.args[0] if error.args else error).rstrip(".")
            raise NoSuchError(f"{source.label}: {text}.") from error

    return method


def check_tile(source: ReportSource, tile: int) -> None:
    """Raise ValueError for a tile that the report does not have."""
    count = target_of(source).num_tiles
    if not 0 <= tile < count:
        raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {count - 1}")


def check_ipu(source: ReportSource, ipu: int) -> None:
    """Raise ValueError for an IPU that the report does not have."""
    count = target_of(source).num_ipus
    if not 0 <= ipu < count:
        raise ValueError(f"IPU {ipu} does not exist: this report has IPUs 0 to {count - 1}")
