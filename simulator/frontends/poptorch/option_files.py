"""Options from text: JSON objects, and files of lines as they stand in a program after `options.`.

A line is read as an expression of calls, names of poptorch and literals; nothing else is run.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import torch

from simulator.frontends.poptorch import enums, strategies
from simulator.frontends.poptorch.errors import ConfigFileError, OptionError
from simulator.frontends.poptorch.option_group import OptionGroup
from simulator.frontends.poptorch.tensor_locations import TensorLocationSettings

_OF_POPTORCH: dict[str, Any] = {
    **{name: kind for name, kind in vars(enums).items() if isinstance(kind, type)},
    **{name: getattr(strategies, name) for name in ("PipelinedExecution", "ShardedExecution", "Stage")},
    "TensorLocationSettings": TensorLocationSettings,
}
_OF_TORCH = {name: getattr(torch, name) for name in ("float", "float32", "half", "float16")}


def apply_json(options: OptionGroup, text: str, source: str) -> None:
    """Call the setters that a JSON object names with its values. Raises OptionError, which names `source`."""
    try:
        calls = json.loads(text)
    except json.JSONDecodeError as error:
        raise OptionError(f"{source} is no JSON: {error}.") from None
    if not isinstance(calls, dict):
        raise OptionError(f"{source} is no JSON object of option names and values: {text!r}.")
    for name, value in calls.items():
        arguments = value if isinstance(value, list) else [value]
        _setter(options, name, source)(*(_member_or_value(part) for part in arguments))


def apply_lines(options: OptionGroup, path: Path) -> None:
    """Call the setters that the lines of a file name. Raises ConfigFileError for lines that cannot be read, and what
    the setters raise."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFileError(f"{path} cannot be read: {error}.") from None
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            tree = ast.parse(f"options.{stripped}", mode="eval")
        except SyntaxError as error:
            raise ConfigFileError(
                f"SyntaxError at line {number} of {path.name}: {error.msg}\n> options.{stripped}"
            ) from None
        if not isinstance(tree.body, ast.Call):
            raise ConfigFileError(f"Line {number} of {path.name} calls no option: {stripped}")
        try:
            _evaluated(tree.body, options)
        except (AttributeError, KeyError) as error:
            raise ConfigFileError(f"Line {number} of {path.name} names an unknown option or value: {error}") from None


def _setter(options: OptionGroup, name: str, source: str) -> Any:
    found: Any = options
    for part in name.split("."):
        found = getattr(found, part, None)
    if not hasattr(found, "is_option_setter"):
        raise OptionError(f"{source} names {name!r}, which is no option.")
    return found


def _member_or_value(value: Any) -> Any:
    """ "ConnectionType.OnDemand" and "torch.half" as what they name; anything else as it is."""
    if isinstance(value, str):
        kind, dot, member = value.removeprefix("poptorch.").partition(".")
        if dot and kind == "torch" and member in _OF_TORCH:
            return _OF_TORCH[member]
        if dot and kind in _OF_POPTORCH and hasattr(_OF_POPTORCH[kind], "__members__"):
            if member not in _OF_POPTORCH[kind].__members__:
                raise OptionError(
                    f"{kind} has no member {member!r}; it has {', '.join(_OF_POPTORCH[kind].__members__)}."
                )
            return _OF_POPTORCH[kind][member]
    return value


def _evaluated(node: ast.AST, options: OptionGroup) -> Any:
    match node:
        case ast.Name(id="options"):
            return options
        case ast.Attribute(value=ast.Name(id="poptorch"), attr=name):
            return _OF_POPTORCH[name]
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return _OF_TORCH[name]
        case ast.Attribute(value=owner, attr=name):
            if name.startswith("__"):
                raise AttributeError(f"{name} is no option")
            return getattr(_evaluated(owner, options), name)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            called = _evaluated(function, options)
            named = {word.arg: _evaluated(word.value, options) for word in keywords if word.arg}
            return called(*(_evaluated(part, options) for part in arguments), **named)
        case ast.List(elts=parts):
            return [_evaluated(part, options) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_evaluated(part, options) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {
                _evaluated(key, options): _evaluated(value, options)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case _:
            try:
                return ast.literal_eval(node)
            except ValueError:
                raise KeyError(ast.unparse(node)) from None
