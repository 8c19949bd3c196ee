"""The contents of profile.pop as columns: what the writer takes and the reader returns.

Nothing here opens a file. A producer fills a `Compilation` and one `RunRecord` per recorded run and hands
them to `ProfileWriter`; `ProfileReader` gives the same columns back. What grows with tiles, vertices, steps or
variables is one NumPy array per column; `ipu` and `tile` always count over all replicas, tiles IPU-major.

Units: bytes, tile clock cycles, microseconds since the epoch (host clock, never mixed with cycles).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from popvision.arrays import BoolArray, Float64Array, IntegerArray, UInt8Array
from popvision.formats.profile.program_types import PROGRAM_TYPES as PROGRAM_TYPES

#: The phase of an interval follows from the program type alone (DESIGN section 4). Types not named here take no time.
PHASE_OF_TYPE = {
    "OnTileExecute": "compute",
    "DoExchange": "exchange",
    "GlobalExchange": "global exchange",
    "StreamCopyBegin": "host",
    "StreamCopyMid": "host",
    "StreamCopyEnd": "host",
    "Sync": "sync",
    "SyncAns": "sync",
    "Sans": "sync",
}

#: Memory categories in the order reports print them.
CATEGORIES = (
    "variable",
    "constant",
    "hostExchangePacketHeader",
    "globalExchangePacketHeader",
    "stack",
    "vertexInstanceState",
    "copyDescriptor",
    "vectorListDescriptor",
    "vertexFieldData",
    "controlTable",
    "controlId",
    "controlCode",
    "vertexCode",
    "internalExchangeCode",
    "hostExchangeCode",
    "globalExchangeCode",
    "instrumentationResults",
    "message",
    "hostMessage",
    "globalMessage",
    "rearrangement",
    "outputEdge",
    "sharedCodeStorage",
    "sharedDataStorage",
    "multiple",
)

REGIONS = ("nonInterleaved", "interleaved", "overflowed")

#: Per-tile figures of programs, the fields of ProgramOnIpu.
PROGRAM_FIGURES = ("cycles", "rx", "tx", "exchange_code", "control_code")

Provenance = Literal["exact", "fitted", "given", "guess", "unknown"]
"""Class of a figure by where it comes from."""
#: What each class means, from the most certain to the least.
PROVENANCE_MEANS: dict[Provenance, str] = {
    "exact": "a public formula",
    "fitted": "a constant fitted to published figures",
    "given": "an estimate of the program",
    "guess": "a default, because no source states the cost",
    "unknown": "the report does not state the source",
}
PROVENANCE = tuple(PROVENANCE_MEANS)


@dataclass(frozen=True)
class Target:
    """The machine a program was compiled for."""

    type: str  #: "Ipu", "IpuModel" or "Cpu" (libpva's Target.Type)
    architecture: str  #: "Ipu1", "Ipu2" or "Ipu21"
    num_ipus: int  #: all replicas
    tiles_per_ipu: int
    bytes_per_tile: int
    clock_hz: float
    num_replicas: int = 1
    worker_contexts: int = 6
    exchange_bytes_per_cycle: float = 4.0  #: of one tile, each way
    link_bytes_per_cycle: float = 0.0  #: between IPUs, of one IPU, each way; 0 = not known
    host_bytes_per_cycle: float = 0.0  #: to and from the host, of one IPU; 0 = not known
    region_split: int = 0  #: byte offset within a tile at which interleaved memory begins
    min_sync_delay: int = 0  #: cycles
    relative_sync_delay: IntegerArray | None = None  #: cycles, one per tile of an IPU
    physical_tile: IntegerArray | None = (
        None  #: physical id of each tile of an IPU, for the floor plan and hardware order
    )

    @property
    def num_tiles(self) -> int:
        return self.num_ipus * self.tiles_per_ipu


@dataclass(frozen=True)
class Programs:
    """Every lowered program once; the row number is the Id that users see. Row r's children are
    `children[child_offsets[r]:child_offsets[r + 1]]`. Roots are rows that are nobody's child, in order."""

    type: list[str]
    name: list[str]
    owner: list[str]  #: "control" or "function": the list the program belongs to
    compute_set: IntegerArray  #: -1 where none
    repeat_count: IntegerArray  #: trips of a Repeat, 0 elsewhere
    debug_id: IntegerArray  #: -1 where none
    sync_type: list[str]  #: "" | "internal" | "external"
    child_offsets: IntegerArray
    children: IntegerArray
    #: Program that a Call runs (the root of a function), -1 for other programs; None where the report does not say,
    #: as those of format 1.0 do not.
    callee: IntegerArray | None = None


