"""One option: its name, what it takes, what it changes here, and the test that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bool", "int", "float", "string", "path", "regex", "enum"]


@dataclass(frozen=True)
class Option:
    """Names and defaults are those of Poplar's documentation; `source` "seen" marks names that only appear in published
    programs and reports."""

    name: str
    kind: Kind
    default: str  #: as a string; "" = not set; a word in <> = computed, see `meaning`
    meaning: str
    changes: str = ""  #: what it changes here; "" = nothing yet, and a notice says so once when it is asked for
    test: str = ""  #: the same program with two values, and a difference that is asserted
    choices: tuple[str, ...] = ()
    source: Literal["documented", "seen"] = "documented"

    @property
    def effective(self) -> bool:
        """Whether it has its effect now."""
        return bool(self.changes)
