"""Arguments and results of a model: the user's tensors cut into micro-batches, and put together again."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree as pytree

from simulator.frontends.lowering.lowered import OutputStream
from simulator.frontends.poptorch.errors import Error


@dataclass(frozen=True)
class BoundArguments:
    """A call's arguments: their leaves in order, the structure and the names of the tensors among them."""

    leaves: tuple[Any, ...]
    structure: Any
    names: tuple[str, ...]  #: of each leaf, for messages

    def tensors(self) -> list[Any]:
        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def signature(self) -> tuple[Any, ...]:
        """What a program is compiled for: shapes and types of tensors, values of everything else."""
        return tuple(
            (tuple(leaf.shape), leaf.dtype) if isinstance(leaf, torch.Tensor) else ("value", repr(leaf))
            for leaf in self.leaves
        )

    def micro_batch(self, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments of the first of `count` equal parts. Tensors that share memory are copied, as
        the device has each for itself."""
        cut = [self._first(leaf, name, count) for leaf, name in zip(self.leaves, self.names, strict=True)]
        storages = Counter(one.untyped_storage().data_ptr() for one in self.tensors())
        cut = [
            one.clone() if isinstance(one, torch.Tensor) and storages[one.untyped_storage().data_ptr()] > 1 else one
            for one in cut
        ]
        positional, named = pytree.tree_unflatten(cut, self.structure)
        return tuple(positional), dict(named)

    def _first(self, leaf: Any, name: str, count: int) -> Any:
        if not isinstance(leaf, torch.Tensor) or count == 1:
            return leaf
        if leaf.dim() == 0 or leaf.shape[0] % count:
            size = leaf.shape[0] if leaf.dim() else 1
            raise Error(
                f"Invalid batch dimension: In the input {name}, the batch dimension ({size}) must be a multiple of "
                "Options.deviceIterations * Options.replicationFactor * Options.Training.gradientAccumulation = "
                f"{count}."
            )
        return leaf[: leaf.shape[0] // count]


@dataclass(frozen=True)
class _Parameters:
    """The signature of a forward method. `plain`: (structure, names) of calls with tensors alone, which depend only on
    their number and keywords: those of a loop differ in nothing else."""

    signature: inspect.Signature
    plain: dict[tuple[int, tuple[str, ...]], tuple[Any, tuple[str, ...]]] = field(default_factory=dict)


#: of methods by their function, so that a step does not inspect it again
_parameters: WeakKeyDictionary[Any, _Parameters] = WeakKeyDictionary()


def _parameters_of(forward: Any) -> _Parameters:
    function = getattr(forward, "__func__", None)
    if not isinstance(function, FunctionType):
        return _Parameters(inspect.signature(forward))
    known = _parameters.get(function)
    if known is None:
        known = _parameters[function] = _Parameters(inspect.signature(forward))
    return known


def bind(forward: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> BoundArguments:
    """The leaves of a call of `forward`. Raises TypeError as Python does where the arguments do not fit."""
    parameters = _parameters_of(forward)
    leaves = (*arguments, *named.values())
    if not all(type(one) is torch.Tensor for one in leaves):
        return _bound(parameters, arguments, named)
    key = len(arguments), tuple(named)
    if key not in parameters.plain:
        bound = _bound(parameters, arguments, named)
        if len(bound.leaves) != len(leaves) or any(a is not b for a, b in zip(bound.leaves, leaves, strict=True)):
            return bound  # the structure takes them in another order
        parameters.plain[key] = bound.structure, bound.names
    return BoundArguments(leaves, *parameters.plain[key])


def _bound(known: _Parameters, arguments: Sequence[Any], named: Mapping[str, Any]) -> BoundArguments:
    known.signature.bind(*arguments, **named)
    parameters = list(known.signature.parameters)
    pairs, structure = pytree.tree_flatten_with_path((tuple(arguments), dict(named)))
    names = []
    for path, _ in pairs:
        first = path[1]
        index = getattr(first, "idx", None)
        base = parameters[min(index, len(parameters) - 1)] if index is not None else str(getattr(first, "key", first))
        names.append(base + "".join(str(one) for one in path[2:]))
    if any(isinstance(one, PackedSequence) for one in (*arguments, *named.values())):
        raise Error(
            "A packed sequence cannot be an input of the IPU, since its sizes are data; give the padded batch and its "
            "lengths."
        )
    for name, (_, leaf) in zip(names, pairs, strict=True):
        if isinstance(leaf, np.ndarray):
            raise TypeError(f"The input {name} is a numpy.ndarray; give a torch.Tensor (torch.from_numpy makes one).")
    return BoundArguments(tuple(leaf for _, leaf in pairs), structure, tuple(names))


def result_tensor(one: OutputStream, buffer: Any) -> Any:
    """The user's tensor of one output: micro-batches joined along the batch dimension; scalars become a vector, except
    where there is only one."""
    sent = buffer.shape[0]
    tensor = torch.from_numpy(buffer.copy())
    if not one.stream.shape:
        return tensor[0] if sent == 1 else tensor
    return tensor.reshape(sent * one.stream.shape[0], *one.stream.shape[1:])
