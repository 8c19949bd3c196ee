"""What of a captured program decides what its executable computes: everything but where its lines stand in files.

A program whose lines have moved is the same program: it is compiled ahead of time with other settings above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from simulator.frontends.captured import Body, Operator, Place, Program, Recorded


def identity(program: Program) -> str:
    """A text that equal programs have in common, whatever files and lines they came from."""
    hooks = tuple(replace(hook, body=_argument(hook.body), place=Place()) for hook in program.hooks)
    return repr(replace(program, operators=_operators(program.operators), hooks=hooks))


def _operators(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    return tuple(
        replace(
            one,
            place=replace(one.place, file="", line=0, stack=()),
            arguments={name: _argument(value) for name, value in one.arguments.items()},
            recorded=None if one.recorded is None else _recorded(one.recorded),
        )
        for one in operators
    )


def _argument(value: Any) -> Any:
    if isinstance(value, Body):
        return replace(value, operators=_operators(value.operators))
    if isinstance(value, list | tuple):
        return [_argument(part) for part in value]
    return value


def _recorded(recorded: Recorded) -> Recorded:
    return replace(recorded, forward=_operators(recorded.forward), backward=_operators(recorded.backward))
