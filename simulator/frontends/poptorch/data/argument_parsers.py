"""Classes of the user's whose objects hold tensors, as arguments and results of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from simulator.frontends.poptorch.errors import Error


class ICustomArgParser:
    """Takes the tensors out of an object and makes another one of new tensors. Both methods see them in one order."""

    def yieldTensors(self, struct: Any) -> Iterator[Any]:
        """The tensors of `struct`, one after another."""
        raise NotImplementedError(f"{type(self).__name__} has no yieldTensors(struct); write it.")

    def reconstruct(self, original_structure: Any, tensor_iterator: Iterator[Any]) -> Any:
        """An object like `original_structure` with the tensors that the iterator gives."""
        raise NotImplementedError(f"{type(self).__name__} has no reconstruct(struct, iterator); write it.")


class _Form:
    """The object that others are made like. All of one class are alike: shapes of tensors are compared elsewhere."""

    def __init__(self, parser: ICustomArgParser, original: Any) -> None:
        self.parser, self.original = parser, original

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and type(self.original) is type(other.original)

    def __hash__(self) -> int:
        return hash(type(self.original))

    def __deepcopy__(self, memo: dict[int, Any]) -> _Form:
        """The form itself: tensors of a graph that is being traced cannot be copied."""
        return self


_parsers: dict[type, ICustomArgParser] = {}


def registerCustomArgParser(type: type, parser: ICustomArgParser) -> None:
    """Let `parser` handle objects of a class, which may then be arguments and results of a model's forward. The last
    parser of a class counts. Raises Error for another parser."""
    if not isinstance(parser, ICustomArgParser):
        raise Error("registerCustomArgParser takes a class and an instance of a poptorch.ICustomArgParser.")
    known = type in _parsers
    _parsers[type] = parser
    if known:
        return

    def flatten(struct: Any) -> tuple[list[Any], Any]:
        chosen = _parsers[type]
        return list(chosen.yieldTensors(struct)), _Form(chosen, struct)

    def unflatten(tensors: Any, form: Any) -> Any:
        return form.parser.reconstruct(form.original, iter(tensors))

    def flatten_with_keys(struct: Any) -> tuple[list[tuple[Any, Any]], Any]:
        tensors, form = flatten(struct)
        return [(torch.utils._pytree.SequenceKey(place), one) for place, one in enumerate(tensors)], form

    torch.utils._pytree.register_pytree_node(
        type,
        flatten,
        unflatten,
        serialized_type_name=f"{type.__module__}.{type.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )
