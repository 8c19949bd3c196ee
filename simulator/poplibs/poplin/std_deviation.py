"""The inverse standard deviation of every channel, from mean and mean square."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import elementwise as cycles
from simulator.machine.cycles.described import described_as
from simulator.poplibs.placement import Forms, place_elementwise
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.popops.vertices import row_lengths, sum_rows
from simulator.poplibs.poputil import clone_mapped
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def inverse_std_deviation(
    graph: Graph,
    mean: Tensor,
    power: Tensor,
    type_: Type,
    eps: float,
    scale: float,
    stable: bool,
    prog: Sequence,
    name: Any,
) -> Tensor:
    """1 / sqrt(scale * (power - mean ** 2 + eps)), or without the mean where `power` is of what is left of it."""
    out = clone_mapped(graph, mean, type_, (name, "iStdDev"))
    dtypes = (short_name(mean.elementType()), short_name(power.elementType()), short_name(type_))
    forms = Forms(_vertex(dtypes, stable, True), _vertex(dtypes, stable, False))
    cs = graph.addComputeSet((name, "iStdDev"))
    values = {"eps": eps, "scaleVar": scale}
    place_elementwise(graph, cs, forms, ("iStdDev", out), {"mean": mean, "power": power}, {}, values)
    attributes = {**values, "stable": stable}
    prog.add(LibraryGroup([Execute(cs)], "poplin.inverseStdDeviation", [mean, power], [out], attributes))
    return out


def deviation(mean: AnyArray, power: AnyArray, eps: float, scale: float, stable: bool) -> AnyArray:
    """The formula in float32."""
    variance = wide(power) - (0 if stable else wide(mean) * wide(mean))
    spread = np.float32(scale) * (variance + np.float32(eps))
    return np.asarray(np.sqrt(np.float32(1) / spread))


@register("poplin.inverseStdDeviation")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    how = (attributes["eps"], attributes["scaleVar"], attributes["stable"])
    store(outputs[0], deviation(inputs[0], inputs[1], *how))


@lru_cache(maxsize=32)
def _vertex(dtypes: tuple[str, str, str], stable: bool, flat: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["iStdDev"]
        if flat:
            rows = cycles.inverse_std_deviation_row(n)
        else:
            edges = block.edges["iStdDev"]
            rows = sum_rows(cycles.inverse_std_deviation_row(row_lengths(edges)), edges)
        source = described_as("PopLibs' public cycle estimators of poplin", cycles.inverse_std_deviation_row)
        flops = flop_counts.inverse_std_deviation(n)
        return BlockCosts(cycles.INVERSE_STD_DEVIATION_BASE + rows, "exact", source, flops)

    def compute(vertex: Any) -> None:
        columns = (vertex.mean, vertex.power, vertex.iStdDev)
        for mean, power, out in zip(*([[c] for c in columns] if flat else columns), strict=True):
            how = (float(vertex.eps), float(vertex.scaleVar), stable)
            store(out, deviation(np.asarray(mean), np.asarray(power), *how))

    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    fields = (
        FieldSpec("mean", kind, "in", None, "span", 8),
        FieldSpec("power", kind, "in", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("iStdDev", kind, "out", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec("eps", "value", "", FLOAT),
        FieldSpec("scaleVar", "value", "", FLOAT),
    )
    name = f"poplin::InverseStdDeviation<{','.join(dtypes)},{str(stable).lower()}>"
    return VertexType(name, "worker", fields, costs, compute, doc="1 / standard deviation of channels")
