"""A sweep file: TOML, with these keys.

program, arguments, runs, trace, target, tiles, files     as in `Sweep`
[options] [constants] [environment]                       of every point
[grid]                                                    commit, target, tiles = [...]
[grid.options] [grid.constants] [grid.arguments]          NAME = [...]
[limits]                                                  memory = "4 GiB", seconds = 600
"""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

from popvision.sweep.plan import NAMED_AXES, PLAIN_AXES, Limits, Sweep, SweepError, suggestion

_KEYS: dict[str, tuple[type, ...]] = {
    "program": (str,),
    "arguments": (list,),
    "files": (list,),
    "runs": (int,),
    "trace": (bool,),
    "target": (str,),
    "tiles": (int,),
    "options": (dict,),
    "constants": (dict,),
    "environment": (dict,),
    "grid": (dict,),
    "limits": (dict,),
}
_NAMES = {str: "text", list: "a list", int: "a whole number", bool: "true or false", dict: "a table"}
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep file. Raises SweepError, one sentence, naming file, key and value."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            table = tomllib.load(stream)
    except OSError as problem:
        raise SweepError(f"{path}: {problem.strerror or problem}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SweepError(f"{path} is not TOML: {str(problem)[:1].lower()}{str(problem)[1:]}.") from None
    try:
        return _sweep(table, path.parent)
    except SweepError as problem:
        raise SweepError(f"{path}: {problem}") from None


def _sweep(table: dict[str, Any], folder: Path) -> Sweep:
    _check_keys(table, _KEYS, "")
    for key, value in table.items():
        if not isinstance(value, _KEYS[key]) or (isinstance(value, bool) and bool not in _KEYS[key]):
            raise SweepError(f"{key} = {value!r} is not {_NAMES[_KEYS[key][0]]}.")
    if "program" not in table:
        raise SweepError('it names no program: write program = "my_program.py".')
    if table.get("runs", 1) < 1:
        raise SweepError(f"runs = {table['runs']} is not a whole number from 1.")
    for key in ("arguments", "files"):
        for each in table.get(key, []):
            if not isinstance(each, str):
                raise SweepError(f'{key} holds {each!r}, which is not text: write "{each}".')
    for name, value in table.get("environment", {}).items():
        if not isinstance(value, str):
            raise SweepError(f'environment.{name} = {value!r} is not text: write "{value}".')
    rest = {key: value for key, value in table.items() if key not in ("grid", "limits")}
    return Sweep(**rest, grid=_grid(table.get("grid", {})), limits=_limits(table.get("limits", {})), folder=folder)


def _grid(table: dict[str, Any]) -> dict[str, list[Any]]:
    _check_keys(table, (*PLAIN_AXES, *NAMED_AXES), "grid.")
    axes: dict[str, Any] = {}
    for key, value in table.items():
        if key not in NAMED_AXES:
            axes[key] = value
        elif not isinstance(value, dict):
            raise SweepError(f"grid.{key} = {value!r} is not a table: write [grid.{key}] and NAME = [...] below it.")
        else:
            axes |= {f"{key}.{name}": values for name, values in value.items()}
    for axis, values in axes.items():
        if not isinstance(values, list):
            raise SweepError(f"grid.{axis} = {values!r} is not a list of values: write [{values!r}].")
    return axes


def _limits(table: dict[str, Any]) -> Limits:
    _check_keys(table, ("memory", "seconds"), "limits.")
    seconds = table.get("seconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf
    ):
        raise SweepError(f"limits.seconds = {seconds!r} is not a positive number.")
    memory = table.get("memory")
    return Limits(None if memory is None else _bytes(memory), seconds)


def _bytes(value: object) -> int:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    if match is None or match.group(2) not in _UNITS or not float(match.group(1)):
        raise SweepError(f'limits.memory = {value!r} is not a size such as "4 GiB"; units are {", ".join(_UNITS)}.')
    return int(float(match.group(1)) * _UNITS[match.group(2)])


def _check_keys(table: dict[str, Any], known: Any, before: str) -> None:
    for key in table:
        if key not in known:
            raise SweepError(
                f"there is no key {before}{key}{suggestion(key, list(known))}; keys are {', '.join(known)}."
            )
