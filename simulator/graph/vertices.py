"""Vertex types and blocks of vertices: what graph, compiler and runtime know of a vertex, whoever wrote its codelet.

A `VertexType` is made from a Python codelet class (`simulator.codelets.vertex`), by a PopLibs codelet, or from a
compiled C++ source (`simulator.codelets.compiled`). A `VertexBlock` holds many vertices of one type in one compute set
as columns; a cost function estimates a whole block in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from popvision.formats.profile.model import Provenance
from simulator.arrays import Int64Array, UInt32Array
from simulator.base.errors import graph_connection_error
from simulator.base.types import QUARTER, QUARTER_METADATA
from simulator.base.vertex_layouts import LARGEST_COUNT
from simulator.machine.vertex_code import VertexCode

VertexKind = Literal["worker", "supervisor", "multi"]


# ---- fields ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldSpec:
    """One field of a vertex.

    kind: "value" (vertex state), "scalar" (an edge to one element), "vector" (an edge to a run of elements),
    "scalars" (Vector of scalar edges), "vectors" (Vector of vector edges, VectorList)."""

    name: str
    kind: Literal["value", "scalar", "vector", "scalars", "vectors"]
    direction: Literal["", "in", "out", "inout"]
    type: Any  #: simulator.base.types.Type, or None where the codelet takes any type
    layout: str = "span"  #: span, short_span, one_ptr, scaled_ptr32/64/128, deltan, deltanelements, strided
    alignment: int = 0  #: bytes
    interleaved: bool = False
    #: "scalars" and "vectors": how the vertex points at its list of edges (span: pointer and count; one_ptr ...)
    outer: str = "span"
    elements: bool = False  #: "value": a vector of state, not one number


def largest_dims(spec: FieldSpec, tile_bytes: int) -> tuple[int, ...]:
    """The largest size of each dimension of a field, the outer one first; () for one element.

    It is the largest count that vertex state can hold; where the layout holds none, what fits into a tile's memory."""
    if spec.kind == "scalar" or (spec.kind == "value" and not spec.elements):
        return ()
    element = tile_bytes // (1 if spec.type is None else spec.type.size)
    inner = LARGEST_COUNT.get(spec.layout, element)
    outer = LARGEST_COUNT.get(spec.outer, element if spec.kind == "scalars" else tile_bytes)
    return {"scalars": (outer,), "vectors": (outer, inner)}.get(spec.kind, (inner,))


def too_large(spec: FieldSpec, type_name: str, limit: int, size: int) -> graph_connection_error:
    """The error of a field with more elements, or inner vectors, than its vertex can count."""
    return graph_connection_error(
        f"Field '{spec.name}' of {type_name} takes at most {limit} elements (getMaxFieldDim), not {size}; split the "
        "tensor over several vertices."
    )


def metadata_field(field: str) -> str:
    """The name of the hidden field that is connected to the metadata of a QUARTER field."""
    return f"{field}.metadata"


def with_metadata_fields(fields: Iterable[FieldSpec]) -> tuple[FieldSpec, ...]:
    """The fields, then one hidden scalar input for the metadata of each QUARTER edge."""
    declared = tuple(fields)
    hidden = [
        FieldSpec(metadata_field(f.name), "scalar", "in", QUARTER_METADATA)
        for f in declared
        if f.type is QUARTER and f.kind != "value"
    ]
    return (*declared, *hidden)


# ---- types -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HostField:
    """A field of a compiled class and its place in the struct of the host. `wide`: a number of 8 bytes on the host that
    has 4 on a tile (long, size_t)."""

    spec: FieldSpec
    offset: int  #: bytes
    wide: bool = False

    @property
    def vector(self) -> bool:
        """Whether it is vertex state that is a vector (pointer and size), not a number."""
        return self.spec.elements


@dataclass(frozen=True)
class ClassLayout:
    """A vertex class as the compiler of the host laid it out."""

    name: str
    kind: VertexKind
    bytes: int
    fields: tuple[HostField, ...]
    external: bool
    computes: bool  #: it has a member function `compute`


@dataclass(frozen=True)
class CompiledClass:
    """A vertex class of a compiled source. `entry` names the function that runs rows of it. `symbol` names the function
    of another source that is its code, where it has no `compute` of its own."""

    layout: ClassLayout
    entry: str
    constraints: tuple[str, ...]
    symbol: str = ""


#: The largest number of cycles or flops of one vertex: more than two days at any clock of an IPU, and so far below
#: 64 bits that sums over the vertices of a tile fit there.
MOST_CYCLES = 2**48 - 1


@dataclass(frozen=True)
class BlockCosts:
    """Cycles of each vertex of a block: thread cycles for workers, tile cycles for supervisor and multi vertices."""

    cycles: Int64Array
    provenance: Provenance
    source: str  #: the formula or rule, one line
    flops: Int64Array | None = None
    #: tile cycles that hardware takes to launch each vertex beyond `cycles`; None = as its kind (machine.launch)
    launch: Int64Array | None = None
    counted: bool = False  #: a guess from the code of a codelet, because neither it nor the program has an estimator


