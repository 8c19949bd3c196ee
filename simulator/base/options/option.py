"""Entries of the option tables: a name, what its value may be, its default, its documentation, and the field it sets.

An option that sets a field of a settings class is declared as that field, by `setting`. One that only decides about
another option, or has no effect yet, is a plain `Option`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from simulator.base.target import Target, TargetType

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """How values of options are read. `read` raises ValueError, KeyError or re.error for malformed text."""

    name: Literal["bool", "int", "float", "path", "regex", "enum"]
    expectation: str  #: what such an option takes, for messages and documentation
    read: Callable[[str], T_co]
    choices: tuple[str, ...] = ()

    def then(self, convert: Callable[[T_co], S]) -> Kind[S]:
        """The same texts, read as `convert` of the value."""
        return Kind(self.name, self.expectation, lambda text: convert(self.read(text)), self.choices)


def integer(text: str) -> int:
    """Decimal or 0x-hexadecimal. Raises ValueError for anything else, signs included."""
    if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]+", text):
        raise ValueError(text)
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError(text)
    return number


def _pattern(text: str) -> str:
    re.compile(text)
    return text


BOOL = Kind("bool", "true or false", {"true": True, "false": False}.__getitem__)
WHOLE = Kind("int", "a whole number, decimal or 0x-hexadecimal", integer)
WHOLE_OR_AUTO: Kind[int | None] = Kind(
    "int", f"auto, or {WHOLE.expectation}", lambda text: None if text == "auto" else integer(text)
)
NUMBER = Kind("float", "a number that is not negative", _number)
FOLDER = Kind("path", "a path", lambda text: Path(text).expanduser())
FILE: Kind[Path | None] = Kind("path", "a path", lambda text: Path(text).expanduser() if text else None)
PATTERN = Kind("regex", "a regular expression", _pattern)


def one_of(*choices: str) -> Kind[str]:
    """One of these words, spelled exactly."""
    return Kind("enum", f"one of {', '.join(choices)}", {choice: choice for choice in choices}.__getitem__, choices)


#: What an option can change: a word of `Effects`, and what the word says.
CATEGORIES = {
    "cycles": "modelled cycles of runs",
    "bytes": "bytes on tiles",
    "code": "bytes of code, stacks and vertex state, on an IPU Model with compileIPUCode only",
    "files": "which files are written, where, when or with what",
    "report": "what reports say beside cycles and bytes",
    "errors": "what raises, and when",
    "values": "results of programs",
    "text": "text on standard error",
    "host": "host threads, memory or callbacks",
}

NOT_APPLICABLE, RAISES = "", "raises"


@dataclass(frozen=True)
class Effects:
    """What an option changes on each kind of target: words of CATEGORIES, "" where it does not apply (any value is
    accepted and nothing differs), "raises" where a value other than the default is refused."""

    ipu_model: str = NOT_APPLICABLE
    cpu: str = NOT_APPLICABLE
    hardware: str = NOT_APPLICABLE

    def on(self, target: TargetType) -> frozenset[str]:
        """The words for a target."""
        texts = {TargetType.IPU_MODEL: self.ipu_model, TargetType.CPU: self.cpu, TargetType.IPU: self.hardware}
        return frozenset(texts[target].split())

    def statement(self, target: TargetType) -> str:
        """One of: changes X; does not apply here; raises."""
        words = self.on(target)
        if not words:
            return "does not apply here"
        return RAISES if RAISES in words else "changes " + ", ".join(word for word in CATEGORIES if word in words)


def everywhere(words: str) -> Effects:
    """The same on every target."""
    return Effects(words, words, words)


@dataclass(frozen=True)
class Option:
    """One entry. Names and defaults are those of Poplar's documentation; `source` "seen" marks names that only appear
    in published programs and reports."""

    name: str
    kind: Kind[Any]
    default: str  #: as text; "" = not set; <...> = computed, or the value of the option that it names
    meaning: str
    changes: str = ""  #: what it changes here; "" = nothing, and a notice says so when a program sets it
    effects: Effects = Effects()  #: by target
    test: str = ""  #: the test that runs one program with two values and asserts the difference
    source: Literal["documented", "seen"] = "documented"
    implied: Callable[[OptionValues], str | None] | None = None  #: the text where none is given; None = the default
    settle: Callable[[Any, OptionValues], Any] | None = None  #: makes the field's value of it; ValueError = refused
    targets: tuple[TargetType, ...] = tuple(TargetType)  #: those it has its effect on
    inactive: Any = None  #: the field's value on other targets, and in settings made without options
    recorded_only: str = ""  #: why it changes nothing: it is checked and written to the report

    @property
    def effective(self) -> bool:
        """Whether it has its effect now."""
        return bool(self.changes)

    def refusal(self, text: str, reason: str) -> str:
        """The sentence for a value that this option cannot have."""
        return f"Option '{self.name}' cannot be '{text}'; {reason}"


def setting(
    name: str,
    kind: Kind[T],
    default: str,
    meaning: str,
    *,
    changes: str,
    effects: Effects,
    test: str,
    source: Literal["documented", "seen"] = "documented",
    implied: Callable[[OptionValues], str | None] | None = None,
    settle: Callable[[T, OptionValues], T] | None = None,
    targets: tuple[TargetType, ...] = tuple(TargetType),
    inactive: T | None = None,
) -> T:
    """The field of a settings dataclass that an option sets; parameters as in `Option`. Without `inactive` that is what
    `default` reads as, None for a default that is not set."""
    if inactive is None and default:
        inactive = kind.read(default)
    option = Option(name, kind, default, meaning, changes, effects, test, source, implied, settle, targets, inactive)
    made: T = field(default=inactive, metadata={"option": option})  # type: ignore[assignment]
    return made


class OptionValues:
    """The text of every option of a table, for one target. A text that is given wins, then one that another option
    implies, then the default. `given` holds those that a program or the environment sets."""

    def __init__(
        self, table: Mapping[str, Option], given: Mapping[str, str], target: Target, environment: Mapping[str, str]
    ) -> None:
        self.given, self.target, self.environment = given, target, environment
        self._table = table

    def __getitem__(self, name: str) -> str:
        option = self._table[name]
        if name in self.given:
            return self.given[name]
        implied = option.implied(self) if option.implied else None
        if implied is not None:
            return implied
        followed = option.default[1:-1]
        return self[followed] if option.default.startswith("<") and followed in self._table else option.default

    def on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self[name] == "true"

    def texts(self) -> dict[str, str]:
        """The text of every option, by name."""
        return {name: self[name] for name in self._table}
