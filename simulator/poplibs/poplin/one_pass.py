"""Convolve and Reduce: what a product does once, or once in every serial pass."""

from __future__ import annotations

from simulator.base.types import Type
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Execute, Program
from simulator.graph.tensor import Tensor
from simulator.poplibs.poplin import convolve
from simulator.poplibs.poplin.options import MatMulOptions
from simulator.poplibs.poplin.reduce_partials import Reduction, add_reduce
from simulator.poplibs.poplin.shares import Shares
from simulator.programming.graph import Graph


def add_pass(
    graph: Graph, shares: Shares, acts: Tensor, weights: Tensor, type_: Type, name: DebugInfo, options: MatMulOptions
) -> tuple[list[Program], Tensor]:
    """Convolve and Reduce of one pass: its programs and its [conv groups, out groups, field, block] result."""
    alone = shares.plan.in_split == 1 and convolve.partials_type(shares) is type_
    partials = convolve.partials_variable(graph, shares, name, "partialReduceOut" if alone else "partials")
    cs = convolve.add_convolve(graph, shares, acts, weights, partials, name, options.wide_weight_load)
    graph.store.compute_set_terms[cs.id] = shares.plan.cost_terms()
    how = Reduction(options.multi_stage_reduce, options.fast_reduce)
    added, out = add_reduce(graph, shares, partials, type_, name, how)
    return [Execute(cs), *added], out
