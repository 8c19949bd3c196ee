"""OptionFlags, and how option values are read.

Every value is a string: booleans "true" or "false", whole numbers decimal or 0x-hexadecimal, choices spelled exactly.
Python's True, False and numbers are taken as their spelling.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.base.errors import invalid_option
from simulator.base.notices import no_effect
from simulator.base.options.table import Option


class OptionFlags(dict[str, str]):
    """Options by name. `OptionFlags({"debug.instrument": "true"})`, `flags.set(name, value)`."""

    def __init__(self, flags: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__()
        self.update(flags)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, spelled(name, value))

    def set(self, flags: str | Mapping[str, Any], value: Any = None) -> None:
        """Set one option, or all of a mapping."""
        if isinstance(flags, str):
            self[flags] = value
        else:
            self.update(flags)

    def update(self, flags: Any = (), /, **more: Any) -> None:
        pairs = flags.items() if isinstance(flags, Mapping) else flags
        try:
            items = [(name, value) for name, value in [*pairs, *more.items()]]
        except (TypeError, ValueError):
            raise invalid_option(f"{flags!r:.60} are not options; give a dict of strings.") from None
        for name, value in items:
            self[name] = value

    def at(self, name: str) -> str:
        """The value of an option that was set, else `invalid_option`."""
        if name not in self:
            raise invalid_option(f"Option '{name}' is not set.")
        return self[name]


def spelled(name: str, value: Any) -> str:
    """The string that stands for a value given as str, bool or number; `invalid_option` for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Path):
        return str(value)
    raise invalid_option(f"Option '{name}' has the value {value!r}; option values are strings.")


def from_environment(environment: Mapping[str, str], variable: str) -> OptionFlags:
    """The options of an environment variable that holds a JSON object of strings; empty when it is not set.

    Raises `invalid_option` with one sentence for anything that is not such an object."""
    text = environment.get(variable, "").strip()
    if not text:
        return OptionFlags()
    example = """for example {"autoReport.all":"true"}"""
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise invalid_option(
            f"{variable} is not valid JSON ({error}); write an object of strings, {example}."
        ) from None
    if not isinstance(parsed, dict):
        raise invalid_option(f"{variable} holds {text[:60]!r}, which is not a JSON object; write {example}.")
    return OptionFlags(parsed)


def checked(name: str, value: str, table: Mapping[str, Option], what: str) -> str:
    """`value` if `name` is in the table and the value is well formed, else `invalid_option` naming both."""
    option = table.get(name)
    if option is None:
        close = difflib.get_close_matches(name, table, 1)
        hint = f"did you mean '{close[0]}'?" if close else "see docs/options.md."
        raise invalid_option(f"'{name}' (value '{value}') is not {what}; {hint}")
    if not _well_formed(option, value):
        raise invalid_option(f"Option '{name}' cannot be '{value}'; it takes {expectation(option)}.")
    return value


def _well_formed(option: Option, value: str) -> bool:
    try:
        if option.kind == "bool":
            return value in ("true", "false")
        if option.kind == "int":
            return (option.name == "streamCallbacks.numWorkerThreads" and value == "auto") or integer(value) >= 0
        if option.kind == "float":
            return 0 <= float(value) < float("inf")
        if option.kind == "enum":
            return value in option.choices
        if option.kind == "regex":
            re.compile(value)
        return True
    except (ValueError, re.error):
        return False


def expectation(option: Option) -> str:
    """What an option takes, for messages and documentation."""
    if option.kind == "enum":
        return f"one of {', '.join(option.choices)}"
    return {
        "bool": "true or false",
        "int": "a whole number, decimal or 0x-hexadecimal",
        "float": "a number that is not negative",
        "string": "a string",
        "path": "a path",
        "regex": "a regular expression",
    }[option.kind]


def integer(value: str) -> int:
    """Decimal or 0x-hexadecimal."""
    if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]+", value):
        raise ValueError(value)
    return int(value, 16) if value[:2] in ("0x", "0X") else int(value)


def plain_default(option: Option) -> str:
    """The default; "false" for switches that follow another option, as that is what they are without it."""
    return "false" if option.kind == "bool" and option.default.startswith("<debug.") else option.default


def notice_without_effect(given: Mapping[str, str], table: Mapping[str, Option]) -> None:
    """Say once per process, on standard error, of each option that asks for something the simulator does not do."""
    for name, value in given.items():
        option = table[name]
        if not option.effective and value != plain_default(option):
            no_effect(f"option {name}={value}")
