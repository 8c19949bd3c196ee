"""What graph, compiler and runtime know of a vertex type, whoever wrote the codelet.

A `VertexType` is made from a Python codelet class (`simulator.codelets.vertex`), by a PopLibs codelet, or from a
compiled C++ source (`simulator.codelets.compiled`). Costs are asked for a whole block at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from simulator.arrays import Int64Array

if TYPE_CHECKING:
    from simulator.codelets.compiled.unit import UnitClass
    from simulator.graph.store import VertexBlock


@dataclass(frozen=True)
class FieldSpec:
    """One field of a vertex.

    kind: "value" (vertex state), "scalar" (an edge to one element), "vector" (an edge to a run of elements),
    "scalars" (Vector of scalar edges), "vectors" (Vector of vector edges, VectorList)."""

    name: str
    kind: Literal["value", "scalar", "vector", "scalars", "vectors"]
    direction: Literal["", "in", "out", "inout"]
    type: Any  #: simulator.base.types.Type, or None where the codelet takes any type
    layout: str = "span"  #: span, short_span, one_ptr, scaled_ptr32/64/128, deltan, deltanelements
    alignment: int = 0  #: bytes
    interleaved: bool = False
    #: "scalars" and "vectors": how the vertex points at its list of edges (span: pointer and count; one_ptr ...)
    outer: str = "span"
    elements: bool = False  #: "value": a vector of state, not one number


@dataclass(frozen=True)
class BlockCosts:
    """Cycles of each vertex of a block: thread cycles for workers, tile cycles for supervisor and multi vertices."""

    cycles: Int64Array
    provenance: Literal["exact", "fitted", "guess"]
    source: str  #: the formula or rule, one line
    flops: Int64Array | None = None
    #: tile cycles that hardware takes to launch each vertex beyond `cycles`; None = as its kind (machine.launch)
    launch: Int64Array | None = None


CostFunction = Callable[["VertexBlock", Mapping[str, Int64Array], Any], BlockCosts]
"""(block, elements per vertex of each edge field, simulator.poplar.Target) -> BlockCosts"""


@dataclass(frozen=True)
class VertexType:
    name: str
    kind: Literal["worker", "supervisor", "multi"]
    fields: tuple[FieldSpec, ...]
    costs: CostFunction
    #: run one vertex: `compute(instance)` where instance has every field as an attribute (ndarrays, scalars)
    compute: Callable[[Any], Any] | None = None
    #: optional: run all vertices of a block at once; see simulator.codelets.vertex for the form of its argument
    compute_batch: Callable[[Any], None] | None = None
    code_bytes: int = -1  #: bytes of code on a tile that holds the type, -1 = not known
    provenance_of_code: str = "unknown"
    doc: str = ""
    #: pairs of fields whose elements must lie in different memory elements, so that one cycle can serve both
    apart: tuple[tuple[str, str], ...] = ()
    constrained: bool = False  #: the program asked for `apart`, so that a graph that cannot keep it is refused
    #: the class of a compiled source; its vertices run in a process of their own
    compiled: UnitClass | None = None
    codelet: Any = None  #: the class of a codelet in Python
    awaits_code: bool = False  #: declared without code, which another source or codelet of the name gives
    fields_by_name: dict[str, FieldSpec] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields_by_name", {f.name: f for f in self.fields})
