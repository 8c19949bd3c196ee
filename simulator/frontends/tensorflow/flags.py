"""TF_POPLAR_FLAGS: a string of flags, as a shell would split it, for all TensorFlow programs of a process."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from simulator.base.errors import poplar_error


@dataclass(frozen=True)
class Flags:
    """The flags that have an effect here."""

    executable_cache_path: str = ""  #: folder of `<hash>.poplar_exec`; empty: no cache
    use_on_demand: bool = False  #: ALWAYS becomes ON_DEMAND
    on_demand_device_poll_time: int = 1000  #: milliseconds, at least 100
    on_demand_device_timeout: int = 3_600_000  #: milliseconds


def read_flags(environment: Mapping[str, str] = os.environ) -> Flags:
    """The flags of TF_POPLAR_FLAGS; POPDIST_EXECUTABLE_CACHE_PATH is the cache's folder where it names none.

    Raises poplar_error for a flag that is unknown or has a wrong value."""
    flags = Flags(executable_cache_path=environment.get("POPDIST_EXECUTABLE_CACHE_PATH", ""))
    try:
        words = shlex.split(environment.get("TF_POPLAR_FLAGS", ""))
    except ValueError as error:
        raise poplar_error(f"TF_POPLAR_FLAGS cannot be split into flags: {error}.") from error
    kinds = {one.name: type(one.default) for one in fields(Flags)}
    for word in words:
        name, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in kinds:
            near = get_close_matches(name, kinds, 1)
            hint = f"did you mean '--{near[0]}'?" if near else f"flags here: {', '.join('--' + one for one in kinds)}."
            raise poplar_error(f"TF_POPLAR_FLAGS has no flag '{word}' in this simulator; {hint}")
        chosen: dict[str, Any] = {name: _value(name, kinds[name], bool(equals), text)}
        flags = replace(flags, **chosen)
    return flags


def _value(name: str, kind: type, is_given: bool, text: str) -> str | int | bool:
    if kind is str and text:
        return text
    if kind is bool and (not is_given or text.lower() in ("true", "1", "false", "0")):
        return not is_given or text.lower() in ("true", "1")
    least = 100 if name == "on_demand_device_poll_time" else 0
    if kind is int and text.isdecimal() and int(text) >= least:
        return int(text)
    wanted = {str: "a path", bool: "'true' or 'false'", int: f"a whole number of milliseconds from {least}"}[kind]
    raise poplar_error(f"TF_POPLAR_FLAGS: '--{name}' has the value '{text}'; give {wanted}.")