@dataclass(frozen=True)
class ProgramOnIpu:
    """Per-tile figures of one program on one IPU. None stands for zero on every tile where Compilation.known_figures
    lists the program under that figure, elsewhere for "not known"."""

    program: int
    ipu: int
    cycles: IntegerArray | None = None  #: estimated cycles per tile
    rx: IntegerArray | None = None  #: bytes received per tile
    tx: IntegerArray | None = None  #: bytes sent per tile, a multicast once
    exchange_code: IntegerArray | None = None  #: bytes per tile
    control_code: IntegerArray | None = None  #: bytes per tile, children not included


@dataclass(frozen=True)
class Messages:
    """Tile-to-tile traffic of one exchange program: row i sends `bytes[i]` from `src[i]` to `dst[i]`
    (global tile ids)."""

    program: int
    ipu: int
    src: IntegerArray
    dst: IntegerArray
    bytes: IntegerArray


@dataclass(frozen=True)
class Sendings:
    """Bytes that an exchange program sends, by number of receivers: tile `src[i]` (global id) sends `bytes[i]`, each
    to `receivers[i]` tiles. One row per tile and number of receivers; a byte sent twice to one tile counts twice.

    The bytes of a tile add up to those it sends (ProgramOnIpu.tx), bytes x receivers to those of its messages."""

    program: int
    ipu: int
    src: IntegerArray
    receivers: IntegerArray
    bytes: IntegerArray


@dataclass(frozen=True)
class ProgramVariables:
    """The variables that a program reads or writes by itself: ascending rows of Variables. Where a variable has parts
    that live at different times, the parts that are live while the program runs."""

    program: int
    variables: IntegerArray


@dataclass(frozen=True)
class ComputeSets:
    name: list[str]
    debug_id: IntegerArray
    flops: IntegerArray  #: floating point operations of one execution over all tiles, -1 where not known


@dataclass(frozen=True)
class VertexTypes:
    name: list[str]
    kind: list[str]  #: "worker", "supervisor" or "multi"
    state_bytes: IntegerArray  #: bytes of one instance's state
    code_bytes: IntegerArray  #: bytes of code on a tile that holds the type; -1 = not known


@dataclass(frozen=True)
class ComputeSetVertices:
    """Vertices of one type in one compute set on one IPU."""

    compute_set: int
    vertex_type: int
    ipu: int
    count: IntegerArray  #: instances per tile
    cycles: IntegerArray  #: summed cycles per tile; thread cycles for workers, tile cycles for others
    provenance: str  #: one of PROVENANCE
    flops: int = -1


@dataclass(frozen=True)
class CopyVertices:
    """Vertices of one type that copy within tiles, in one compute set on one IPU. The graph does not have them: they
    are no part of num_vertices, compute_set_vertices and vertex_lanes."""

    compute_set: int
    type: str
    ipu: int
    state_bytes: int  #: of all instances
    count: IntegerArray  #: instances per tile
    cycles: IntegerArray  #: summed thread cycles per tile


@dataclass(frozen=True)
class VertexLanes:
    """The worker of each vertex of one compute set on one IPU, grouped by tile.
    Tile t's vertices are rows `tile_offsets[t]:tile_offsets[t + 1]`."""

    compute_set: int
    ipu: int
    tile_offsets: IntegerArray
    vertex_type: IntegerArray
    thread_cycles: IntegerArray
    worker: IntegerArray  #: 0..5, or 255 for supervisor and multi vertices


@dataclass(frozen=True)
class CostTerm:
    """One term of a cycle or byte figure, for `popvision explain`.

    Terms of one object stand in the order of their derivation. Those whose text begins with "+ " or "- " are added or
    subtracted, and make up the figure; terms without an operator are facts that the following additions use (the
    number of a tile, inputs of a formula). A derivation names the tile whose figure it is in a fact "tile": for
    "computeSet:N" the busiest one, whose wall cycles the additions give exactly."""

    object: str  #: "program:12" (cycles of the program's busiest tile), "computeSet:3" ...
    term: str
    value: float  #: cycles or bytes for additions; as the text says for facts
    source: str  #: "<provenance>: <formula or rule and where it was published>", provenance one of PROVENANCE


