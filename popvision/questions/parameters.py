"""What the parameters of questions mean: one entry for each name, which every question shares.

A parameter has a kind, bounds and one sentence of help. Numbers of tiles, IPUs, programs ... are bounded by the report
that is asked; the sentence of refusal names the value and what the report has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of

#: "report" is another opened report, "numbers" a list of whole numbers.
Kind: TypeAlias = Literal["integer", "text", "numbers", "report"]

_WORDS: dict[Kind, str] = {
    "integer": "a whole number",
    "text": "a text",
    "numbers": "a list of whole numbers",
    "report": "a report from popvision.open",
}

_IS_OF_KIND: dict[Kind, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "numbers": lambda value: isinstance(value, Sequence | np.ndarray) and not isinstance(value, str),
    "report": lambda value: isinstance(getattr(value, "source", None), ReportSource),
}


@dataclass(frozen=True)
class Numbered:
    """What a report counts from 0: `noun` and `plural` in words, and how many there are."""

    noun: str
    plural: str
    count: Callable[[ReportSource], int]

    def check(self, source: ReportSource, number: int) -> None:
        """Raise ValueError for a number that the report does not have."""
        count = self.count(source)
        if not 0 <= number < count:
            has = f"{self.plural} 0 to {count - 1}" if count > 1 else f"{self.noun} 0 alone" if count else "none"
            raise ValueError(f"{self.noun} {number} does not exist: this report has {has}")


@dataclass(frozen=True)
class Parameter:
    """`default` is `inspect.Parameter.empty` where the question needs an argument; `optional` where None is taken too.
    `numbered` bounds an integer by the report, `low` without one; `choices` are all texts that are taken, in order."""

    name: str
    kind: Kind
    about: str
    numbered: Numbered | None = None
    low: int | None = None
    choices: Sequence[str] = ()
    default: Any = None
    optional: bool = False

    @property
    def is_required(self) -> bool:
        """Whether the question has no default for it."""
        return self.default is inspect.Parameter.empty

    def in_question(self, default: Any, choices: Sequence[str]) -> Parameter:
        """The same parameter with the default, and the choices, of one question."""
        return replace(self, default=default, optional=default is None, choices=choices)

    def checked(self, source: ReportSource, value: Any) -> Any:
        """The value in Python's type. Raises ValueError, which names the parameter, the value and what is taken."""
        if value is None and self.optional:
            return None
        if self.kind == "integer":
            return self._number(source, value)
        if not _IS_OF_KIND[self.kind](value):
            raise ValueError(f"{self.name} must be {_WORDS[self.kind]}, not {_shown(value)}")
        if self.choices and value not in self.choices:
            raise ValueError(f"{self.name} must be one of {', '.join(self.choices)}, not {_shown(value)}")
        return value

    def _number(self, source: ReportSource, value: Any) -> int:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise ValueError(f"{self.name} must be {_WORDS[self.kind]}, not {_shown(value)}")
        number = int(value)
        if self.numbered is not None:
            self.numbered.check(source, number)
        elif self.low is not None and number < self.low:
            raise ValueError(f"{self.name} must be at least {self.low}, not {number}")
        return number


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


_TILES = Numbered("tile", "tiles", lambda source: target_of(source).num_tiles)
_IPUS = Numbered("IPU", "IPUs", lambda source: target_of(source).num_ipus)
_REPLICAS = Numbered("replica", "replicas", lambda source: target_of(source).num_replicas)
_PROGRAMS = Numbered("program", "programs", lambda source: len(programs_of(source).type))
_COMPUTE_SETS = Numbered("compute set", "compute sets", lambda source: len(source.reader.compute_sets().name))

PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("replica", "integer", "Tiles of this replica; all replicas by default.", _REPLICAS),
        Parameter("ipu", "integer", "An IPU, counted over all replicas; all IPUs by default.", _IPUS),
        Parameter("tile", "integer", "A tile, counted over all IPUs.", _TILES),
        Parameter("program", "integer", "Id of a lowered program.", _PROGRAMS),
        Parameter("root", "integer", "Only the subtree of this program id.", _PROGRAMS),
        Parameter("compute_set", "integer", "Number of a compute set.", _COMPUTE_SETS),
        Parameter("index", "integer", "A liveness index: a place in the static order of the program.", low=0),
        Parameter("run", "integer", "A recorded run.", low=0),
        Parameter("first", "integer", "First execution step.", low=0),
        Parameter("last", "integer", "Last execution step, inclusive; the last one by default.", low=0),
        Parameter("begin", "integer", "Begin of the window in tile clock cycles since the first recorded run began."),
        Parameter("end", "integer", "End of the window, exclusive; the end of the last run by default."),
        Parameter("by", "text", "How rows are grouped or ordered."),
        Parameter("layer", "text", "Software layer; by default the framework's, else PopLibs."),
        Parameter("level", "integer", "Group by this many parts of the name; 0 = each operation.", low=0),
        Parameter("under", "text", "Only operations whose names begin with these parts."),
        Parameter("file", "text", "A source file as source_files() lists it."),
        Parameter("chosen", "numbers", "Ids of variables()."),
        Parameter("other", "report", "The report to compare with."),
    )
}
