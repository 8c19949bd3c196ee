"""A question to a report: a name, parameters that it checks, and an answer made of catalogued figures.

`@question(TILES)` above a function makes it a question: its name is the function's, its first argument the report, the
others its parameters (`parameters.py` says what each means), its docstring what the rows are, `TILES` the columns. A
frame, a page of JSON, a tool for agents and a view of SQL are made from that, so that none of them states a column, a
unit or a bound a second time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from popvision.analysis.report.figure import Table
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import Columns
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.questions.parameters import PARAMETERS, Parameter

P = ParamSpec("P")
R = TypeVar("R")


class NoSuchError(FormatError, ValueError):
    """An argument names a tile, an IPU, a program ... that the report does not have, or is invalid."""


@dataclass(frozen=True)
class Answer:
    """The rows, and facts beside them, such as the tile that was asked for."""

    table: Table
    facts: Mapping[str, Any] = field(default_factory=dict)


class Question(Generic[P, R]):
    """Called with a report and arguments, it answers. R is `Answer`, or an array or a dict for what is no table."""

    def __init__(
        self,
        answer: Callable[Concatenate[ReportSource, P], R],
        columns: Columns | None,
        choices: Mapping[str, Sequence[str]],
    ) -> None:
        self._answer, self.columns = answer, columns
        self.name: str = answer.__name__
        self.about, _, self.raises = inspect.cleandoc(answer.__doc__ or "").partition("\n\n")
        self.signature = inspect.signature(answer)
        self.has_rows = self.signature.return_annotation == Answer.__name__
        self.parameters = tuple(
            PARAMETERS[name].in_question(parameter.default, choices.get(name, ()))
            for name, parameter in list(self.signature.parameters.items())[1:]
        )
        update_wrapper(self, answer)

    def __call__(self, source: ReportSource, /, *arguments: P.args, **named: P.kwargs) -> R:
        """Raises NoSuchError for bad arguments, else what the answer raises (FormatError, NotRecordedError)."""
        try:
            bound = self._bound(arguments, named)
            for parameter in self.parameters:
                if parameter.name in bound:
                    bound[parameter.name] = parameter.checked(source, bound[parameter.name])
            return self._answer(source, **bound)  # type: ignore[call-arg]
        except (FormatError, NotRecordedError):
            raise
        except (ValueError, IndexError, KeyError) as error:
            text = str(error.args[0] if error.args else error).rstrip(".")
            raise NoSuchError(f"{source.label}: {text}.") from error

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name. Raises KeyError."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    @property
    def has_fixed_columns(self) -> bool:
        """Whether the columns are known without a report."""
        return self.columns is not None and not any("{place}" in id for id in self.columns.ids)

    def columns_text(self) -> str:
        """The declared columns, a line each: "gaps_bytes (bytes): unused bytes ..."."""
        named = [(column.id, column.unit_words, column.meaning) for column in self.columns or ()]
        return "\n".join(f"{id} ({unit}): {meaning}" if unit else f"{id}: {meaning}" for id, unit, meaning in named)

    def _bound(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self.signature.bind(None, *arguments, **named).arguments
        except TypeError as error:
            names = ", ".join(parameter.name for parameter in self.parameters)
            takes = f"it takes {names}" if names else "it takes no arguments"
            raise ValueError(f"{self.name}: {error}; {takes}") from error
        return {name: value for name, value in bound.items() if name != next(iter(self.signature.parameters))}


def question(
    columns: Columns | None = None, **choices: Sequence[str]
) -> Callable[[Callable[Concatenate[ReportSource, P], R]], Question[P, R]]:
    """Make a function a question whose rows have these columns; None where the columns follow from the report.
    `choices` are the texts that a parameter takes."""

    def decorated(answer: Callable[Concatenate[ReportSource, P], R]) -> Question[P, R]:
        return Question(answer, columns, choices)

    return decorated
