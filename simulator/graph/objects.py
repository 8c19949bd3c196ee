"""Handles of graph objects other than tensors. They compare by id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.base.errors import index_error, unknown_field
from simulator.base.types import DataStreamType, FunctionBufferMappingType, ReplicatedStreamMode, Type

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertex_builder import BlockBuilder


@dataclass(frozen=True)
class ComputeSet:
    id: int
    name: str = field(default="", compare=False)
    store: GraphStore | None = field(default=None, compare=False, repr=False)  #: of the graph that made it

    def getId(self) -> int:
        return self.id


@dataclass(frozen=True)
class Function:
    id: int
    store: GraphStore | None = field(default=None, compare=False, repr=False)  #: of the graph that made it

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
    name: str = field(compare=False)
    element_type: Type = field(compare=False)
    count: int = field(compare=False)
    to_device: bool = field(compare=False)
    replicas: int = field(compare=False, default=1)
    mode: ReplicatedStreamMode = field(compare=False, default=ReplicatedStreamMode.REPLICATE)
    store: GraphStore | None = field(default=None, compare=False, repr=False)  #: of the graph that made it

    def handle(self) -> str:
        return self.name

    def elementType(self) -> Type:
        return self.element_type

    def numElements(self) -> int:
        """Elements that one copy moves."""
        return self.count

    def type(self) -> DataStreamType:
        return DataStreamType.HostToDeviceFIFO if self.to_device else DataStreamType.DeviceToHostFIFO

    def replicationFactor(self) -> int:
        """The replication factor of the graph."""
        return self.replicas

    def replicatedMode(self) -> ReplicatedStreamMode:
        return self.mode


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
    __iter__ = None  # a name in [] is a field; nothing is iterated over

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

    def getId(self) -> int:
        """The number of the vertex in the graph, in order of blocks (one type in one compute set)."""
        self.builder.store.settle()
        return self.builder.block.first_id + self.row

    def __repr__(self) -> str:
        return f"VertexRef({self.builder.type.name}, {self.row})"


@dataclass(frozen=True)
class FieldRef:
    """A field of a vertex, or one element of it: `v["rows"][2]`."""

    vertex: VertexRef
    name: str
    index: int | None = None
    __iter__ = None  # any number in [] is an element, so that iterating would not end

    def __getitem__(self, index: int) -> FieldRef:
        if self.index is not None or index < 0:
            raise index_error(
                f"Field '{self.name}' of {self.vertex.builder.type.name} has no element [{self.index}][{index}]."
                if self.index is not None
                else f"Field '{self.name}' of {self.vertex.builder.type.name} has no element {index}."
            )
        return FieldRef(self.vertex, self.name, int(index))

    def isIndexed(self) -> bool:
        return self.index is not None

    def getIndex(self) -> int:
        """The element; `index_error` for a reference to the whole field."""
        if self.index is None:
            raise index_error(f"The reference to field '{self.name}' is to the whole field; it has no index.")
        return self.index


@dataclass(frozen=True)
class VertexPerfEstimate:
    """Cycles (thread cycles of a worker vertex, else tile cycles) and floating-point operations of one vertex."""

    cycles: int = 0
    flops: int = 0
