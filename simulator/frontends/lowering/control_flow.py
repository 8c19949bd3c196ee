"""Loops and branches as control programs: Repeat, RepeatWhileTrue, If and Switch.

The states of a loop are variables of their own, which the body reads and overwrites at its end. A value that the copies
into other states would change first is copied aside before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.captured import Body
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, INT, Tensor
from simulator.poplar import program as programs
from simulator.poplibs import poputil


def _states(at: Building, initial: Sequence[Tensor]) -> list[Tensor]:
    """The variables of a loop's states, with their first values."""
    return [at.copy(one, "state") if one.numElements() else one for one in initial]


def _iteration(at: Building, body: Body, states: Sequence[Tensor]) -> programs.Sequence:
    """One pass of the body, which leaves the new states where the old ones were."""
    program = programs.Sequence(debugContext=at.name("body"))
    with at.inside(program):
        results = at.build_body(body, states)
        _write(at, list(zip(states, results, strict=True)))
    return program


def _write(at: Building, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Copy each result to its state, as if at once."""
    changed = [(state, result) for state, result in pairs if result is not state and state.numElements()]
    written = {variable for state, _ in changed for variable in state.view.variables()}
    apart = []
    for state, result in changed:
        if written & set(result.view.variables()):
            result = poputil.duplicate(at.graph, result, at.program, at.name("newState"))
        apart.append((state, result))
    for state, result in apart:
        at.program.add(programs.Copy(result, state, False, at.name("state")))


@lowers("control.Repeat", kind="Repeat", call="program::Repeat")
def repeat(at: Building, initial: Sequence[Tensor], body: Body, count: int) -> tuple[Tensor, ...]:
    """The states after `count` passes of the body."""
    states = _states(at, initial)
    at.program.add(programs.Repeat(count, _iteration(at, body, states), at.name()))
    return tuple(states)


@lowers("control.While", kind="RepeatWhile", call="program::RepeatWhileTrue")
def while_(at: Building, initial: Sequence[Tensor], condition: Body, body: Body) -> tuple[Tensor, ...]:
    """The states after passes of the body as long as the condition, a truth value, holds for them."""
    states = _states(at, initial)
    asked = programs.Sequence(debugContext=at.name("condition"))
    with at.inside(asked):
        (flag,) = at.build_body(condition, states)
    at.program.add(programs.RepeatWhileTrue(asked, flag.reshape([]), _iteration(at, body, states), at.name()))
    return tuple(states)


def _branches(at: Building, bodies: Sequence[Body]) -> tuple[list[programs.Sequence], tuple[Tensor, ...]]:
    """The programs of all branches, and the variables that each fills with its results."""
    sequences: list[programs.Sequence] = []
    results: list[Tensor] = []
    for number, body in enumerate(bodies):
        program = programs.Sequence(debugContext=at.name(f"branch{number}"))
        with at.inside(program):
            own = at.build_body(body, [])
            if not number:
                results = [at.variable(one.elementType(), one.shape(), "result") for one in own]
            for result, one in zip(results, own, strict=True):
                if one.numElements():
                    at.program.add(programs.Copy(one, result, False, at.name("result")))
        sequences.append(program)
    return sequences, tuple(results)


@lowers("control.If", kind="If", call="program::If")
def if_(at: Building, condition: Tensor, yes: Body, no: Body) -> Any:
    (first, second), results = _branches(at, [yes, no])
    flag = condition if condition.elementType() is BOOL else at.cast(condition, INT)
    at.program.add(programs.If(flag.reshape([]), first, second, at.name()))
    return results


@lowers("control.Switch", kind="Switch", call="program::Switch")
def switch(at: Building, index: Tensor, bodies: Sequence[Body]) -> Any:
    """The results of the body that the index names; of the last one for an index outside the range."""
    sequences, results = _branches(at, bodies)
    cases = list(enumerate(sequences[:-1]))
    at.program.add(
        programs.Switch(index.reshape([]), cases=cases, defaultCaseBody=sequences[-1], debugContext=at.name())
    )
    return results
