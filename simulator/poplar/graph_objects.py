"""Handles of graph objects other than tensors. They compare by id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.poplar.errors import missing_perf_estimate, unknown_field
from simulator.poplar.types import FunctionBufferMappingType, Type

if TYPE_CHECKING:
    from simulator.poplar.vertex_builder import BlockBuilder


@dataclass(frozen=True)
class ComputeSet:
    id: int
    name: str = field(default="", compare=False)

    def getId(self) -> int:
        return self.id


@dataclass(frozen=True)
class Function:
    id: int

    def getId(self) -> int:
        return self.id


@dataclass(frozen=True)
class FunctionBuffer:
    """A store of one function's code and constant graph state; `id` is its row in the graph's list."""

    id: int
    function: int
    mapping: FunctionBufferMappingType = field(compare=False)


@dataclass(frozen=True)
class DataStream:
    """A FIFO between host and device; `id` is its row in the graph's stream columns."""

    id: int
    handle: str = field(compare=False)
    type: Type = field(compare=False)
    count: int = field(compare=False)
    to_device: bool = field(compare=False)

    def elementType(self) -> Type:
        return self.type

    def numElements(self) -> int:
        return self.count


@dataclass(frozen=True)
class RemoteBuffer:
    """Memory outside the IPU: `repeats` rows of `count` elements. `id` is its row in the graph's list."""

    id: int
    name: str = field(compare=False)
    type: Type = field(compare=False)
    count: int = field(compare=False)
    repeats: int = field(compare=False)
    rearrange_on_host: bool = field(compare=False, default=False)
    optimise_memory: bool = field(compare=False, default=False)

    def handle(self) -> str:
        return self.name

    def elementType(self) -> Type:
        return self.type

    def numElements(self) -> int:
        """Elements of a row."""
        return self.count

    def getRepeats(self) -> int:
        return self.repeats

    def isRearrangeOnHost(self) -> bool:
        return self.rearrange_on_host

    def isOptimisedForMemory(self) -> bool:
        return self.optimise_memory


@dataclass(frozen=True)
class HostFunction:
    """Code of the host that a program calls. `inputs`, `outputs`: (type, elements) of each argument; `id` is its row in
    the graph's list."""

    id: int
    name: str = field(compare=False)
    inputs: tuple[tuple[Type, int], ...] = field(compare=False)
    outputs: tuple[tuple[Type, int], ...] = field(compare=False)

    def handle(self) -> str:
        return self.name


class VertexRef:
    """A vertex that was added by `addVertex`: a row of an open block."""

    __slots__ = ("builder", "row")

    def __init__(self, builder: BlockBuilder, row: int) -> None:
        self.builder = builder
        self.row = row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VertexRef) and self.builder is other.builder and self.row == other.row

    def __hash__(self) -> int:
        return hash((id(self.builder), self.row))

    def __getitem__(self, field_name: str) -> FieldRef:
        if field_name not in self.builder.type.fields_by_name:
            names = ", ".join(self.builder.type.fields_by_name)
            raise unknown_field(f"{self.builder.type.name} has no field '{field_name}'; its fields are {names}.")
        return FieldRef(self, field_name)

    def __repr__(self) -> str:
        return f"VertexRef({self.builder.type.name}, {self.row})"


@dataclass(frozen=True)
class FieldRef:
    vertex: VertexRef
    name: str


@dataclass(frozen=True)
class VertexPerfEstimate:
    """Cycles (thread cycles of a worker vertex, else tile cycles) and floating-point operations of one vertex."""

    cycles: int = 0
    flops: int = 0


@dataclass(frozen=True)
class FieldInfo:
    """What a performance estimator may ask about one field of a vertex."""

    name: str
    sizes: tuple[int, ...]  #: elements per inner vector, or one entry
    value: Any = None  #: of a simple field
    nested: bool = False

    def size(self) -> int:
        """Elements of a vector; inner vectors of a vector of vectors."""
        return len(self.sizes) if self.nested else sum(self.sizes)

    def getSizeAtIndex(self, index: int) -> int:
        return self.sizes[index]

    def getInitialValue(self) -> Any:
        if self.value is None:
            raise missing_perf_estimate(f"Field '{self.name}' has no value that an estimator could use.")
        return self.value


@dataclass(frozen=True)
class VertexIntrospector:
    """One vertex as a performance estimator sees it."""

    type_name: str
    fields: dict[str, FieldInfo]

    def getFieldInfo(self, name: str) -> FieldInfo:
        try:
            return self.fields[name]
        except KeyError:
            raise unknown_field(
                f"{self.type_name} has no field '{name}'; its fields are {list(self.fields)}."
            ) from None
