"""`PVTI_OPTIONS`: the JSON object in the environment that turns host tracing on."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@dataclass(frozen=True)
class Options:
    """Channels, folder and duration of a trace. `channels` None means all; `duration_s` 0 means no limit; `process`:
    whether processor time and memory are recorded."""

    enable: bool = True
    directory: str = "."
    channels: frozenset[str] | None = None
    duration_s: float = 0.0
    process: bool = True


def from_text(text: str) -> Options | None:
    """The options in the variable; None when they switch tracing off.

    An invalid value turns tracing on with all defaults, as documented for libpvti, and prints one line on stderr.
    """
    try:
        options = parse(text)
    except ValueError as error:
        print(f"PVTI_OPTIONS: {error} Tracing is on with default options.", file=sys.stderr)
        return Options()
    return options if options.enable else None


def parse(text: str) -> Options:
    """Parse a JSON object. Raises ValueError, one sentence, for any other form."""
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the value is not JSON ({error.msg} at character {error.pos}).") from None
    if not isinstance(given, dict):
        raise ValueError(f'the value must be a JSON object such as {{"enable": "true"}}, not {text.strip()[:40]}.')
    readers: dict[str, Callable[[object], Any]] = {
        "enable": partial(_flag, "enable"),
        "directory": _directory,
        "channels": _channels,
        "duration": _seconds,
        "process": partial(_flag, "process"),
    }
    unknown = [name for name in given if name not in readers]
    if unknown:
        raise ValueError(f"unknown option {unknown[0]!r}; the options are {', '.join(readers)}.")
    fields = {"duration": "duration_s"}
    return Options(**{fields.get(str(name), str(name)): readers[name](value) for name, value in given.items()})


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError(f'"{name}" is {value!r}; it must be true or false.')


def _directory(value: object) -> str:
    if isinstance(value, str) and value and "\0" not in value:
        return os.path.expanduser(value)  # noqa: PTH111  (pathlib costs more to import than this package)
    raise ValueError(f'"directory" is {value!r}; it must be the name of a folder.')


def _channels(value: object) -> frozenset[str] | None:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return frozenset(value) or None
    raise ValueError(f'"channels" is {value!r}; it must be a list of channel names.')


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
    except ValueError:
        seconds = -1.0
    if 0 <= seconds < 1e9:
        return seconds
    raise ValueError(f'"duration" is {value!r}; it must be a number of seconds, 0 for no limit.')
