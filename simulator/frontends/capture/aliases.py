"""Operators that may give an operand itself, which their schemas do not say: torch.export loses what forward writes to
it afterwards. They become views before the graph is made functional."""

from __future__ import annotations

import operator
from typing import Any

import torch

_aten = torch.ops.aten
_GIVE_THEIR_OPERAND = frozenset({_aten.type_as.default, _aten.sum_to_size.default}) | {
    getattr(_aten, name).default for name in dir(_aten) if name.startswith("_cast_")
}


def keep_aliases(exported: Any) -> None:
    """Replace these operators in an exported program before it is decomposed."""
    graph = exported.graph
    for node in list(graph.nodes):
        if node.target is _aten.broadcast_tensors.default:
            _broadcast_by_views(graph, node)
        elif (node.target in _GIVE_THEIR_OPERAND and _is_operand(node)) or _is_dropout_of_inference(node):
            node.target, node.args, node.kwargs = _aten.alias.default, (node.args[0],), {}


def _broadcast_by_views(graph: Any, node: Any) -> None:
    for part in list(node.users):
        if part.target is operator.getitem:
            given = node.args[0][part.args[1]]
            part.target, part.args = _aten.expand.default, (given, list(part.meta["val"].shape))
            part.meta = {**node.meta, "val": part.meta["val"]}
    if not node.users:
        graph.erase_node(node)


def _is_operand(node: Any) -> bool:
    made, given = node.meta["val"], node.args[0].meta["val"]
    return made.shape == given.shape and made.dtype == given.dtype


def _is_dropout_of_inference(node: Any) -> bool:
    return node.target is _aten.dropout.default and node.args[2] is False
