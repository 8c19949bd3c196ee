"""One vertex of a block as a performance estimator sees it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from simulator.base.errors import index_error, missing_perf_estimate, unknown_field
from simulator.base.vertex_layouts import layout
from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock


@dataclass(frozen=True)
class FieldData:
    """One field of a vertex as a performance estimator sees it."""

    spec: FieldSpec
    sizes: tuple[int, ...]  #: elements per inner vector, or one entry
    value: Any = None  #: of a simple field

    def name(self) -> str:
        return self.spec.name

    def rank(self) -> int:
        """0 for one element, 1 for a vector, 2 for a vector of vectors."""
        if self.spec.kind == "value":
            return int(np.ndim(self.value) > 0)
        return {"scalar": 0, "vector": 1, "scalars": 1, "vectors": 2}[self.spec.kind]

    def size(self) -> int:
        """Elements of a vector; inner vectors of a vector of vectors."""
        return len(self.sizes) if self.spec.kind == "vectors" else sum(self.sizes)

    def getSizeAtIndex(self, i: int) -> int:
        """Elements of one inner vector; `index_error` where there is none."""
        if not 0 <= i < len(self.sizes):
            raise index_error(f"Field '{self.spec.name}' has {len(self.sizes)} inner vectors; there is no {i}.")
        return self.sizes[i]

    def getProfilerVectorLayout(self, nestingLevel: int = 0) -> layout.Vector:
        """The layout of the vector, or of the inner ones (level 1) and the list of them (level 0)."""
        nested = self.spec.kind in ("scalars", "vectors")
        name = self.spec.outer if nested and nestingLevel == 0 else self.spec.layout
        if self.rank() <= nestingLevel or name not in (v.value for v in layout.Vector):
            return layout.Vector.NotAVector
        return layout.Vector(name)

    def getProfilerVectorListLayout(self) -> layout.VectorList:
        """The layout of a VectorList, NotAVector for other fields."""
        known = {v.value for v in layout.VectorList}
        return layout.VectorList(self.spec.layout if self.spec.kind == "vectors" and self.spec.layout in known else "")

    def getInitialValue(self, target: Any = None) -> Any:
        """The value of a simple field; `missing_perf_estimate` where it has none."""
        if self.value is None:
            raise missing_perf_estimate(f"Field '{self.spec.name}' has no value that an estimator could use.")
        return self.value

    def getInitialValues(self, target: Any = None) -> list[Any]:
        """The values of a simple vector field."""
        return [*np.atleast_1d(self.getInitialValue(target))]


@dataclass(frozen=True)
class VertexIntrospector:
    """One vertex as a performance estimator sees it."""

    type_name: str
    fields: dict[str, FieldData]

    def getFieldInfo(self, name: str) -> FieldData:
        """Raises `unknown_field` where the vertex has none of that name."""
        try:
            return self.fields[name]
        except KeyError:
            raise unknown_field(
                f"{self.type_name} has no field '{name}'; its fields are {list(self.fields)}."
            ) from None


@dataclass(frozen=True)
class StorageInfo:
    """One vector that an edge field is connected to."""

    numElements: int
    numBytes: int


@dataclass(frozen=True)
class VertexEdgeInfo:
    """The connections of a vertex: the vectors of each edge field, without addresses."""

    storage: dict[str, list[StorageInfo]]


def introspect(block: VertexBlock, row: int) -> VertexIntrospector:
    """Field sizes and values of vertex `row` of the block."""
    fields = {spec.name: field_data(block, spec, row) for spec in block.type.fields}
    return VertexIntrospector(block.type.name, fields)


def field_data(block: VertexBlock, spec: FieldSpec, row: int) -> FieldData:
    """One field of one vertex."""
    if spec.kind == "value":
        value = value_at(block.values.get(spec.name), row)
        return FieldData(spec, (int(np.size(value)),), value)
    return FieldData(spec, vector_sizes(block.edges[spec.name], row, spec.kind == "vectors"))


def value_at(values: Any, row: int) -> Any:
    """The value of one vertex, from a column with one value for all or one for each."""
    return values[row] if isinstance(values, list) or np.ndim(values) else values


def vector_sizes(edges: FieldEdges, row: int, nested: bool) -> tuple[int, ...]:
    """Elements of each inner vector of one vertex (one entry for a field that is not `nested`, a plain vector)."""
    if edges.offsets is None:
        return (int(edges.lengths[row]),)
    first, last = int(edges.offsets[row]), int(edges.offsets[row + 1])
    if edges.row_offsets is not None:
        bounds = edges.row_offsets[first : last + 1].tolist()
        return tuple(int(edges.lengths[a:b].sum()) for a, b in pairwise(bounds))
    lengths = edges.lengths[first:last]
    return tuple(lengths.tolist()) if nested else (int(lengths.sum()),)
