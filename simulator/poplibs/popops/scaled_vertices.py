"""Vertices of scaled addition: A ± scale * B, and scaleA * A ± scaleB * B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import FLOAT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine import launch
from simulator.machine.cycles import scaled as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows


@dataclass(frozen=True)
class ScaledForm:
    """The properties of a vertex. `scale`: type of the scales; `both`: A is scaled too; `one_minus`: by 1 - scaleA;
    `constant`: scales are vertex state; `fast`: the operands must be in different memory elements."""

    dtypes: tuple[str, str]
    scale: str
    subtract: bool
    constant: bool
    fast: bool
    both: bool = False
    one_minus: bool = False

    def name(self, flat: bool) -> str:
        if self.both:
            verb = "XMinusaXPlusbY" if self.one_minus else ("aXMinusbY" if self.subtract else "aXPlusbY")
        else:
            verb = "ScaledSubtract" if self.subtract else "ScaledAdd"
        types = (self.dtypes[0], self.scale) if self.both else (*self.dtypes, self.scale)
        flags = f"{str(self.constant).lower()},{str(self.fast).lower()}"
        return f"popops::{verb}{'Supervisor' if flat else '2D'}<{','.join(types)},{flags}>"


def accumulate(a: AnyArray, b: AnyArray, scale: Any, out: AnyArray, subtract: bool) -> None:
    """out = a ± scale * b, halves in float32, rounded once."""
    if out.dtype.kind in "iu":
        product = b * np.asarray(scale).reshape(()).astype(out.dtype)
        out[...] = a - product if subtract else a + product
        return
    product = wide(b) * np.asarray(scale, np.float32).reshape(())
    if out.dtype == np.float32:
        (np.subtract if subtract else np.add)(a, product, out=out)
    else:
        store(out, wide(a) - product if subtract else wide(a) + product)


def combine(
    a: AnyArray, scale_a: Any, b: AnyArray, scale_b: Any, out: AnyArray, subtract: bool, one_minus: bool
) -> None:
    """out = scaleA * a ± scaleB * b, or with 1 - scaleA for `one_minus`; halves in float32, rounded once."""
    first, second = (np.asarray(s, np.float32).reshape(()) for s in (scale_a, scale_b))
    own = wide(a) * (np.float32(1) - first if one_minus else first)
    other = wide(b) * second
    store(out, own - other if subtract else own + other)


@lru_cache(maxsize=256)
def scaled_vertex(form: ScaledForm, flat: bool) -> VertexType:
    """The vertex of a form, over one run (flat: a supervisor vertex) or over rows."""

    def compute(vertex: Any) -> None:
        outs, others = ([vertex.A], [vertex.B]) if flat else (vertex.A, vertex.B)
        for out, b in zip(outs, others, strict=True):
            if form.both:
                combine(out, vertex.scaleA, b, vertex.scaleB, out, form.subtract, form.one_minus)
            else:
                accumulate(out, b, vertex.scaleB, out, form.subtract)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        return _costs(form, flat, block, elements, target)

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    scales = ("scaleA", "scaleB") if form.both else ("scaleB",)
    fields = (
        FieldSpec("A", kind, "inout", None, "span", 8),
        FieldSpec("B", kind, "in", None, "one_ptr", 8, outer="one_ptr"),
        *[
            FieldSpec(s, "value", "", FLOAT) if form.constant else FieldSpec(s, "scalar", "in", None, "one_ptr")
            for s in scales
        ],
    )
    apart = (("A", "B"),) if form.fast else ()
    doc = "scaleA * A ± scaleB * B" if form.both else "A ± scale * B"
    return VertexType(form.name(flat), "supervisor" if flat else "worker", fields, costs, compute, doc=doc, apart=apart)


def _costs(
    form: ScaledForm, flat: bool, block: VertexBlock, elements: Mapping[str, Int64Array], target: Any
) -> BlockCosts:
    n = elements["A"]
    flops = flop_counts.typed((3 if form.both else flop_counts.SCALED_ADD) * n, form.dtypes[0])
    if form.both:
        return _combined_costs(form, flat, block, n, flops)
    source = described("7.2", cycles.scaled_add if flat else cycles.scaled_2d_row)
    # A scale outside the tolerance of half is applied in float, as for operands of different types.
    dtypes = form.dtypes
    exact = dtypes != ("half", "half") or form.scale == "half" or not form.constant
    dtypes = dtypes if exact else ("half", "mixed")
    known: Literal["exact", "guess"] = "exact" if exact else "guess"
    if flat:
        # Mk1 packs the pointers to A and B into 16 bits and must unpack them first.
        packed = target.chip.name == "ipu1"
        spent = cycles.scaled_add(dtypes, n, subtract=form.subtract, scaled_pointers=packed, constrained=form.fast)
        return BlockCosts(spent, known, source, flops, np.full_like(spent, launch.SCALED_ADD))
    edges = block.edges["A"]
    body = cycles.scaled_2d_row(form.dtypes[0], row_lengths(edges), constrained=form.fast)
    spent = cycles.scaled_2d_base(form.dtypes[0], form.subtract) + sum_rows(body, edges)
    return BlockCosts(spent, known, source, flops)


def _combined_costs(form: ScaledForm, flat: bool, block: VertexBlock, n: Int64Array, flops: Int64Array) -> BlockCosts:
    """The cycles of ScaledAdd2D, as a guess: sums of rows with both operands scaled have no published formula."""
    dtype = form.dtypes[0]
    if flat:
        spent = cycles.scaled_sum(dtype, n)
        source = described("7.2", cycles.scaled_sum)
        return BlockCosts(spent, "exact", source, flops, np.full_like(spent, launch.SCALED_ADD))
    edges = block.edges["A"]
    spent = cycles.scaled_2d_base(dtype) + sum_rows(cycles.scaled_2d_row(dtype, row_lengths(edges)), edges)
    return BlockCosts(spent, "guess", described("7.2", cycles.scaled_2d_row), flops)
