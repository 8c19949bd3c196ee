"""Sums and differences that become a weight's new value: written over the old one, where nothing reads that any more.

Elsewhere a step writes its new values into tensors of their own and copies them into the weights at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from simulator.frontends.captured import Operator, Program, Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.elementwise.expressions import Operand
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popops
from simulator.poplibs.popops import expr as e

_RULES = {"aten.add.Tensor": "update.Add", "aten.sub.Tensor": "update.Sub"}
_TYPES = frozenset({"float32", "float16", "int32"})


@lowers("update.Add", kind="Add", call="popops.mapInPlace")
def add_in_place(at: Building, input: Tensor, other: Operand, alpha: float = 1) -> Tensor:
    """`input`, changed."""
    return _changed(at, e.Add, input, other, "add")


@lowers("update.Sub", kind="Sub", call="popops.mapInPlace")
def subtract_in_place(at: Building, input: Tensor, other: Operand, alpha: float = 1) -> Tensor:
    """`input`, changed."""
    return _changed(at, e.Sub, input, other, "sub")


def _changed(at: Building, make: Callable[..., e.Expr], input: Tensor, other: Operand, name: str) -> Tensor:
    if isinstance(other, Tensor):
        popops.mapInPlace(at.graph, make(e._1, e._2), [input, other], at.program, at.name(name))
    else:
        term = e.Const(other, input.elementType())
        popops.mapInPlace(at.graph, make(e._1, term), [input], at.program, at.name(name))
    return input


def with_updates_in_place(program: Program, tensors: Mapping[int, Tensor]) -> Iterator[Operator]:
    """The operators of a program, one after another: the tensors of all before are in `tensors` when one is taken.
    Those that may change a weight do."""
    weights = {one.name: one.value for one in program.weights}
    targets = {value.number: weights[name] for name, value in program.updates if name in weights}
    last = _last_reads(program)
    for place, operator in enumerate(program.operators):
        if _is_update(operator, targets):
            old, other = operator.arguments["self"], operator.arguments["other"]
            live = {number for number, read in last.items() if read > place}
            live |= {other.number} if isinstance(other, Value) else set()  # it may be the weight, turned
            if not _shares(old.number, live, tensors):
                yield replace(operator, name=_RULES[operator.name])
                continue
        yield operator


def _is_update(operator: Operator, targets: Mapping[int, Value]) -> bool:
    """Whether an operator adds to a weight, or subtracts from it, what becomes its value after the step."""
    if operator.name not in _RULES or operator.recorded is not None or operator.arguments.get("alpha", 1) != 1:
        return False
    [result], old, other = operator.results, operator.arguments["self"], operator.arguments["other"]
    if not isinstance(old, Value) or targets.get(result.number) != old or old.dtype not in _TYPES:
        return False
    return (result.shape, result.dtype) == (old.shape, old.dtype) and (
        not isinstance(other, Value) or other.dtype == old.dtype
    )


def _last_reads(program: Program) -> dict[int, int]:
    """The place of the last operator that reads each value; behind all for what the step gives."""
    last = {value.number: place for place, operator in enumerate(program.operators) for value in operator.operands()}
    end = len(program.operators)
    last.update({value.number: end for value in program.results()})
    last.update({value.number: end for _, value in program.updates})
    return last


def _shares(number: int, others: set[int], tensors: Mapping[int, Tensor]) -> bool:
    """Whether one of these tensors, or the tensor itself under another name, lies in the same variables."""
    if number in others:
        return True
    if number not in tensors:
        return False
    own = set(tensors[number].view.variables())
    return any(own & set(tensors[one].view.variables()) for one in others if one in tensors)