@dataclass(frozen=True)
class TileMemory:
    """Totals per tile, all IPUs. `including_gaps` = highest used byte, `excluding_gaps` = bytes used,
    a shared address counted once."""

    including_gaps: IntegerArray
    excluding_gaps: IntegerArray
    always_live: IntegerArray
    not_always_live: IntegerArray  #: maximum over liveness indices of this tile's not-always-live bytes
    overflowed: IntegerArray


@dataclass(frozen=True)
class CategoryMemory:
    """Bytes per tile of one category in one region; `overlapped` = bytes whose address another allocation also uses.
    Overlapped bytes are counted once, in the category of the first allocation by address and id, so that all
    CategoryMemory of a tile add up to TileMemory.excluding_gaps."""

    category: str
    region: str
    overlapped: bool
    ipu: int
    bytes: IntegerArray


@dataclass(frozen=True)
class Variables:
    """Variables before lowering, and pseudo-variables named like categories (vertexCode, controlCode ...).

    A variable of which parts live at different times has a row for each part: the first row of it is its own number,
    the others stand behind all variables and have its name and debug id. Parts add up to the variable."""

    name: list[str]
    debug_id: IntegerArray
    bytes: IntegerArray  #: of the part, over all tiles
    always_live: BoolArray
    eq_class: IntegerArray  #: -1 for always-live ones, and for those that are never live and take no memory
    #: Row of the variable that each row is a part of, its own for most; None = every row is a variable. Reports before
    #: format 1.3 do not tell: there, parts are variables of one name and debug id.
    part_of: IntegerArray | None = None


@dataclass(frozen=True)
class EquivalenceClasses:
    """Half-open ranges of liveness indices at which the variables of a class are live; class c has rows
    `offsets[c]:offsets[c + 1]` of starts and ends."""

    offsets: IntegerArray
    starts: IntegerArray
    ends: IntegerArray


@dataclass(frozen=True)
class Liveness:
    """Row i = liveness index i: the program there, and the not-always-live bytes of one replica and of each IPU."""

    program: IntegerArray
    bytes: IntegerArray
    bytes_by_ipu: list[IntegerArray]


@dataclass(frozen=True)
class LoweredTile:
    """Allocations of one tile, sorted by address. Ids are `first_id + row`."""

    tile: int
    first_id: int
    bytes: IntegerArray
    address: IntegerArray  #: byte offset from the beginning of the tile's memory
    category: IntegerArray  #: index into CATEGORIES
    region: IntegerArray  #: index into REGIONS
    variable: IntegerArray  #: row of Variables, -1 where none
    eq_class: IntegerArray  #: row of EquivalenceClasses, -1 = always live
    name: IntegerArray  #: row of Compilation.lowered_names


@dataclass(frozen=True)
class Compilation:
    """The compiled program with its memory, its costs and its target."""

    target: Target
    programs: Programs
    compute_sets: ComputeSets
    vertex_types: VertexTypes
    tile_memory: TileMemory | None  #: None without a graph profile; likewise the lists below are empty
    num_vertices: int = 0
    num_edges: int = 0
    num_variables: int = 0
    program_on_ipu: Sequence[ProgramOnIpu] = ()
    #: By name of PROGRAM_FIGURES: ascending programs of which the figure is known on every tile.
    known_figures: Mapping[str, IntegerArray] = field(default_factory=dict)
    messages: Sequence[Messages] = ()
    sendings: Sequence[Sendings] = ()
    program_variables: Sequence[ProgramVariables] = ()
    compute_set_vertices: Sequence[ComputeSetVertices] = ()
    copy_vertices: Sequence[CopyVertices] = ()
    vertex_lanes: Sequence[VertexLanes] = ()
    cost_terms: Sequence[CostTerm] = ()
    category_memory: Sequence[CategoryMemory] = ()
    variables: Variables | None = None
    eq_classes: EquivalenceClasses | None = None
    liveness: Liveness | None = None
    #: (tile, category index, name index into lowered_names, bytes): rows of the published table vars_info
    vars_info: tuple[IntegerArray, IntegerArray, IntegerArray, IntegerArray] | None = None
    lowered: Sequence[LoweredTile] = ()
    lowered_names: list[str] = field(default_factory=list)
    #: JSON-able facts: poplarVersion, modelVersion, simulated, engineOptions, targetOptions, engineName, timestamp,
    #: reportId, runId, computeInstrumentation ("Off"|"Vertex"|"Tile"|"Ipu"|"Device"), externalExchangeInstrumentation,
    #: notRecorded (options that would have recorded steps which runs leave out), oncePerAttachment (programs of the
    #: engine that a framework runs when it takes a device or leaves it)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepOnIpu:
    """One distinct (start, cycles) pair of arrays: when each tile of one IPU is busy in a step.
    Tile t is busy in [base + start[t], base + start[t] + cycles[t]); cycles 0 = the tile takes no part. The arrays must
    not be written into once a run with this pattern was recorded."""

    start: IntegerArray
    cycles: IntegerArray


