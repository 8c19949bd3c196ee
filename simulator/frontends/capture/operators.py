"""Nodes of a torch.fx graph as operators: one pass in order, with schema defaults filled in."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Argument, Frame, Operator, Place, Value
from simulator.frontends.lowering.element_types import NARROWED, is_known


class CaptureError(poplar_error):
    """The module cannot be captured as a graph of operators."""


@dataclass
class Numbering:
    """Values of one program: each fake tensor of the graph gets the next number."""

    _next: itertools.count[int] = field(default_factory=itertools.count)

    def value(self, tensor: Any) -> Value:
        name = dtype_name(tensor.dtype)
        if not is_known(name):
            raise CaptureError(
                f"A tensor of type {tensor.dtype} cannot be on the IPU; convert it to float32, float16 or an integer "
                "type."
            )
        return Value(next(self._next), tuple(int(size) for size in tensor.shape), NARROWED.get(name, name))


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass
class NodeReader:
    """Reads nodes of one graph; `values` has what each node computed: a value, or a tuple of them."""

    numbering: Numbering
    values: dict[Any, Any] = field(default_factory=dict)

    def read(self, nodes: Sequence[Any], place_of: Callable[[Any], Place]) -> list[Operator]:
        """Operators of the call nodes, in their order."""
        operators: list[Operator] = []
        for node in nodes:
            if node.op != "call_function":
                continue
            if node.target is operator.getitem:
                self.values[node] = self.values[node.args[0]][node.args[1]]
                continue
            if not isinstance(node.target, torch._ops.OpOverload):
                raise CaptureError(f"{node.target} is no operator of a graph; {place_of(node).text()}.")
            if str(node.target) not in _ASSERTIONS:
                operators.append(self._operator(node, place_of(node)))
        return operators

    def _operator(self, node: Any, place: Place) -> Operator:
        if "val" not in node.meta:  # an operator of the host's libraries, which torch cannot run on fake tensors
            raise CaptureError(
                f"The operator {node.target} of {place.text()} cannot be lowered to the IPU; write it in "
                "operators that docs/poptorch.md lists, or call it on the host, outside the module."
            )
        made = node.meta["val"]
        several = isinstance(made, tuple | list)
        _check_shapes([one for one in (made if several else [made]) if one is not None], node, place)
        results = tuple(self.numbering.value(one) for one in (made if several else [made]) if one is not None)
        self.values[node] = results if several else results[0]
        return Operator(str(node.target), self._arguments(node), results, place)

    def _arguments(self, node: Any) -> Mapping[str, Argument]:
        named: dict[str, Argument] = {}
        for index, argument in enumerate(node.target._schema.arguments):
            if index < len(node.args) and not argument.kwarg_only:
                given = node.args[index]
            elif argument.name in node.kwargs:
                given = node.kwargs[argument.name]
            else:
                given = argument.default_value
            if argument.name not in _STORAGE:
                named[argument.name] = self._argument(given)
        return named

    def _argument(self, given: Any) -> Argument:
        if isinstance(given, torch.fx.Node):
            return self.values[given]
        if isinstance(given, torch.dtype):
            name = dtype_name(given)
            return NARROWED.get(name, name)
        if isinstance(given, tuple | list):
            return tuple(self._argument(part) for part in given)
        if given is None or isinstance(given, bool | int | float | str):
            return given
        if isinstance(given, torch.SymInt | torch.SymFloat | torch.SymBool):
            raise CaptureError(
                "A shape that depends on data cannot be on the IPU: every shape is fixed when compiling."
            )
        return str(given)


#: what torch.export checks about its own graph: true by construction here
_ASSERTIONS = frozenset({"aten._assert_tensor_metadata.default", "aten._assert_scalar.default"})
#: arguments that say how the host stores a tensor
_STORAGE = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})


def read_place(node: Any, excluded: Sequence[str] = ()) -> Place:
    """The module path, user's line and annotations of a node. `excluded` are parts of file names that are never the
    user's."""
    modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    frames = tuple(_frames(node.meta.get("stack_trace") or ""))
    users = [one for one in frames if is_users(one.file, excluded)]
    innermost = users[-1] if users else Frame("", 0, "")
    custom = node.meta.get("custom") or {}
    notes = {key: value for key, value in custom.items() if not key.startswith("_torch")}
    return Place(modules[-1] if modules else "", innermost.file, innermost.line, frames, notes)


def _frames(trace: str) -> list[Frame]:
    frames = []
    for line in trace.splitlines():
        stripped = line.strip()
        if stripped.startswith('File "') and '", line ' in stripped:
            file, _, rest = stripped[6:].partition('", line ')
            number, _, function = rest.partition(", in ")
            frames.append(Frame(file, int(number), function))
    return frames


def is_users(file: str, excluded: Sequence[str]) -> bool:
    """Whether a file is the user's: neither torch's nor one whose name has an `excluded` part."""
    own = f"{torch.__path__[0]}/"
    return not file.startswith(own) and not any(part in file for part in excluded)


def _check_shapes(tensors: Sequence[Any], node: Any, place: Place) -> None:
    for one in tensors:
        if not isinstance(one, torch.Tensor) or any(isinstance(size, torch.SymInt) for size in one.shape):
            raise CaptureError(
                f"The result of {node.target} has a shape or a number that depends on data, which cannot be on the "
                f"IPU: every shape is fixed when compiling; {place.text()}."
            )