CostFunction = Callable[["VertexBlock", Mapping[str, Int64Array], Any], BlockCosts]
"""(block, elements per vertex of each edge field, simulator.base.target.Target) -> BlockCosts"""


@dataclass(frozen=True)
class VertexType:
    name: str
    kind: VertexKind
    fields: tuple[FieldSpec, ...]
    costs: CostFunction
    #: run one vertex: `compute(instance)` where instance has every field as an attribute (ndarrays, scalars)
    compute: Callable[[Any], Any] | None = None
    #: optional: run all vertices of a block at once; see simulator.codelets.vertex for the form of its argument
    compute_batch: Callable[[Any], None] | None = None
    code_bytes: int = -1  #: bytes of code on a tile that holds the type, -1 = not known
    provenance_of_code: str = "unknown"
    #: bytes of code where they follow from a compiled source; called when a program is compiled for hardware
    code: Callable[[], VertexCode] | None = None
    doc: str = ""
    #: pairs of fields whose elements must lie in different memory elements, so that one cycle can serve both
    apart: tuple[tuple[str, str], ...] = ()
    constrained: bool = False  #: the program asked for `apart`, so that a graph that cannot keep it is refused
    #: the class of a compiled source; its vertices run in a process of their own
    compiled: CompiledClass | None = None
    #: the costs that the code of such a class counts, whatever the program estimates; raises NotCountableError
    counts: CostFunction | None = None
    codelet: Any = None  #: the class of a codelet in Python
    awaits_code: bool = False  #: declared without code, which another source or codelet of the name gives
    fields_by_name: dict[str, FieldSpec] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields_by_name", {f.name: f for f in self.fields})


# ---- blocks ----------------------------------------------------------------------------------------------------------


@dataclass
class FieldEdges:
    """Regions connected to one field of the vertices of a block, in element space.

    Vertex i's regions are rows `offsets[i]:offsets[i + 1]`; `offsets` None = exactly one region per vertex.
    For a field that is a vector of vectors, every region is one inner vector unless `row_offsets` is given:
    then inner vector j (counted over the block) is regions `row_offsets[j]:row_offsets[j + 1]` and `offsets`
    counts inner vectors."""

    starts: Int64Array
    lengths: Int64Array
    offsets: Int64Array | None = None
    row_offsets: Int64Array | None = None

    def elements_per_vertex(self, n: int) -> Int64Array:
        """Number of elements connected to each of the block's n vertices."""
        if self.offsets is None:
            return self.lengths
        return segment_sums(self.elements_per_vector(), self.offsets)

    def vectors_per_vertex(self, n: int) -> Int64Array:
        """Number of inner vectors of each of the block's n vertices."""
        return np.ones(n, np.int64) if self.offsets is None else np.diff(self.offsets)

    def elements_per_vector(self) -> Int64Array:
        """Number of elements of each inner vector of the block."""
        return self.lengths if self.row_offsets is None else segment_sums(self.lengths, self.row_offsets)

    def vertex_of_region(self, n: int) -> Int64Array:
        """The vertex (row within the block) that each region belongs to."""
        if self.offsets is None:
            return np.arange(n, dtype=np.int64)
        owner = np.repeat(np.arange(n, dtype=np.int64), np.diff(self.offsets))
        if self.row_offsets is not None:
            owner = np.repeat(owner, np.diff(self.row_offsets))
        return owner


def segment_sums(values: Int64Array, offsets: Int64Array) -> Int64Array:
    """Sums of `values[offsets[i]:offsets[i + 1]]`, 0 where there are none."""
    filled = offsets[1:] > offsets[:-1]
    values = values[: int(offsets[-1])]
    if filled.all():
        return values if len(filled) == len(values) else np.add.reduceat(values, offsets[:-1])
    sums = np.zeros(len(filled), np.int64)
    if filled.any():
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums


@dataclass(frozen=True)
class ExternalExchange:
    """The set-up of the tile of an external exchange vertex before it runs."""

    incoming_down_count: int
    uses_east_edge: bool
    sends_xreq: bool


@dataclass
class VertexBlock:
    """Vertices of one type in one compute set. `values` hold simple state fields: one for all or one per vertex."""

    compute_set: int
    type: VertexType
    first_id: int
    tiles: UInt32Array
    edges: dict[str, FieldEdges] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    #: explicit setPerfEstimate figures per vertex, -1 where none was given; None = none at all
    cycles: Int64Array | None = None
    flops: Int64Array | None = None
    debug_id: int = -1
    #: of external exchange vertices, by row
    external: dict[int, ExternalExchange] = field(default_factory=dict)
    #: field -> row -> function that gives the value when storage is allocated
    late: dict[str, dict[int, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tiles)

    def copy(self) -> VertexBlock:
        """The block with containers of its own; arrays are shared, as they are replaced and never written."""
        late = {name: dict(functions) for name, functions in self.late.items()}
        return replace(self, edges=dict(self.edges), values=dict(self.values), external=dict(self.external), late=late)
