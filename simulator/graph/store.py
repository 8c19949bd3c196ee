"""The columns of a graph, which `Graph` fills and the compiler reads.

All variables lie end to end in one *element space*: variable v owns elements `base[v] .. base[v] + numel[v]`.
A region of any tensor is therefore a half-open interval of that space, and tile mapping is one sorted interval table
over it: the compiler answers "which of these edges are remote?" by `searchsorted`, in O(n log m), without a loop over
variables. Vertices come in blocks: all that one `addVertices` call, or the `addVertex` calls for one type, added to one
compute set, one array per field.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.regions import split_by_table
from simulator.graph import tile_mapping
from simulator.graph.vertices import CostFunction, VertexBlock, VertexType

Columns = TypeVar("Columns", "VariableColumns", "StreamColumns", "GraphStore")


def _with_own_containers(columns: Columns) -> Columns:
    """The same columns with lists, dictionaries and sets of their own."""
    copied = copy.copy(columns)
    for name, value in vars(columns).items():
        if isinstance(value, list | dict | set):
            setattr(copied, name, copy.copy(value))
    return copied


@dataclass
class VariableColumns:
    """One row per variable (constants included), in order of creation."""

    base: list[int] = field(default_factory=list)
    numel: list[int] = field(default_factory=list)
    type: list[Any] = field(default_factory=list)  #: simulator.base.types.Type
    name: list[str] = field(default_factory=list)
    debug_id: list[int] = field(default_factory=list)
    constant: list[Any] = field(default_factory=list)  #: ndarray of values for constants, else None
    initial: list[Any] = field(default_factory=list)  #: list of (offset, ndarray) of setInitialValue
    #: always live by use: connected to host read/write, initial value, or constant
    host_visible: list[bool] = field(default_factory=list)
    #: (interval ends within the variable, tile of each interval; -1 = unmapped), None = unmapped; read it through
    #: `GraphStore.mapping_of`, which first paints `pending_mapping`
    mapping: list[tuple[Int64Array, Int64Array] | None] = field(default_factory=list)
    #: element -> its value in each replica, where replicas differ from the beginning
    by_replica: dict[int, list[int]] = field(default_factory=dict)
    #: variable of type QUARTER -> the element that holds its metadata
    metadata: dict[int, int] = field(default_factory=dict)
    #: variable -> symbol of the storage outside the graph that it stands for
    external: dict[int, str] = field(default_factory=dict)
    #: variable -> writes to its mapping, in order
    pending_mapping: dict[int, list[tile_mapping.Write]] = field(default_factory=dict)
    held_bytes: int = 0  #: of all values in `constant` and `initial`, which the host holds

    def add(self, base: int, numel: int, type_: Any, name: str, debug_id: int, constant: Any = None) -> None:
        """Add a variable without a mapping, from the element `base`; `constant`: the values of a constant."""
        self.base.append(base)
        self.numel.append(numel)
        self.type.append(type_)
        self.name.append(name)
        self.debug_id.append(debug_id)
        self.constant.append(constant)
        self.held_bytes += 0 if constant is None else constant.nbytes
        self.initial.append([])
        self.host_visible.append(False)
        self.mapping.append(None)

    def copy(self) -> VariableColumns:
        """The columns as they are now; arrays are shared, as they are replaced and never written."""
        initial = [list(values) for values in self.initial]
        pending = {variable: list(writes) for variable, writes in self.pending_mapping.items()}
        return replace(_with_own_containers(self), initial=initial, pending_mapping=pending)


@dataclass
class StreamColumns:
    handle: list[str] = field(default_factory=list)
    type: list[Any] = field(default_factory=list)
    numel: list[int] = field(default_factory=list)
    to_device: list[bool] = field(default_factory=list)
    options: list[dict[str, str]] = field(default_factory=list)
    #: "fifo" for user streams, "read"/"write" for createHostRead/Write
    kind: list[str] = field(default_factory=list)
    broadcast: list[bool] = field(default_factory=list)  #: all replicas get the same transfer

    def copy(self) -> StreamColumns:
        """The columns as they are now."""
        return _with_own_containers(self)


class OpenBlock(Protocol):
    """A block that single `addVertex` calls still grow (`simulator.graph.vertex_builder`)."""

    block: VertexBlock

    def settle(self) -> None:
        """Bring the arrays of `block` up to date."""


class SourceCodelets(Protocol):
    """The codelets that were added as sources (`simulator.codelets.compiled.library`)."""

    def copy(self) -> Self:
        """The same codelets, to which others can be added on their own."""

    def become(self, other: Any) -> None:
        """Take the codelets of a copy, and no others."""


@dataclass
class ExecutedVertices:
    """How many vertices of each block an engine has run, by the block's position. A graph and its copies share it."""

    count: dict[int, int] = field(default_factory=dict)


