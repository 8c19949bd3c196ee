"""Pieces of an operator and of its gradient, recorded from torch's own differentiation. A memo table by signature.

The operator runs on fake tensors under make_fx together with autograd; a second run makes in-place writes functional.
What has a rule stays whole, torch's decompositions split the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from simulator.frontends.capture.operators import CaptureError, NodeReader, Numbering
from simulator.frontends.captured import Operator, Place, Recorded, Value


@dataclass
class GradientRecorder:
    """Records each operator of a program that has no rule of its own. `has_rule` tells which pieces stay whole."""

    numbering: Numbering
    has_rule: Callable[[str], bool]
    _graphs: dict[Any, Any] = field(default_factory=dict)
    _table: dict[Any, Any] = field(default_factory=dict)

    def record(self, node: Any, read: Operator, with_gradient: set[int]) -> Recorded:
        """The pieces of a node which was read as `read`; gradients for those operands that need one."""
        tensors = _tensor_arguments(node)
        operands = list(read.operands())
        wanted = [one.number in with_gradient and one.is_floating for one in operands]
        try:
            graph = self._graph(node, tensors, wanted)
        except RuntimeError as error:
            first = str(error).strip().splitlines()[0]
            raise CaptureError(
                f"The gradient of {read.name} cannot be captured ({first}); {read.place.text()}."
            ) from error
        reader = NodeReader(self.numbering)
        holders = [one for one in graph.graph.nodes if one.op == "placeholder"]
        for holder, operand in zip(holders, operands, strict=False):
            reader.values[holder] = operand
        slopes: list[Value | None] = []
        given = iter(holders[len(operands) :])
        for result in read.results:
            holder = next(given) if any(wanted) and result.is_floating else None
            slopes.append(None if holder is None else self.numbering.value(holder.meta["val"]))
            if holder is not None:
                reader.values[holder] = slopes[-1]
        return self._split(graph, reader, read, operands, wanted, slopes)

    def _split(
        self,
        graph: Any,
        reader: NodeReader,
        read: Operator,
        operands: Sequence[Value],
        wanted: Sequence[bool],
        slopes: Sequence[Value | None],
    ) -> Recorded:
        """What the results need is the forward part; the rest goes back, so that it does not live long."""
        nodes = list(graph.graph.nodes)
        outs = nodes[-1].args[0]
        count = len(read.results)
        needed = _ancestors(outs[:count])
        forward = [node for node in nodes if node in needed]
        backward = [node for node in nodes if node not in needed]
        place = read.place

        def at(_: Any) -> Place:
            return place

        first = reader.read(forward, at)
        second = reader.read(backward, at)
        gradients = [
            (operand, reader.values[out])
            for operand, out in zip(
                [one for one, is_wanted in zip(operands, wanted, strict=True) if is_wanted], outs[count:], strict=True
            )
            if out is not None
        ]
        results = tuple(reader.values[out] for out in outs[:count])
        return Recorded(tuple(first), results, tuple(second), tuple(slopes), tuple(gradients))

    def _graph(self, node: Any, tensors: Sequence[Any], wanted: Sequence[bool]) -> Any:
        key = (
            str(node.target),
            tuple((tuple(one.shape), one.dtype) for one in tensors),
            repr(_without_nodes(node.args)),
            repr(_without_nodes(node.kwargs)),
            tuple(wanted),
        )
        if key not in self._graphs:
            self._graphs[key] = self._trace(node, tensors, wanted)
        return self._graphs[key]

    def _decompositions(self) -> dict[Any, Any]:
        if not self._table:
            known = core_aten_decompositions()
            self._table = {one: rule for one, rule in known.items() if not self.has_rule(str(one))}
        return self._table

    def _trace(self, node: Any, tensors: Sequence[Any], wanted: Sequence[bool]) -> Any:
        def joint(inputs: Any, slopes: Any) -> Any:
            made = _call(node, inputs)
            outs = list(made) if isinstance(made, tuple | list) else [made]
            if not any(wanted):
                return outs
            live = [one for one in outs if one.is_floating_point()]
            sources = [one for one, is_wanted in zip(inputs, wanted, strict=True) if is_wanted]
            pairs = [(one, slope) for one, slope in zip(live, slopes, strict=True) if one.requires_grad]
            if not pairs:
                return [*outs, *(None for _ in sources)]
            given = torch.autograd.grad(
                [one for one, _ in pairs], sources, [slope for _, slope in pairs], allow_unused=True
            )
            return [*outs, *given]

        with FakeTensorMode(), torch.enable_grad():
            fresh = [torch.empty(one.shape, dtype=one.dtype) for one in tensors]
            made = _call(node, fresh)
            outs = list(made) if isinstance(made, tuple | list) else [made]
            slopes = [torch.empty(one.shape, dtype=one.dtype) for one in outs if one.is_floating_point()]
            slopes = slopes if any(wanted) else []
            asked = [one.requires_grad_() if is_wanted else one for one, is_wanted in zip(fresh, wanted, strict=True)]
            traced = make_fx(joint, decomposition_table=self._decompositions())(asked, slopes)
            plain = [one.detach() for one in asked]
            functional = make_fx(torch.func.functionalize(traced, remove="mutations"))(plain, slopes)
        functional.graph.eliminate_dead_code()
        return functional


def _call(node: Any, tensors: Sequence[Any]) -> Any:
    """Call a node's operator on other tensors."""
    given = iter(tensors)

    def replaced(argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return next(given)
        if isinstance(argument, tuple | list):
            return type(argument)([replaced(part) for part in argument])
        return argument

    positional = [replaced(one) for one in node.args]
    named = {name: replaced(one) for name, one in node.kwargs.items()}
    return node.target(*positional, **named)


def _tensor_arguments(node: Any) -> list[Any]:
    """Fake tensors of the arguments in the order of the schema, which is that of args and then kwargs."""
    found: list[Any] = []

    def collect(argument: Any) -> None:
        if isinstance(argument, torch.fx.Node):
            found.append(argument.meta["val"])
        elif isinstance(argument, tuple | list):
            for part in argument:
                collect(part)

    for one in (*node.args, *node.kwargs.values()):
        collect(one)
    return found


def _without_nodes(argument: Any) -> Any:
    if isinstance(argument, torch.fx.Node):
        return "tensor"
    if isinstance(argument, tuple | list):
        return [_without_nodes(part) for part in argument]
    if isinstance(argument, dict):
        return {name: _without_nodes(part) for name, part in argument.items()}
    return argument


def _ancestors(nodes: Sequence[Any]) -> set[Any]:
    reached: set[Any] = set()
    waiting = [one for one in nodes if one is not None]
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting.extend(node.all_input_nodes)
    return reached
