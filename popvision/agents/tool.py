"""A tool: what it is called, what it takes, what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from popvision.agents.shelf import Shelf
from popvision.answers.page import Page
from popvision.formats.errors import FormatError

_KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Argument:
    """`kind` is a JSON type; `choices` the values it may have; `low` and `high` bound numbers."""

    name: str
    kind: str
    about: str
    default: Any = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    needed: bool = False

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        found: dict[str, Any] = {"type": self.kind, "description": self.about}
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        for key, value in (("minimum", self.low), ("maximum", self.high)):
            if value is not None:
                found[key] = value
        return found

    def checked(self, value: Any) -> Any:
        """The value. Raises FormatError when it is of another kind or out of bounds."""
        good = isinstance(value, _KINDS[self.kind]) and (self.kind == "boolean" or not isinstance(value, bool))
        if not good:
            raise FormatError(f"{self.name} must be of type {self.kind}, not {type(value).__name__}.")
        if self.choices and value not in self.choices:
            raise FormatError(f"{self.name} must be one of {', '.join(self.choices)}, not {str(value)[:60]!r}.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise FormatError(f"{self.name} must lie between {self.low:g} and {self.high:g}, not {value}.")
        if isinstance(value, str) and len(value) > 20_000:
            raise FormatError(f"{self.name} has {len(value):,} characters; give at most 20,000.")
        return value


@dataclass(frozen=True)
class Tool:
    """`answer(shelf, arguments, page)` gives a dict; one with "rows" comes in pages. `of` says whose name the argument
    "report" is: "report", "trace", or "" for tools that are about none."""

    name: str
    about: str
    answer: Callable[[Shelf, dict[str, Any], Page], dict[str, Any]]
    arguments: tuple[Argument, ...] = ()
    of: str = "report"

    def all_arguments(self) -> tuple[Argument, ...]:
        """With the name of the report and the page."""
        first = (
            (Argument("report", "string", f"Name of the {self.of}, as list_reports gives it; not needed for one.", ""),)
            if self.of
            else ()
        )
        return first + self.arguments + PAGE

    def schema(self) -> dict[str, Any]:
        """The tool as tools/list gives it."""
        every = self.all_arguments()
        return {
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object",
                "properties": {each.name: each.schema() for each in every},
                "required": [each.name for each in every if each.needed],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }

    def checked(self, given: Any) -> dict[str, Any]:
        """All arguments, defaults filled in. Raises FormatError, one sentence, for one that is not good."""
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise FormatError(f"the arguments of {self.name} must be an object.")
        known = {each.name: each for each in self.all_arguments()}
        strange = [str(name)[:60] for name in given if name not in known]
        if strange:
            raise FormatError(f"{self.name} has no argument {strange[0]!r}; it has {', '.join(known) or 'none'}.")
        missing = [each.name for each in known.values() if each.needed and given.get(each.name) is None]
        if missing:
            raise FormatError(f"{self.name} needs the argument {missing[0]}.")
        return {
            name: each.default if given.get(name) is None else each.checked(given[name]) for name, each in known.items()
        }


PAGE = (
    Argument("limit", "integer", "Rows at most; an answer also ends at 40,000 bytes.", 50, low=1, high=500),
    Argument(
        "cursor", "string", "next_cursor of the page before, with the same arguments; leave out for the first.", ""
    ),
)
