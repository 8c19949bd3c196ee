"""Vertex types of reductions, as PopLibs chooses them by layout.

StridedReduce            runs of outputs; each term of a run is a row of partials, the rows a stride apart (or two,
                         by turns)
Reduce, DEFAULT          the same with rows anywhere ("rows")
ContinuousReduce         several outputs whose terms are one run of memory, output after output
Reduce, DEFAULT          several outputs, each term run somewhere
Reduce, SCALAR_OUTPUT_SINGLE_INPUT   one output, its terms one run
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import FLOAT, UNSIGNED_SHORT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType, segment_sums
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import reduction as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.reductions.params import combination_of, reduce_array, scaled_and_updated
from simulator.poplibs.popops.vertices import row_lengths

Kind = Literal["strided", "rows", "continuous", "generic", "single"]
_SPECIALISATION = {"rows": "DEFAULT", "generic": "DEFAULT", "single": "SCALAR_OUTPUT_SINGLE_INPUT"}
#: State of a StridedReduce beside its pointers.
COUNTS = ("numOutputsM1", "numPartialsM1", "partialsWidth", "numOuterStridesM1", "outerStride")


@dataclass(frozen=True)
class ReduceForm:
    """The properties of a stage's vertices beside their kind. `in_half`: sums of halves are accumulated in half."""

    op: str
    dtype: str
    out_dtype: str
    update: bool = False
    scaled: bool = False
    in_half: bool = False

    def name(self, kind: Kind) -> str:
        base = {"strided": "StridedReduce", "continuous": "ContinuousReduce"}.get(kind, "Reduce")
        accumulated = ",half" if self.in_half else ""
        vertex = combination_of(self.op).vertex
        parts = f"popops::{vertex},{self.dtype},{self.out_dtype}{accumulated},{str(self.update).lower()}"
        if kind in _SPECIALISATION:
            parts += f",popops::ReductionSpecialisation::{_SPECIALISATION[kind]}"
        return f"popops::{'Scaled' if self.scaled else ''}{base}<{parts}>"


@lru_cache(maxsize=512)
def reduce_vertex(form: ReduceForm, kind: Kind) -> VertexType:
    """The vertex type of one kind."""
    listed, by_row = kind in ("strided", "rows", "generic"), kind in ("strided", "rows")

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent, formula = _cycles(form, kind, block, elements)
        count = flop_counts.reduction(form.op, elements["out"], elements["partials"], form.update)
        known: Literal["exact", "guess"] = "exact"
        source = described("7.4", formula)
        if form.scaled or (form.update and kind in ("continuous", "single")):
            known = "guess"
            source += " (a guess: + 1 cycle for each output that is scaled, + 3 for one that is updated)"
            more = int(form.scaled) + 3 * int(form.update and kind in ("continuous", "single"))
            spent = spent + more * elements["out"]
        return BlockCosts(spent, known, source, flop_counts.typed(count, form.dtype))

    def compute(vertex: Any) -> None:
        outputs = len(vertex.out)
        if by_row:
            result = reduce_array(form.op, _accumulated(np.stack(vertex.partials), form), 0, form.in_half)
        elif kind == "generic":
            result = np.array(
                [reduce_array(form.op, _accumulated(np.asarray(p), form), 0, form.in_half) for p in vertex.partials]
            )
        else:
            partials = _accumulated(np.asarray(vertex.partials), form).reshape(outputs, -1)
            result = reduce_array(form.op, partials, 1, form.in_half)
        scale = np.asarray(vertex.k) if form.scaled else None
        before = np.asarray(vertex.out) if form.update else None
        store(vertex.out, scaled_and_updated(result, scale, before).reshape(outputs))

    fields = [
        FieldSpec("out", "vector", "inout" if form.update else "out", None, "short_span", 8),
        FieldSpec(
            "partials",
            "vectors" if listed else "vector",
            "in",
            None,
            "strided" if kind == "strided" else "short_span",
            8,
        ),
    ]
    if kind == "strided":
        fields += [FieldSpec(name, "value", "", UNSIGNED_SHORT) for name in COUNTS]
    if form.scaled:
        fields.append(FieldSpec("k", "vector", "in", FLOAT, "one_ptr", 4))
    return VertexType(form.name(kind), "worker", tuple(fields), costs, compute, doc=f"{form.op} of partials")


def _accumulated(partials: Any, form: ReduceForm) -> Any:
    return partials if form.in_half else wide(partials)


def _cycles(
    form: ReduceForm, kind: Kind, block: VertexBlock, elements: Mapping[str, Int64Array]
) -> tuple[Int64Array, Any]:
    op, dtype, outputs, partials = form.op, form.dtype, elements["out"], elements["partials"]
    if kind == "strided":
        terms = partials // np.maximum(outputs, 1)
        spent = cycles.strided(op, dtype, outputs, terms, out_dtype=form.out_dtype, update=form.update)
        return spent, cycles.strided
    edges = block.edges["partials"]
    if kind == "rows":
        assert edges.offsets is not None
        count = np.diff(edges.offsets)
        base = cycles.GENERIC_COMPILED_BASE if combination_of(op).compiled else cycles.GENERIC_BASE
        spent = cycles.generic(op, dtype, outputs, count, count, out_dtype=form.out_dtype, update=form.update)
        return base + spent, cycles.generic
    if kind == "continuous":
        return cycles.continuous(op, dtype, outputs, partials // np.maximum(outputs, 1)), cycles.continuous
    if kind == "single":
        return cycles.single_output(op, dtype, partials, form.out_dtype), cycles.single_output
    assert edges.offsets is not None
    each = cycles.generic(op, dtype, 1, 1, row_lengths(edges), out_dtype=form.out_dtype, update=form.update)
    base = cycles.GENERIC_COMPILED_BASE if combination_of(op).compiled else cycles.GENERIC_BASE
    return base + segment_sums(each, edges.offsets), cycles.generic
