"""The class Graph: Poplar's methods, each of which delegates to a function over the graph's state.

The functions are grouped by subject: `variables`, `clones`, `initial_values`, `mapping`, `order`, `codelets`,
`vertices`, `fields`, `estimates`, `streams`, `serialization`, `virtual_graphs`. This module holds only
their signatures and documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.base.errors import graph_object_creation_error
from simulator.base.target import Target
from simulator.base.type_conversion import TypeTraits
from simulator.base.types import (
    CodeletFileType,
    FunctionBufferMappingType,
    Interval,
    ReplicatedStreamMode,
    SerializationFormat,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    Type,
    VariableMappingMethod,
    VariableRef,
)
from simulator.base.wrong_arguments import (
    MISTAKES,
    check_flags,
    checks_arguments,
    methods_refuse_wrong_arguments,
    refuse,
)
from simulator.building import (
    clones,
    codelets,
    estimates,
    fields,
    initial_values,
    mapping,
    order,
    serialization,
    streams,
    variables,
    vertices,
    virtual_graphs,
)
from simulator.building.codelets import Codelets, Output, Stream
from simulator.building.fields import ConnectionDesc
from simulator.building.mapping import TileToTensorMapping
from simulator.building.order import TensorRearranger
from simulator.building.state import GraphState, new_state
from simulator.building.streams import HostFunctionArgument
from simulator.building.variables import Shape
from simulator.building.vertices import Connections
from simulator.graph.debug_context import Context, DebugInfo, as_context, record
from simulator.graph.objects import (
    ComputeSet,
    DataStream,
    FieldRef,
    Function,
    FunctionBuffer,
    HostFunction,
    RemoteBuffer,
    VertexPerfEstimate,
    VertexRef,
)
from simulator.graph.program import Program
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, whole_variable
from simulator.graph.vertices import FieldEdges, VertexBlock, VertexType

__all__ = ["Graph"]


@methods_refuse_wrong_arguments(but=("addVertex", "connect", "setInitialValue", "setTileMapping"))
class Graph:
    """A graph program: variables, vertices, compute sets, streams and functions for one target.

    `Graph(target)` or `Graph(device)`, and a replication factor r: the graph describes one replica, which has 1/r of
    the IPUs, and runs r times at once."""

    ConnectionDesc = ConnectionDesc
    HostFunctionArgument = HostFunctionArgument

    state: GraphState
    store: GraphStore  #: that of `state`
    _top: Graph | None = None  #: of a virtual graph

    def __init__(self, target: Any = None, r: int = 1, *, device: Any = None) -> None:
        target = device if target is None else target
        if target is None:
            return  # an empty handle, as in C++, without state
        self.state = new_state(target, r)
        self.store = self.state.store

    if not TYPE_CHECKING:  # type checkers are to find names that do not exist

        def __getattr__(self, name: str) -> Any:
            if name in ("state", "store"):
                raise graph_object_creation_error(
                    "A graph made without a target holds nothing: make it with Graph(device) or Graph(target), for "
                    "example Graph(IPUModel().createDevice())."
                )
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @staticmethod
    def _of(state: GraphState, top: Graph) -> Graph:
        """A virtual graph of the top level graph."""
        graph = Graph()
        graph.state, graph.store, graph._top = state, state.store, top
        return graph

    def getTarget(self) -> Target:
        """The target of one replica; of a virtual graph, one with fewer tiles."""
        return self.state.target

    def getReplicationFactor(self) -> int:
        """The number of replicas of the graph that run at once, each on IPUs of its own."""
        return self.store.replicas

    @checks_arguments
    def addDebugInfo(self, debugContext: Context, layer: str, **arguments: Any) -> DebugInfo:
        """Record an operation of a library; pass the result as context to the objects that the operation makes."""
        context = as_context(debugContext)
        return DebugInfo(self.store, record(self.store, context, "operation", layer, arguments))

    # ---- virtual graphs ----------------------------------------------------------------------------------------------

    @overload
    def createVirtualGraph(self, numTilesPerIPU: int) -> Graph: ...
    @overload
    def createVirtualGraph(self, lowerTile: int, upperTile: int) -> Graph: ...
    @overload
    def createVirtualGraph(self, perIpuTiles: Sequence[int]) -> Graph: ...
    def createVirtualGraph(self, *arguments: Any, **names: Any) -> Graph:
        """A graph over the same state with fewer tiles: the first n of each IPU, tiles [lower, upper) of one IPU, or
        these tiles of each IPU. Raises `invalid_tile_mapping` for tiles that do not exist, occur twice, or are not
        within one IPU."""
        return Graph._of(virtual_graphs.virtual_graph(self.state, arguments, names), self.getTopLevelGraph())

    def getTopLevelGraph(self) -> Graph:
        """The graph that this virtual graph is a view of; any other graph itself."""
        return self._top or self

    def convertTileToTopLevelGraphTile(self, tileId: int) -> int:
        """The number of a tile of this graph in the top level graph; `invalid_tile_mapping` where there is none."""
        return self.state.device_tile(tileId)

    def convertTopLevelGraphTileToTile(self, topLevelGraphTileId: int) -> int:
        """The number of a tile of the top level graph in this graph; `invalid_tile_mapping` where there is none."""
        return virtual_graphs.tile_of_top_level(self.state, self.getTopLevelGraph().state, topLevelGraphTileId)

    def convertVirtualTileToPhysicalTile(self, tileId: int) -> int:
        """The physical id, within its IPU, of a tile of this graph."""
        return virtual_graphs.physical_tile(self.state, self.getTopLevelGraph().state, tileId)

    @overload
    def convertPhysicalTileToVirtualTile(self, physicalTileId: int) -> int: ...
    @overload
    def convertPhysicalTileToVirtualTile(self, ipuId: int, physicalTileId: int) -> int: ...
    def convertPhysicalTileToVirtualTile(self, *arguments: Any, **names: Any) -> int:
        """The tile of this graph with a physical id on an IPU (0 when not given). Raises `invalid_tile_mapping` for
        tiles that are not in use, or not of this graph."""
        return virtual_graphs.tile_of_physical(self.state, self.getTopLevelGraph().state, arguments, names)

    # ---- variables and constants -------------------------------------------------------------------------------------

    @overload
    def addVariable(self, type: Type, shape: Shape, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self, type: Type, shape: Shape, mappingMethod: VariableMappingMethod, debugContext: Context = ""
    ) -> Tensor: ...
    @overload
    def addVariable(self, type: Type, metadata: Tensor, shape: Shape, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self,
        type: Type,
        metadata: Tensor,
        shape: Shape,
        mappingMethod: VariableMappingMethod,
        debugContext: Context = "",
    ) -> Tensor: ...
    def addVariable(self, *arguments: Any, **names: Any) -> Tensor:
        """Add a variable. It has no tile mapping until `setTileMapping`, unless the target has exactly one tile or
        `VariableMappingMethod.LINEAR` spreads it over all tiles.

        A QUARTER variable has the metadata tensor given, or, when that is missing or empty (`Tensor()`), a new variable
        on tile 0 (`getMetadata()`), which the program must initialise. Raises `tensor_creation_error` for bad shapes
        and for metadata of other types, `tensor_metadata_error` for tensors that are not metadata."""
        return variables.add_variable(self.state, arguments, names)

    def addExternalVariable(self, type: Type, shape: Shape, symbol: str, debugContext: Context = "") -> Tensor:
        """Add a variable whose storage is outside the graph, at a symbol of the program that the compiled Module
        becomes part of.

        Raises `graph_object_creation_error` for a symbol that is no name or that another variable has."""
        return variables.external_variable(self.state, type, shape, symbol, debugContext)

    @overload
    def addConstant(self, type: Type, shape: Shape, values: Any, debugContext: Context = "<const>") -> Tensor: ...
    @overload
    def addConstant(self, type: Type, shape: Shape, *, val: Any, debugContext: Context = "<const>") -> Tensor: ...
    @overload
    def addConstant(
        self,
        type: Type,
        shape: Shape,
        val: Any,
        traits: TypeTraits,
        broadcast: bool,
        debugContext: Context = "<const>",
    ) -> Tensor: ...
    @overload
    def addConstant(
        self, type: Type, metadata: Tensor, shape: Shape, values: Any, debugContext: Context = "<const>"
    ) -> Tensor: ...
    @overload
    def addConstant(
        self, type: Type, metadata: Tensor, shape: Shape, *, val: Any, debugContext: Context = "<const>"
    ) -> Tensor: ...
    @overload
    def addConstant(
        self,
        type: Type,
        metadata: Tensor,
        shape: Shape,
        val: Any,
        traits: TypeTraits,
        broadcast: bool,
        debugContext: Context = "<const>",
    ) -> Tensor: ...
    def addConstant(self, *arguments: Any, **names: Any) -> Tensor:
        """Add a constant: one value for all elements, or as many values as elements (flattened, any array-like); or
        raw bytes (any buffer, or a ctypes pointer), the type of their values and whether one value is for all elements
        (`broadcast`).

        QUARTER values are numbers, encoded by the metadata: a new constant (F143, scale 0) when none is given; it must
        be known while the graph is built. Raises `tensor_creation_error` when the number of values does not fit the
        shape and for metadata of other types, `tensor_metadata_error` for metadata that is not known yet."""
        return variables.add_constant(self.state, arguments, names)

    def addConstantHalf(self, type: Type, shape: Shape, val: Any, debugContext: Context = "<const>") -> Tensor:
        """Add a constant from raw 16-bit words of IEEE half, converted to `type`: one for all elements, or one each.

        Raises `tensor_creation_error` for values that are no such words, and where their number does not fit."""
        return variables.new_constant(self.state, type, shape, variables.half_words(val), debugContext)

    def addReplicationIndexConstant(self, debugContext: Context = "") -> Tensor:
        """Add an UNSIGNED_INT scalar that holds the number of the replica, 0 to getReplicationFactor() - 1."""
        return variables.replication_index(self.state, debugContext)

    def isConstant(self, v: VariableRef) -> bool:
        """Whether `addConstant` made the variable. Raises `graph_object_creation_error` for one of another graph."""
        return self.store.variables.constant[variables.variable_row(self.store, v, "isConstant")] is not None

    def getVariable(self, v: VariableRef) -> Tensor:
        """The whole variable as a vector. Raises `graph_object_creation_error` for one of another graph."""
        return whole_variable(self.store, variables.variable_row(self.store, v, "getVariable"))

    @overload
    def clone(self, type: Type, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...) -> Tensor: ...
    @overload
    def clone(
        self, type: Type, metadata: Tensor, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...
    ) -> Tensor: ...
    @overload
    def clone(self, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...) -> Tensor: ...
    @overload
    def clone(
        self, metadata: Tensor, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...
    ) -> Tensor: ...
    def clone(self, *arguments: Any, **names: Any) -> Tensor:
        """A new variable with the shape and tile mapping of a tensor.

        PRESERVE_ORDER_UNLESS_ALIASES (the default) keeps the order in which the elements lie in memory, unless the
        tensor holds an element twice; then, and with CREATE_NEW_ORDER, memory has the order of the flattened tensor.
        PRESERVE_ORDER_AND_ALIASES keeps the order, and elements that were the same stay the same.
        GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES does so too, with all elements of a tile next to each other.

        A QUARTER clone has the metadata given, or a new metadata tensor that the program must initialise; never that of
        `t`. Raises `tensor_creation_error` for metadata of other types."""
        return clones.clone(self.state, arguments, names)

    @overload
    def cloneN(
        self,
        type: Type,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        type: Type,
        metadata: Tensor,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        metadata: Tensor,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    def cloneN(self, *arguments: Any, **names: Any) -> Tensor:
        """`clone` N times as one variable and a tensor of shape [N, ...].

        DUPLICATE_BY_OUTER_DIMENSION lays the copies one after another; DUPLICATE_BY_TILE_CONTIGUOUS_REGION puts, for
        each run of memory on a tile, its N copies next to each other. Raises `tensor_creation_error` for N below 1."""
        return clones.clone_n(self.state, arguments, names)

    @overload
    def setInitialValue(self, t: Tensor, val: Any) -> None: ...
    @overload
    def setInitialValue(self, t: Tensor, vals: Mapping[int, int]) -> None: ...
    @overload
    def setInitialValue(self, field: FieldRef, val: Any) -> None: ...
    def setInitialValue(self, *arguments: Any, **names: Any) -> None:
        """Set the value after loading of a tensor (one value or one per element) or a vertex field (a number, or a list
        for a vector field).

        A dict {replica: value} gives an UNSIGNED_INT scalar another value in each replica; `graph_replication_error`
        unless it names every replica. Raises `tensor_creation_error` for constants and aliases, `type_error` where the
        number of values does not fit, `tensor_metadata_error` for QUARTER tensors whose metadata is not known yet."""
        try:
            initial_values.set_initial_value(self.state, arguments, names)
        except MISTAKES as error:
            refuse(error, Graph.setInitialValue, (self, *arguments), names)
            raise

    @overload
    def setInitialValueHalf(self, t: Tensor, val: Any) -> None: ...
    @overload
    def setInitialValueHalf(self, field: FieldRef, val: Any) -> None: ...
    def setInitialValueHalf(self, *arguments: Any, **names: Any) -> None:
        """`setInitialValue` from raw 16-bit words of type HALF."""
        initial_values.set_initial_value_half(self.state, arguments, names)

    # ---- tile mapping ------------------------------------------------------------------------------------------------

    @overload
    def setTileMapping(self, v: VertexRef, tileNum: int) -> None: ...
    @overload
    def setTileMapping(self, t: Tensor, tileNum: int) -> None: ...
    @overload
    def setTileMapping(self, t: Tensor, mapping: Sequence[Sequence[tuple[int, int]]]) -> None: ...
    def setTileMapping(  # type: ignore[misc]  # names are those of the overloads
        self, what: Any = None, where: Any = None, /, **names: Any
    ) -> None:
        """Put a vertex or a tensor on a tile, or a tensor's flattened intervals on tiles (a list per tile).

        A later call wins. Raises `invalid_tile_mapping` for tiles that the graph does not have, and for intervals
        outside the tensor or covering an element twice."""
        try:
            mapping.set_tile_mapping(self.state, what, where, names)
        except MISTAKES as error:
            given = tuple(value for value in (what, where) if value is not None)
            refuse(error, Graph.setTileMapping, (self, *given), names)
            raise

    def setTileMappingIntervals(self, t: Tensor, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> None:
        """`setTileMapping` by columns: flattened interval i, [begins[i], ends[i]), goes to tiles[i]."""
        mapping.set_intervals(self.state, t, begins, ends, tiles)

    @overload
    def getTileMapping(
        self, t: Tensor, requireComplete: bool = True, allowExternal: bool = False
    ) -> TileToTensorMapping: ...
    @overload
    def getTileMapping(
        self, t: Tensor, *, isComplete: bool, allowExternal: bool = False
    ) -> tuple[TileToTensorMapping, bool]: ...
    def getTileMapping(
        self, t: Tensor, requireComplete: bool = True, allowExternal: bool = False, *, isComplete: bool | None = None
    ) -> TileToTensorMapping | tuple[TileToTensorMapping, bool]:
        """For each tile of the graph the intervals of the flattened tensor that it holds. With `isComplete` given, the
        pair of that and whether all elements are mapped.

        Raises `invalid_tile_mapping` when an element is unmapped and `requireComplete` (without `isComplete`), or lies
        on a tile that this virtual graph does not have and not `allowExternal`."""
        check_flags("Graph.getTileMapping", requireComplete=requireComplete, allowExternal=allowExternal)
        check_flags("Graph.getTileMapping", isComplete=isComplete is not None and isComplete)
        return mapping.tile_mapping(self.state, t, requireComplete, allowExternal, isComplete)

    def getTileMappingIntervals(self, t: Tensor) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(begins, ends, tiles): the flattened tensor as runs that are contiguous in memory and on one tile.

        Tiles are those of the device; -1 = unmapped. Nothing is merged across gaps in memory."""
        return mapping.intervals_of(self.state, t)

    def getVariableTileMapping(self, t: Tensor) -> TileToTensorMapping:
        """`getTileMapping` without the elements that are constants; elements without a tile are left out."""
        return mapping.variable_mapping(self.state, t)

    # ---- order of memory ---------------------------------------------------------------------------------------------

    @overload
    def getSortedContiguousRegions(
        self, t: Tensor, regions: Sequence[tuple[int, int]], removeAliasedIntervals: bool = False
    ) -> list[list[Interval]]: ...
    @overload
    def getSortedContiguousRegions(
        self,
        t: Tensor,
        regions: Sequence[tuple[int, int]],
        removeAliasedIntervals: bool = False,
        *,
        aliases: bool,
    ) -> tuple[list[list[Interval]], list[int]]: ...
    def getSortedContiguousRegions(
        self,
        t: Tensor,
        regions: Sequence[tuple[int, int]],
        removeAliasedIntervals: bool = False,
        aliases: bool | None = None,
    ) -> list[list[Interval]] | tuple[list[list[Interval]], list[int]]:
        """Flattened intervals of a tensor, grouped so that each group is one run of memory, in order of memory.

        `removeAliasedIntervals` leaves out elements that an earlier interval names. With `aliases`, the pair of that
        and one number for each interval returned, equal for intervals that are the same elements of memory; intervals
        are cut where only a part of them is. Raises `index_error` for intervals outside the tensor."""
        check_flags("Graph.getSortedContiguousRegions", removeAliasedIntervals=removeAliasedIntervals)
        check_flags("Graph.getSortedContiguousRegions", aliases=aliases is not None and aliases)
        return order.sorted_regions(self.state, t, regions, removeAliasedIntervals, aliases)

    def getSimplifyingRearranger(self, t: Tensor) -> TensorRearranger:
        """A rearranger that puts the elements of a tensor in the order of memory."""
        return order.simplifying_rearranger(self.state, t)

    def reorderToSimplify(
        self, t: Tensor, ts: Sequence[Tensor] = (), requireSimplestOrder: bool = True
    ) -> tuple[Tensor, list[Tensor]]:
        """(`t`, `ts`) reordered in the same way: `t` in the order of memory, which has the fewest contiguous regions.

        Without `requireSimplestOrder` a tensor that already is one evenly spaced view of one variable stays as it is,
        as no reordering makes it simpler to work with. Raises `index_error` unless all have rank 1 and the same number
        of elements."""
        return order.reordered(self.state, t, ts, requireSimplestOrder)

    def findUnbroadcastTensor(self, t: Tensor) -> Tensor:
        """The tensor before it was broadcast: each dimension cut to its shortest period."""
        return order.unbroadcast(self.state, t)

    # ---- codelets ----------------------------------------------------------------------------------------------------

    @overload
    def addCodelets(
        self, src: Codelets, type: CodeletFileType = CodeletFileType.Auto, compileFlags: str = "", targetName: str = ""
    ) -> bool: ...
    @overload
    def addCodelets(
        self, src: Codelets, type: CodeletFileType, compileFlags: str, compileOutput: Output, targetName: str = ""
    ) -> bool: ...
    @overload
    def addCodelets(self, xs: Sequence[Any], compileFlags: str = "", targetName: str = "") -> bool: ...
    @overload
    def addCodelets(
        self,
        stream: Stream,
        compileFlags: str = "",
        type: CodeletFileType = CodeletFileType.CppSource,
        targetName: str = "",
    ) -> bool: ...
    @overload
    def addCodelets(
        self,
        stream: Stream,
        compileFlags: str,
        compileOutput: Output,
        type: CodeletFileType = CodeletFileType.CppSource,
        targetName: str = "",
    ) -> bool: ...
    def addCodelets(self, *args: Any, **named: Any) -> bool:
        """Register codelets.

        - `src`: a path to a C or C++ source, to an object of `popvision popc` (.gp) or to a Python module; or a Python
          codelet class, or a module of them.
        - `xs`: a list of these; symbols of one source may be used by any other, in any order.
        - `stream`: a text or binary stream that holds source text, C++ unless `type` says CSource.

        `type`: the kind of a file whose suffix is not clear. `compileFlags`: further flags for the compiler, as on a
        command line. `compileOutput`: gets the compiler's output, instead of standard error. `targetName`: the target
        to take from an object, instead of that of the graph. Sources are compiled with the compiler of this machine;
        undefined symbols are resolved when an engine is built (`link_error`).

        Returns whether all were added: False where one had been added before. Raises `file_load_error` for missing
        files and unknown suffixes, `graph_program_compilation_error` for sources that do not compile, assembly, and a
        missing compiler, `graph_object_load_error` for objects of other tools, classes that are no vertices, a second
        vertex of a name, and a stream that was added before."""
        return codelets.add_codelets(self.state, args, named)

    def addCodeletPlaceholder(self, stream: Any, targetName: str = "") -> None:
        """Register vertex types described in JSON: a list of {"name", "type": "Vertex" | "SupervisorVertex" |
        "MultiVertex", "fields": {name: type}, "constraints": [...]}.

        Their code is given by a source with a function `__runCodelet_NAME(vertex)`, by a C++ class or by a Python
        codelet of the same name and fields, all through addCodelets; an engine without it cannot be built
        (`link_error`). Raises `parse_error` for text that is no such list."""
        codelets.add_placeholders(self.state, stream, targetName)

    @checks_arguments
    def hasCodelet(self, codeletName: str) -> bool:
        """Whether `addCodelets` registered a vertex type of this name."""
        return codeletName in self.store.vertex_types

    # ---- vertices ----------------------------------------------------------------------------------------------------

    def addComputeSet(self, debugContext: Context = "") -> ComputeSet:
        """Add a set of vertices that may run at the same time."""
        return vertices.add_compute_set(self.store, debugContext)

    def addVertex(self, cs: ComputeSet, vertexType: str | VertexType, connections: Connections = ()) -> VertexRef:
        """Add a vertex and connect fields: {field: what} or a list of (field, what), what being a tensor, a list of
        tensors, a value, or a field of another vertex (`(field, v["z"], False)`: the elements that v["z"] is connected
        to).

        A value for an edge field becomes a constant on the vertex's tile. Raises `unknown_vertex_type`,
        `unknown_field`, `type_error`, `graph_connection_error`."""
        try:
            return vertices.add_vertex(self.state, cs, vertexType, connections)
        except MISTAKES as error:
            refuse(error, Graph.addVertex, (self, cs, vertexType, connections), {})
            raise

    def addExternalExchangeVertex(
        self, cs: ComputeSet, vertexType: str | VertexType, incomingDownCount: int, usesEastEdge: bool, sendsXReq: bool
    ) -> VertexRef:
        """Add a vertex that exchanges data with the outside. Before it runs, its tile's register INCOMING_DCOUNT is set
        to `incomingDownCount` and INCOMING_MUX to the east or west edge, and all tiles with such vertices synchronise.

        A compute set holds at most one for each tile and no ordinary vertices beside; of the tiles of an exchange block
        context at most one sends the XREQ packet, the same in every compute set. Raises `graph_object_creation_error`,
        here or when the graph is compiled, where that does not hold."""
        return vertices.add_external_exchange_vertex(
            self.state, cs, vertexType, incomingDownCount, usesEastEdge, sendsXReq
        )

    def addVertices(
        self,
        cs: ComputeSet,
        vertexType: str | VertexType,
        tiles: npt.ArrayLike,
        edges: Mapping[str, FieldEdges | Tensor],
        values: Mapping[str, Any] | None = None,
        *,
        cycles: Int64Array | None = None,
        flops: Int64Array | None = None,
        debug_id: int | None = None,
    ) -> VertexBlock:
        """Add many vertices of one type at once, `tiles` holding the tile of each.

        `edges`: per edge field a `FieldEdges`, or a tensor whose first dimension counts the vertices (a vector field
        takes rank 2, a scalar field rank 1). `values`: per simple field one value for all or an array with one each."""
        return vertices.add_vertices(self.state, cs, vertexType, tiles, edges, values, cycles, flops, debug_id)

    def getNumVertices(self) -> int:
        return self.store.num_vertices

    # ---- fields of vertices ------------------------------------------------------------------------------------------

    @overload
    def connect(self, field: FieldRef, tensor: Tensor) -> None: ...
    @overload
    def connect(self, field: FieldRef, tensors: Sequence[Tensor]) -> None: ...
    @overload
    def connect(self, field: FieldRef, v: Any) -> None: ...
    def connect(self, *arguments: Any, **names: Any) -> None:
        """Connect a field, or one element of it (`v["in"][2]`), to a tensor, a list of tensors or a constant value.

        A scalar edge takes rank 0, a vector rank 1, a vector of edges rank 1, a vector of vectors rank 2 or a list; a
        value becomes a constant on the vertex's tile. Raises `graph_connection_error` for what does not fit,
        `type_error` for another element type, `unknown_field`."""
        try:
            fields.connect(self.state, arguments, names)
        except MISTAKES as error:
            refuse(error, Graph.connect, (self, *arguments), names)
            raise

    def setFieldSize(self, field: FieldRef, size: int) -> None:
        """Set the number of elements of a vector field. Its elements can be connected or set one by one, before or
        after: `connect(v["in"][i], t)`, `setInitialValue(v["table"][i], x)`.

        Raises `poplar_error` for a field that is no vector, `graph_connection_error` where it has another size,
        `index_error` for elements beyond it."""
        fields.set_field_size(self.state, field, size)

    def getFieldSize(self, field: FieldRef) -> int:
        """Elements of a vector field, inner vectors of a vector of vectors, elements of one of these (`v["rows"][i]`).

        Raises `no_size_specified` where nothing is connected or set, `poplar_error` for a field that is no vector."""
        return fields.field_size(self.state, field)

    def getMaxFieldDim(self, vertexName: str, fieldName: str, dimIndex: int) -> int:
        """The largest size of a dimension of a field: the largest count that vertex state can hold, or else the
        elements that fit into a tile's memory.

        Raises `index_error` where there is no such dimension, `poplar_error` for a field that is no vector."""
        return fields.max_field_dim(self.state, vertexName, fieldName, dimIndex)

    def getMaxVertexFieldValue(self, vertexName: str, fieldName: str) -> float:
        """The largest value of an element of a field; for QUARTER that of format F152 with scale 0."""
        return fields.max_field_value(self.store, vertexName, fieldName)

    def setInitCallback(self, field: FieldRef, callback: Callable[..., Any]) -> None:
        """Let `callback` give a simple field its value when the graph has been built and storage is allocated. It is
        called with a `VertexEdgeInfo`, or with nothing if it takes no argument. Until then the field has the value of
        setInitialValue, if any.

        Raises `poplar_error` for an edge, `graph_connection_error` for a callback that cannot be called."""
        fields.set_init_callback(self.state, field, callback)

    # ---- performance estimates ---------------------------------------------------------------------------------------

    @overload
    def setPerfEstimate(self, v: VertexRef, cycles: int, flops: int = 0) -> None: ...
    @overload
    def setPerfEstimate(self, v: VertexRef, estimate: VertexPerfEstimate) -> None: ...
    def setPerfEstimate(self, *arguments: Any, **names: Any) -> None:
        """Set the cycles and flops of a vertex, instead of the estimate of its type. Raises `poplar_error` for
        negative numbers."""
        estimates.set_estimate(self.state, arguments, names)

    def registerPerfEstimator(self, vertexTypeName: str, f: Callable[[Any, Target], VertexPerfEstimate | int]) -> None:
        """Estimate every vertex of a type by `f(VertexIntrospector, target)`, cycles or a `VertexPerfEstimate`.
        Raises `unknown_vertex_type`, and `poplar_error` for an `f` that cannot be called."""
        estimates.register_estimator(self.store, vertexTypeName, f)

    def setCycleEstimate(self, v: VertexRef, cycles: int) -> None:
        """`setPerfEstimate`, as version 1 spelled it."""
        self.setPerfEstimate(v, cycles)

    def getCycleEstimate(self, v: VertexRef) -> int:
        """The cycles of `getPerfEstimate`, as version 1 spelled it."""
        return self.getPerfEstimate(v).cycles

    def registerCycleEstimator(self, vertexTypeName: str, f: Callable[[Any, Target], VertexPerfEstimate | int]) -> None:
        """`registerPerfEstimator`, as version 1 spelled it."""
        self.registerPerfEstimator(vertexTypeName, f)

    def getPerfEstimate(self, v: VertexRef) -> VertexPerfEstimate:
        """The estimate that compilation uses for a vertex: set for it, or given by the estimator of its type.

        Raises `missing_perf_estimate` where the estimator raises, and for a codelet without estimator before an engine
        has run the graph with this vertex; after that it is the guess that the run used."""
        return estimates.estimate_of(self.state, v)

    def guessPerfEstimate(self, v: VertexRef) -> VertexPerfEstimate:
        """As `getPerfEstimate`, but for a codelet without estimator always the guess from its code, which compilation
        uses. Not in Poplar."""
        return estimates.estimate_of(self.state, v, guess=True)

    # ---- host and functions ------------------------------------------------------------------------------------------

    def addHostToDeviceFIFO(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        replicatedMode: ReplicatedStreamMode = ReplicatedStreamMode.REPLICATE,
        options: Mapping[str, Any] | None = None,
    ) -> DataStream:
        """A stream whose Copy programs read `numElements` elements from the host: in each replica its own (REPLICATE),
        or the same in all of them (BROADCAST).

        Options: splitLimit (bytes), bufferingDepth (entries prefetched ahead)."""
        return streams.host_to_device_fifo(self.store, handle, elementType, numElements, replicatedMode, options)

    def addDeviceToHostFIFO(
        self, handle: str, elementType: Type, numElements: int, options: Mapping[str, Any] | None = None
    ) -> DataStream:
        """A stream whose Copy programs write `numElements` elements to the host. Option: splitLimit (bytes)."""
        return streams.device_to_host_fifo(self.store, handle, elementType, numElements, options)

    @checks_arguments
    def createHostWrite(self, handle: str, t: Tensor, rearrangeOnHost: bool = False) -> None:
        """Let `Engine.writeTensor(handle, ...)` write the tensor."""
        streams.host_copy(self.state, "write", handle, t, rearrangeOnHost)

    @checks_arguments
    def createHostRead(self, handle: str, t: Tensor, rearrangeOnHost: bool = False) -> None:
        """Let `Engine.readTensor(handle, ...)` read the tensor."""
        streams.host_copy(self.state, "read", handle, t, rearrangeOnHost)

    def addRemoteBuffer(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        repeats: int = 1,
        rearrangeOnHost: bool = False,
        optimiseMemory: bool = False,
    ) -> RemoteBuffer:
        """Memory outside the IPU of `repeats` rows of `numElements` elements, one in each replica; zeros when loaded.
        Copy programs read and write whole rows.

        Raises `graph_object_creation_error` for a handle in use, a size below 1, or a value that is no type."""
        return streams.add_remote_buffer(
            self.store, handle, elementType, numElements, repeats, rearrangeOnHost, optimiseMemory
        )

    def addHostFunction(
        self, handle: str, inputs: Iterable[tuple[Type, int]], outputs: Iterable[tuple[Type, int]]
    ) -> HostFunction:
        """Declare code of the host that programs call by `Call(function, inputs, outputs)`. `inputs` and `outputs` are
        (type, elements) of each argument; `Engine.connectHostFunction` connects the code.

        Raises `graph_object_creation_error` for a handle in use and for arguments that are not such pairs."""
        return streams.add_host_function(self.store, handle, inputs, outputs)

    def addFunction(self, program: Program, debugContext: Context = "") -> Function:
        """Make a program, as it is now, callable: its code exists once, however often it is called."""
        return streams.add_function(self.store, program, debugContext)

    def addFunctionBuffer(self, f: Function, mappingType: FunctionBufferMappingType) -> FunctionBuffer:
        """A buffer that holds the code and constant graph state of a function, in tile memory (LOCAL) or outside
        (REMOTE). With one, the function's code is live only from `Copy(buffer, f)` to the last `Call(f)` after it."""
        return streams.add_function_buffer(self.store, f, mappingType)

    # ---- outputs -----------------------------------------------------------------------------------------------------

    def outputVertexGraph(self, outputStream: Any, progs: Sequence[Program] = ()) -> None:
        """Write vertices and the variables they are connected to as a dot graph; with programs, the vertices that these
        execute, and their copies (red)."""
        serialization.output_vertex_graph(self.store, outputStream, progs)

    def outputComputeGraph(self, outputStream: Any, progs: Sequence[Program] = ()) -> None:
        """Write compute sets and variables as a dot graph: green boxes are variables with their number of elements,
        blue boxes compute sets, orange boxes in them their number of vertices, yellow boxes variables that nothing is
        linked to (equal ones as one), black edges inputs and outputs, red edges copies of `progs`. With programs, only
        the compute sets that these execute."""
        serialization.output_compute_graph(self.store, outputStream, progs)

    @overload
    def serialize(self, out: Any, format: SerializationFormat) -> None: ...
    @overload
    def serialize(self, out: Any, progs: Sequence[Program], format: SerializationFormat) -> None: ...
    def serialize(self, *arguments: Any, **names: Any) -> None:
        """Write the graph as pretty-printed JSON or as Cap'n Proto messages (popvision/formats/serialized_graph.capnp);
        with programs, also the variables that their copies copy. It cannot be read back.

        Raises `poplar_error` for the binary format and a text file."""
        serialization.serialize(self.state, arguments, names)

    def serializeTensors(self, out: Any, tensors: Sequence[Tensor], format: SerializationFormat) -> None:
        """Write type, shape and expression of tensors, and type and number of elements of the variables that they are
        made of, as pretty-printed JSON or as a Cap'n Proto message (popvision/formats/tensor_views.capnp).

        Raises `poplar_error` for a tensor of another graph, and for the binary format and a text file."""
        serialization.serialize_tensors(self.store, out, tensors, format)

    def deserializeTensors(self, in_: Any, format: SerializationFormat = SerializationFormat.Binary) -> list[Tensor]:
        """Add the variables of serialized tensors to the graph and make the tensors again. The new variables have no
        tile mapping.

        Raises `poplar_error` for SerializationFormat.JSON, `parse_error` for data that do not fit together."""
        return serialization.deserialize_tensors(self.state, in_, format)
