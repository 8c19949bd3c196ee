"""An expression as a chain of PopLibs' vertices, one compute set for each operator.

A chain serves where no code is generated (`generated`): operands of different shapes, or a single operator. An operator
whose first argument is an intermediate result of the right shape and type works in place on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.base.types import BOOL, type_named
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Copy
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops import elementwise, operators
from simulator.poplibs.popops.casting import cast
from simulator.poplibs.popops.expr.coding import Code
from simulator.poplibs.popops.ternary import ternary
from simulator.poplibs.poputil.broadcasting import broadcastToMatch
from simulator.poplibs.poputil.copies import duplicate


@dataclass(frozen=True)
class _Value:
    tensor: Tensor
    temporary: bool  #: made by this chain, which may overwrite it


@dataclass(frozen=True)
class Chain:
    """Builds the programs of one expression on `tensors`."""

    graph: Graph
    tensors: Sequence[Tensor]
    prog: ProgramSequence
    call: DebugInfo
    vector_broadcasts: bool = True

    def mapped(self, code: Code) -> Tensor:
        """The result as a new tensor."""
        value = self._value(code)
        if value.temporary:
            return value.tensor
        return duplicate(self.graph, value.tensor, self.prog, (self.call, "Out"))

    def mapped_in_place(self, code: Code) -> None:
        """The result written to the first tensor."""
        target = self.tensors[0]
        if code[0] == "op" and code[2][0] == ("in", 0, code[2][0][-1]) and code[-1] == code[2][0][-1]:
            arguments = [_Value(target, True), *[self._value(a) for a in code[2][1:]]]
            if all(_fits(a.tensor, target) for a in arguments):
                self._operator(code, arguments)
                return
        value = self._value(code).tensor
        if value != target:
            whole = broadcastToMatch(value, target.shape()) if value.shape() != target.shape() else value
            self.prog.add(Copy(whole, target, False, (self.call, "inPlace")))

    def _value(self, code: Code) -> _Value:
        if code[0] == "in":
            return _Value(self.tensors[code[1]], False)
        if code[0] == "const":
            constant = self.graph.addConstant(type_named(code[2]), [], code[1], (self.call, "const"))
            self.graph.setTileMapping(constant, 0)
            return _Value(constant, False)
        if code[0] == "cast":
            inner = self._value(code[1])
            if inner.tensor.elementType().name == code[2]:
                return inner
            return _Value(cast(self.graph, inner.tensor, type_named(code[2]), self.prog, self.call), True)
        return self._operator(code, [self._value(a) for a in code[2]])

    def _operator(self, code: Code, arguments: list[_Value]) -> _Value:
        name, first = code[1], arguments[0]
        tensors = [a.tensor for a in arguments]
        in_place = first.temporary and first.tensor.elementType().name == code[-1]
        in_place = in_place and (code[-1] != BOOL.name or name in ("LOGICAL_NOT", "LOGICAL_AND", "LOGICAL_OR"))
        in_place = in_place and all(_fits(t, first.tensor) for t in tensors)
        if len(tensors) == 1:
            out = elementwise.unary(self.graph, name, tensors[0], self.prog, self.call, in_place)
        elif len(tensors) == 2:
            out = self._binary(name, tensors, in_place)
        else:
            out = ternary(self.graph, name, (tensors[0], tensors[1], tensors[2]), self.prog, self.call, in_place)
        return _Value(out, True)

    def _binary(self, name: str, tensors: list[Tensor], in_place: bool) -> Tensor:
        if name in operators.ONLY_WITH_SCALAR and tensors[1].numElements() > 1:
            return self._by_other_operators(name, tensors, in_place)
        return elementwise.binary(
            self.graph, name, tensors[0], tensors[1], self.prog, self.call, in_place, self.vector_broadcasts
        )

    def _by_other_operators(self, name: str, tensors: list[Tensor], in_place: bool) -> Tensor:
        """Variance and inverse standard deviation with an epsilon tensor, in terms of other operators."""
        graph, prog, call = self.graph, self.prog, self.call
        if name == "VARIANCE_TO_INV_STD_DEV":
            out = elementwise.binary(graph, "ADD", tensors[0], tensors[1], prog, call, in_place)
            elementwise.unary(graph, "RSQRT", out, prog, call, True)
            return out
        out = elementwise.unary(graph, "SQUARE", tensors[0], prog, call, in_place)
        elementwise.unary(graph, "INVERSE", out, prog, call, True)
        elementwise.binary(graph, "SUBTRACT", out, tensors[1], prog, call, True)
        return out


def _fits(tensor: Tensor, target: Tensor) -> bool:
    """Whether a tensor broadcasts into the shape of the target."""
    have, want = tensor.shape(), target.shape()
    return len(have) <= len(want) and all(h in (1, w) for h, w in zip(reversed(have), reversed(want), strict=False))
