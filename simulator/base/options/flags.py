"""OptionFlags: options as a program or the environment gives them.

Every value is a string: booleans "true" or "false", whole numbers decimal or 0x-hexadecimal, choices spelled exactly.
Python's True, False and numbers are taken as their spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.base.errors import invalid_option
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments


@methods_refuse_wrong_arguments()
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


#: What each variable may hold, for messages.
_EXAMPLES = {
    "POPLAR_ENGINE_OPTIONS": '{"autoReport.all":"true"}',
    "POPLAR_RUNTIME_OPTIONS": '{"target.hostSyncTimeout":"60"}',
    "POPLAR_TARGET_OPTIONS": '{"target.deterministicWorkers":"false"}',
}


def from_environment(environment: Mapping[str, str], variable: str) -> OptionFlags:
    """The options of an environment variable that holds a JSON object of strings; empty when it is not set or blank.

    Raises `invalid_option` with one sentence for anything that is not such an object."""
    text = environment.get(variable, "").strip()
    if not text:
        return OptionFlags()
    example = f"for example {_EXAMPLES[variable]}"
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise invalid_option(
            f"{variable} is not valid JSON ({error}); write an object of strings, {example}."
        ) from None
    if not isinstance(parsed, dict):
        raise invalid_option(f"{variable} holds {text[:60]!r}, which is not a JSON object; write {example}.")
    return OptionFlags(parsed)