@dataclass
class GraphStore:
    """All state of a graph and its virtual graphs: that of one replica."""

    replicas: int = 1  #: how often the graph runs at once
    variables: VariableColumns = field(default_factory=VariableColumns)
    streams: StreamColumns = field(default_factory=StreamColumns)
    compute_set_names: list[str] = field(default_factory=list)
    compute_set_debug_ids: list[int] = field(default_factory=list)
    #: compute set with vertices -> whether these are external exchange vertices
    external_sets: dict[int, bool] = field(default_factory=dict)
    executed: ExecutedVertices = field(default_factory=ExecutedVertices)
    #: compute set -> (term, value, source) that its library states about its costs
    compute_set_terms: dict[int, list[tuple[str, float, str]]] = field(default_factory=dict)
    #: tensors that a library makes once for a graph, by the library's name for them
    library_tensors: dict[str, Any] = field(default_factory=dict)
    #: blocks in order of creation; read them through `blocks`
    settled_blocks: list[VertexBlock] = field(default_factory=list)
    open_blocks: dict[tuple[int, str], OpenBlock] = field(default_factory=dict)
    #: by name, the first one of it. Library types of one name may differ (groups of channels, shape of a kernel), so
    #: each block has the type that it was made with.
    vertex_types: dict[str, VertexType] = field(default_factory=dict)
    codelets: SourceCodelets | None = None  #: compiled sources; None until one is added
    #: types of placeholders whose code came later, for blocks that were opened before
    supplied: dict[str, VertexType] = field(default_factory=dict)
    #: cost functions of the program, for all vertices of a type name
    estimators: dict[str, CostFunction] = field(default_factory=dict)
    functions: list[Any] = field(default_factory=list)  #: simulator.graph.program.Program bodies
    #: (function, simulator.base.types.FunctionBufferMappingType) of each function buffer
    function_buffers: list[tuple[int, Any]] = field(default_factory=list)
    remote_buffers: list[Any] = field(default_factory=list)  #: simulator.graph.objects.RemoteBuffer
    host_functions: list[Any] = field(default_factory=list)  #: simulator.graph.objects.HostFunction
    #: (kind "read"|"write", handle, tensor) of createHostRead / createHostWrite, in order
    host_copies: list[tuple[str, str, Any]] = field(default_factory=list)
    num_elements: int = 0
    #: DebugInfo records in order; a debug id is an index here
    debug_infos: list[dict[str, Any]] = field(default_factory=list)

    #: connections to fields that are connected to nothing yet (`simulator.graph.field_links`)
    field_links: list[Any] = field(default_factory=list)
    #: variables that are not constants, for a quick test
    plain_variables: set[int] = field(default_factory=set)
    #: `variables.base` as an array, grown on demand
    base_array: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))

    def mark_executed(self) -> None:
        """Note that an engine has run the graph as it is here."""
        for position, block in enumerate(self.settled_blocks):
            self.executed.count[position] = max(len(block), self.executed.count.get(position, 0))

    def is_executed(self, block: VertexBlock, row: int) -> bool:
        """Whether an engine has run the graph since this vertex was added."""
        position = next(i for i, other in enumerate(self.settled_blocks) if other is block)
        return row < self.executed.count.get(position, 0)

    def copy(self) -> GraphStore:
        """The graph as it is now; later additions do not reach the copy.

        Blocks are settled and tile mappings painted first. Arrays are shared, as they are replaced and never written;
        so are programs and tensors, which are values, and the contents of debug records."""
        for variable in list(self.variables.pending_mapping):
            self.mapping_of(variable)
        blocks = [block.copy() for block in self.blocks]
        return replace(
            _with_own_containers(self),
            variables=self.variables.copy(),
            streams=self.streams.copy(),
            codelets=None if self.codelets is None else self.codelets.copy(),
            settled_blocks=blocks,
            open_blocks={},
        )

    @property
    def blocks(self) -> list[VertexBlock]:
        """Every block, settled."""
        self.settle()
        return self.settled_blocks

    def settle(self) -> None:
        """Bring the arrays of the blocks up to date and count `first_id` in order of creation."""
        for open_block in self.open_blocks.values():
            open_block.settle()
        first = 0
        for block in self.settled_blocks:
            block.first_id = first
            if block.type.awaits_code:
                block.type = self.supplied.get(block.type.name, block.type)
            costs = self.estimators.get(block.type.name)
            if costs is not None and block.type.costs is not costs:
                block.type = replace(block.type, costs=costs)
            first += len(block)

    def remove_variables(self, first: int) -> None:
        """Take back variable `first` and those after it, with their debug records: what a call that fails had made."""
        v = self.variables
        if first == len(v.base):
            return
        self.num_elements = v.base[first]
        del self.debug_infos[v.debug_id[first] :]
        for columns in (v.metadata, v.external, v.pending_mapping):
            for variable in [variable for variable in columns if variable >= first]:
                del columns[variable]
        for element in [element for element in v.by_replica if element >= self.num_elements]:
            del v.by_replica[element]
        self.plain_variables.difference_update(range(first, len(v.base)))
        v.held_bytes -= sum(values.nbytes for values in v.constant[first:] if values is not None)
        v.held_bytes -= sum(values.nbytes for written in v.initial[first:] for _, values in written)
        self.base_array = self.base_array[:first]
        for column in (v.base, v.numel, v.type, v.name, v.debug_id, v.constant, v.initial, v.host_visible, v.mapping):
            del column[first:]

    def remove_block(self, key: tuple[int, str]) -> None:
        """Take back an open block that was made last, and what its compute set became with its first one."""
        block = self.open_blocks.pop(key).block
        self.settled_blocks = [other for other in self.settled_blocks if other is not block]
        if all(other.compute_set != block.compute_set for other in self.settled_blocks):
            self.external_sets.pop(block.compute_set, None)

    @property
    def num_vertices(self) -> int:
        return sum(len(block) for block in self.blocks)

    def bases(self) -> Int64Array:
        """First element of every variable."""
        if len(self.base_array) != len(self.variables.base):
            self.base_array = np.array(self.variables.base, np.int64)
        return self.base_array

    def variable_of(self, elements: Int64Array) -> Int64Array:
        """The variable that each element belongs to."""
        return np.searchsorted(self.bases(), elements, side="right") - 1

    def cut_at_variables(self, starts: Int64Array, lengths: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Regions cut where one variable ends and the next begins."""
        if len(starts):
            first, last = self.variable_of(np.array([starts.min(), (starts + lengths).max() - 1]))
            if first == last and lengths.all():
                return starts, lengths
        ends = np.append(self.bases()[1:], self.num_elements)
        starts, lengths, _ = split_by_table(starts, lengths, ends)
        return starts, lengths

    def mapping_of(self, variable: int) -> tuple[Int64Array, Int64Array]:
        """(ends, tiles) of one variable: ends within the variable, tile -1 = unmapped."""
        v = self.variables
        writes = v.pending_mapping.pop(variable, None)
        if writes:
            v.mapping[variable] = tile_mapping.painted(v.numel[variable], v.mapping[variable], writes)
        return v.mapping[variable] or (np.array([v.numel[variable]], np.int64), np.array([-1], np.int64))

    def mapping_table(self) -> tuple[Int64Array, Int64Array]:
        """(ends, tiles): the tile mapping of the whole element space as sorted half-open intervals that begin where
        the previous one ends; tile -1 = unmapped."""
        ends: list[Int64Array] = []
        tiles: list[Int64Array] = []
        v = self.variables
        for variable, (base, numel) in enumerate(zip(v.base, v.numel, strict=True)):
            if numel:
                own_ends, own_tiles = self.mapping_of(variable)
                ends.append(own_ends + base)
                tiles.append(own_tiles)
        if not ends:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(ends), np.concatenate(tiles)
