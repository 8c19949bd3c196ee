"""Embeddings: rows of a table by index through popops.multiSlice, gradients through multiUpdateAdd."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.shaping.indexing import rows_at, write_rows
from simulator.poplar import INT, Tensor
from simulator.poplibs import popops


def _create_table(at: Building, *, weight: Value, indices: Value, **_: Any) -> Tensor:
    shape = list(weight.shape)
    return popops.createSliceableTensor(at.graph, element_type(weight.dtype), shape, [0], [1], 0, at.name("weight"))


@lowers(
    "aten.embedding.default",
    kind="Gather",
    call="popops.multiSlice, multiUpdateAdd",
    own_backward=True,
    weight=_create_table,
)
def embedding(
    at: Building, weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    """Rows for `padding_idx` give the table no gradient. Raises `poplar_error` for gradients by frequency."""
    if scale_grad_by_freq:
        raise poplar_error("An embedding with scale_grad_by_freq=True cannot be lowered to the IPU; leave it out.")
    flat, width = indices.flatten(), weight.dim(1)
    out = rows_at(at, weight, flat).reshape([*indices.shape(), width])

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        rows = flat
        if padding_idx >= 0:
            # An index out of range adds to no row.
            is_padding = popops.eq(at.graph, flat, padding_idx, at.program, at.name("isPadding"))
            beyond = at.constant(INT, [1], weight.dim(0), "beyond").broadcast(flat.numElements(), 0)
            rows = popops.select(at.graph, beyond, flat, is_padding, at.program, at.name("padding"))
        zeros = at.graph.clone(weight, at.name("weightGrad"))
        popops.zero(at.graph, zeros, at.program, at.name("weightGrad"))
        slope = slopes[0].reshape([flat.numElements(), width])
        return {"weight": write_rows(at, zeros, rows, slope, add=True)}

    return out, backward