@dataclass(frozen=True)
class BranchRecord:
    """Trips and branches of one run, one row per Repeat and switch that it reached."""

    program: IntegerArray  #: lowered program, ascending
    entered: IntegerArray  #: how often the run entered it
    trips: IntegerArray  #: bodies (Repeat) or branches (switch) that ran


#: Kinds of blocks that lightweight profiling records.
COMMON, OVERFLOW, FLUSH, STREAM_COPY = range(4)

#: Kind of a block -> its name.
BLOCK_KINDS = {COMMON: "common", OVERFLOW: "overflow", FLUSH: "flush", STREAM_COPY: "stream copy"}


@dataclass(frozen=True)
class TileBlocks:
    """Blocks that lightweight profiling recorded on one tile in one run, by beginning, an outer block before those
    within it. Absolute cycles, on the axis of the steps where there are steps."""

    tile: int
    program: IntegerArray  #: lowered program, -1 for an overflow
    kind: IntegerArray  #: COMMON, OVERFLOW (the buffer was full), FLUSH (a copy that empties it) or STREAM_COPY
    start: IntegerArray
    end: IntegerArray


@dataclass(frozen=True)
class RunRecord:
    """One recorded Engine.run. Steps are rows; `pattern[step, ipu]` is an index into `patterns`, so a loop in steady
    state stores its arrays once. `base[step, ipu]` is absolute cycles since the first recorded run began."""

    program_index: int
    name: str
    host_start_us: int
    host_end_us: int
    cycles: int  #: length of the run in device cycles
    program: IntegerArray  #: lowered program of each step
    base: IntegerArray  #: (steps, ipus) i8
    pattern: IntegerArray  #: (steps, ipus) i4
    patterns: Sequence[StepOnIpu]
    tail: list[IntegerArray]  #: per IPU: cycles per tile between its last step and the end of the run
    data_in: IntegerArray | None = None  #: (steps, ipus) bytes received
    data_out: IntegerArray | None = None  #: (steps, ipus) bytes sent
    truncated: bool = False  #: the cap on recorded steps was reached
    branches: BranchRecord | None = None  #: None where control flow is not instrumented
    blocks: Sequence[TileBlocks] = ()  #: by ascending tile


@dataclass(frozen=True)
class Runs:
    program_index: IntegerArray
    name: list[str]
    host_start_us: IntegerArray
    host_end_us: IntegerArray
    first_step: IntegerArray
    n_steps: IntegerArray
    cycles: IntegerArray
    truncated: BoolArray


@dataclass(frozen=True)
class Steps:
    """Columns of the published table `steps`, all runs; row number = execution step."""

    type: UInt8Array  #: index into PROGRAM_TYPES
    program: IntegerArray
    compute_set: IntegerArray  #: -1 where none
    run: IntegerArray


@dataclass(frozen=True)
class StepsOnIpu:
    """Columns of `steps_by_ipu` for one IPU, row number = execution step. `cycles` = the step's length:
    cyclesTo.max - cyclesFrom.max over all tiles of the IPU; lengths add up to the total. From and to are absolute."""

    cycles: IntegerArray
    base: IntegerArray
    active_tiles: IntegerArray
    active_from_min: IntegerArray
    active_from_max: IntegerArray
    active_to_min: IntegerArray
    active_to_max: IntegerArray
    all_from_min: IntegerArray
    all_from_max: IntegerArray
    all_to_min: IntegerArray
    all_to_max: IntegerArray
    data_in: IntegerArray
    data_out: IntegerArray
    tile_balance: Float64Array  #: mean / max of cycles over all tiles, 0..1
    active_tile_balance: Float64Array  #: the same over tiles that take part
    start_array: IntegerArray  #: array id, for ProfileReader.array
    cycles_array: IntegerArray
    tile_cycles: IntegerArray  #: sum of cycles over all tiles; statistics of a window add these, without reading arrays
    max_cycles: IntegerArray  #: maximum of cycles over all tiles, so tile_balance = tile_cycles / (tiles * max_cycles)
