"""Dropouts that torch.export would split into draws and arithmetic: they stay whole, as operators "popvision::...", for
dropout is identity in inference whatever the module's mode, and its gradient draws the same mask."""

from __future__ import annotations

from typing import Any

import torch

_SCHEMA = "(Tensor input, float p, bool train) -> Tensor"
_WHOLE: dict[Any, Any] = {}


def _define(name: str) -> None:
    aten = getattr(torch.ops.aten, name).default

    def run(input: Any, p: float, train: bool) -> Any:
        made = aten(input, p, train)
        return made.clone() if made is input else made

    operator = torch.library.custom_op(f"popvision::{name}", run, mutates_args=(), schema=_SCHEMA)
    operator.register_fake(lambda input, p, train: torch.empty_like(input))
    _WHOLE[aten] = getattr(torch.ops.popvision, name).default


for _name in ("alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
    _define(_name)


def keep_dropouts(exported: Any) -> None:
    """Replace these dropouts in an exported program before it is decomposed."""
    for node in exported.graph.nodes:
        node.target = _WHOLE.get(node.target, node.target)
