"""Fills settings classes from option texts, and refuses texts that no option takes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from simulator.base.errors import invalid_option
from simulator.base.options.option import Option, OptionValues
from simulator.base.text_output import no_effect

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")


def options_of(settings: type[DataclassInstance]) -> tuple[Option, ...]:
    """The options that the fields of a settings class declare."""
    return tuple(field.metadata["option"] for field in fields(settings) if "option" in field.metadata)


def fill(settings: type[S], values: OptionValues) -> S:
    """An instance of a settings class whose fields have the values of their options; fields without an option keep
    their defaults. Raises `invalid_option` for a value that the target, or another option, rules out."""
    declared = {field.name: field.metadata["option"] for field in fields(settings) if "option" in field.metadata}
    return settings(**{name: _value(option, values) for name, option in declared.items()})


def _value(option: Option, values: OptionValues) -> Any:
    text = values[option.name]
    computed_elsewhere = text == option.default and (not text or text.startswith("<"))
    value = option.inactive if computed_elsewhere else option.kind.read(text)
    if option.settle is not None:
        try:
            value = option.settle(value, values)
        except ValueError as error:
            raise invalid_option(option.refusal(text, str(error))) from None
    return value if values.target.type in option.targets else option.inactive


def check(given: Mapping[str, str], table: Mapping[str, Option], what: str) -> None:
    """Raise `invalid_option` for an unknown name or a malformed value, naming both. `what` names an entry of the table,
    as in "an engine option"."""
    for name, text in given.items():
        option = table.get(name)
        if option is None:
            close = difflib.get_close_matches(name, table, 1)
            hint = f"did you mean '{close[0]}'?" if close else "see docs/options.md."
            raise invalid_option(f"'{name}' (value '{text}') is not {what}; {hint}")
        try:
            option.kind.read(text)
        except (ValueError, KeyError, re.error):
            raise invalid_option(option.refusal(text, f"it takes {option.kind.expectation}.")) from None


def notice_without_effect(given: Mapping[str, str], table: Mapping[str, Option]) -> None:
    """Say once per process, on standard error, which given options the simulator does not act on."""
    for name, text in given.items():
        if not table[name].effective and text != table[name].default:
            no_effect(f"option {name}={text}")
