"""A tool: its name, its arguments and the function that answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from popvision.agents.catalogue import Catalogue
from popvision.answers.page import Page
from popvision.formats.errors import FormatError

_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Argument:
    """`kind` is a JSON type, `choices` the allowed values, `low` and `high` the bounds of numbers."""

    name: str
    kind: str
    about: str
    default: Any = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    required: bool = False

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema: dict[str, Any] = {"type": self.kind, "description": self.about}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        for key, value in (("minimum", self.low), ("maximum", self.high)):
            if value is not None:
                schema[key] = value
        return schema

    def validate(self, value: Any) -> Any:
        """The value. Raises FormatError when it has another type or is out of bounds."""
        is_of_kind = isinstance(value, _TYPES[self.kind]) and (self.kind == "boolean" or not isinstance(value, bool))
        if not is_of_kind:
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
    """`answer(catalogue, arguments, page)` gives a dict; one with "rows" comes in pages. `subject` is what the argument
    "report" names: a "report", a "trace", or "" for tools without that argument."""

    name: str
    about: str
    answer: Callable[[Catalogue, dict[str, Any], Page], dict[str, Any]]
    arguments: tuple[Argument, ...] = ()
    subject: str = "report"

    def all_arguments(self) -> tuple[Argument, ...]:
        """Its own arguments, with the name of the report and the page."""
        first = (Argument("report", "string", f"A {self.subject} of list_reports.", ""),) if self.subject else ()
        return first + self.arguments + PAGE

    def schema(self) -> dict[str, Any]:
        """The tool as tools/list gives it."""
        arguments = self.all_arguments()
        return {
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object",
                "properties": {each.name: each.schema() for each in arguments},
                "required": [each.name for each in arguments if each.required],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }

    def validate(self, given: Any) -> dict[str, Any]:
        """All arguments, defaults filled in. Raises FormatError, one sentence, for an invalid one."""
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise FormatError(f"the arguments of {self.name} must be an object.")
        known = {each.name: each for each in self.all_arguments()}
        unknown = [str(name)[:60] for name in given if name not in known]
        if unknown:
            raise FormatError(f"{self.name} has no argument {unknown[0]!r}; it has {', '.join(known) or 'none'}.")
        missing = [each.name for each in known.values() if each.required and given.get(each.name) is None]
        if missing:
            raise FormatError(f"{self.name} needs the argument {missing[0]}.")
        return {
            name: each.default if given.get(name) is None else each.validate(given[name])
            for name, each in known.items()
        }


PAGE = (
    Argument("limit", "integer", "Rows at most; an answer ends at 40,000 bytes.", 50, low=1, high=500),
    Argument("cursor", "string", "next_cursor of the page before, other arguments unchanged.", ""),
)
