"""Always-live memory of the compiler's own, per tile: code, vertices, counters, headers, stacks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.options.compile import CompileSettings
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.lowering.lower import CONTROL_TILE
from simulator.compiler.machine import Machine
from simulator.compiler.memory.inventory import Inventory
from simulator.compiler.memory.vertex_memory import vertex_memory
from simulator.machine import footprint, host_exchange, links
from simulator.machine.block_records import BUFFER_SOURCE
from simulator.machine.footprint import SOURCE

if TYPE_CHECKING:
    from simulator.compiler.memory.overlays import Overlays
    from simulator.graph.vertices import VertexBlock


#: Lowered programs that decide what runs next, and how often.
BRANCHING = ("Repeat", "RepeatWhile", "If", "Switch", "OnEveryTileSwitch")

#: Name of the vertex that does local copies.
COPY_VERTEX = "poplar_rt::LocalCopy"


_CONTROL_CODE = {
    "OnTileExecute": footprint.CONTROL_CODE_PER_EXECUTE,
    "DoExchange": footprint.CONTROL_CODE_PER_EXCHANGE,
    "GlobalExchange": footprint.CONTROL_CODE_PER_EXCHANGE,
    "StreamCopyBegin": footprint.CONTROL_CODE_PER_STREAM_PART,
    "StreamCopyMid": footprint.CONTROL_CODE_PER_STREAM_PART,
    "StreamCopyEnd": footprint.CONTROL_CODE_PER_STREAM_PART,
    "Sync": footprint.CONTROL_CODE_PER_SYNC,
    "Repeat": footprint.CONTROL_CODE_PER_REPEAT,
    "Call": footprint.CONTROL_CODE_PER_CALL,
    "If": footprint.CONTROL_CODE_PER_CHOICE,
    "Switch": footprint.CONTROL_CODE_PER_CHOICE,
    "RepeatWhile": footprint.CONTROL_CODE_PER_WHILE,
    "SetLocalConsensusFromVar": footprint.CONTROL_CODE_PER_CONSENSUS,
    "SetLocalConsensus": footprint.CONTROL_CODE_PER_CONSENSUS,
    "GetGlobalConsensus": footprint.CONTROL_CODE_PER_CONSENSUS,
    "Abort": footprint.CONTROL_CODE_PER_ABORT,
    "AbortOnCondition": footprint.CONTROL_CODE_PER_ABORT,
}


def control_code(table: ProgramTable, machine: Machine, state_is_low: bool = False) -> list[Int64Array | None]:
    """Bytes of control code of each lowered program on every tile, children not included; None where there is none.
    `state_is_low`: vertex state lies below the border, so that one instruction loads its address."""
    if not machine.counts_code:
        return [None] * len(table)
    constant: dict[int, Int64Array] = {}
    code: list[Int64Array | None] = []
    for row, type_ in enumerate(table.type):
        size = footprint.CONTROL_CODE_ROOT if row == 0 else _CONTROL_CODE.get(type_, 0)
        if type_ in ("If", "Switch"):
            size += footprint.CONTROL_CODE_PER_BRANCH * max(0, len(table.children[row]) - 1)
        if state_is_low and type_ == "OnTileExecute":
            size -= footprint.CONTROL_CODE_LOW_STATE
        if size and size not in constant:
            constant[size] = np.full(machine.tiles, size, np.int64)
        code.append(constant[size] if size else None)
    return code


def add_vertices(
    inventory: Inventory, blocks: Sequence[VertexBlock], machine: Machine, elsewhere: Container[int] = ()
) -> None:
    """State, field data and descriptors of vertices, and the code of their types, each under the type's name.
    `elsewhere`: compute sets whose vertices' memory is counted elsewhere, but for their code."""
    by_type: dict[str, list[VertexBlock]] = {}
    for block in blocks:
        by_type.setdefault(block.type.name, []).append(block)
    for name, mine in by_type.items():
        here = [block for block in mine if block.compute_set not in elsewhere]
        memory = [vertex_memory(block, machine.tiles, machine.architecture) for block in here]
        columns = [_sum(getattr(m, part) for m in memory) for part in ("state", "field_data", "list_descriptors")]
        for category, size in zip(
            ("vertexInstanceState", "vertexFieldData", "vectorListDescriptor"), columns, strict=True
        ):
            inventory.add_own(category, name, size, SOURCE[category])
        if machine.counts_code:
            present = _sum(np.bincount(b.tiles.astype(np.int64), minlength=machine.tiles) for b in mine) > 0
            type_ = mine[0].type
            source = f"{type_.provenance_of_code}: said by the type" if type_.code_bytes >= 0 else SOURCE["vertexCode"]
            inventory.add_own("vertexCode", name, present * code_bytes(mine[0]), source)


def code_bytes(block: VertexBlock) -> int:
    """Bytes of code of a block's type: its own figure, else a guess."""
    return block.type.code_bytes if block.type.code_bytes >= 0 else footprint.VERTEX_CODE_GUESS


def add_local_copies(inventory: Inventory, copies: Sequence[LocalCopy], machine: Machine) -> None:
    """Vertices and descriptors of local copies."""
    if not copies:
        return
    vertices = (np.maximum(c.runs, _copies_there(c)) for c in copies)
    state = _sum(footprint.COPY_VERTEX_STATE * n for n in vertices)
    inventory.add_own("vertexInstanceState", COPY_VERTEX, state, SOURCE["localCopyState"])
    further = _sum(np.maximum(c.runs - 1, 0) for c in copies)
    descriptors = further * footprint.COPY_DESCRIPTOR_PER_RUN
    inventory.add_own("copyDescriptor", "copyDescriptor", descriptors, SOURCE["copyDescriptor"])
    if machine.counts_code:
        present = (state > 0) * footprint.VERTEX_CODE_GUESS
        inventory.add_own("vertexCode", COPY_VERTEX, present.astype(np.int64), SOURCE["vertexCode"])


def add_programs(
    inventory: Inventory,
    table: ProgramTable,
    control: Sequence[Int64Array | None],
    packets: Int64Array,
    machine: Machine,
    overlays: Overlays,
) -> None:
    """Code of exchanges and control that is not in an overlay, packet headers, control ids."""

    def own(category: str, size: Int64Array) -> None:
        inventory.add_own(category, category, size, SOURCE[category])

    apart, gone = overlays.exchanges(), overlays.rows()
    if machine.counts_code:
        for category, type_ in (("internalExchangeCode", "DoExchange"), ("globalExchangeCode", "GlobalExchange")):
            parts = [
                w.exchange.code
                for row, (t, w) in enumerate(zip(table.type, table.work, strict=True))
                if t == type_ and w.exchange is not None and w.code and row not in apart
            ]
            if parts:
                own(category, _sum(parts))
        host = [w.host_code for w in table.work if w.host_code is not None]
        own("hostExchangeCode", _sum(host))
        own("controlCode", _sum(c for row, c in enumerate(control) if c is not None and row not in gone))
    headers = host_exchange.HEADER_PER_TILE + host_exchange.HEADER_PER_PACKET * packets
    own("hostExchangePacketHeader", headers)
    ids = np.zeros(machine.tiles, np.int64)
    ids[CONTROL_TILE :: machine.tiles_per_ipu] = footprint.CONTROL_ID_BYTES
    own("controlId", ids)


def add_packet_headers(inventory: Inventory, packets: Int64Array) -> None:
    """Headers of packets to other IPUs."""
    category = "globalExchangePacketHeader"
    inventory.add_own(category, category, packets * links.PACKET_HEADER_BYTES, SOURCE[category])


def add_stacks(inventory: Inventory, settings: CompileSettings, machine: Machine) -> None:
    """Stacks of workers and supervisor, where code is counted."""
    if machine.counts_code:
        size = footprint.stack_bytes(settings.worker_stack, settings.supervisor_stack)
        inventory.add_own("stack", "stack", np.full(machine.tiles, size, np.int64), SOURCE["stack"])


def add_counters(
    inventory: Inventory,
    settings: CompileSettings,
    blocks: Sequence[VertexBlock],
    compute_sets: int,
    copies: Sequence[LocalCopy],
    machine: Machine,
) -> None:
    """Where cycle counts are stored: per vertex, per compute set and tile that has vertices in it (of `compute_sets` of
    the graph and of `copies`), or on one tile for all of an IPU (device)."""
    size = np.zeros(machine.tiles, np.int64)
    word = footprint.COUNTER_BYTES
    if settings.compute_level == "vertex":
        for block in blocks:
            size += word * np.bincount(block.tiles.astype(np.int64), minlength=machine.tiles)
    elif settings.compute_level == "tile":
        for present in _occupied(blocks, copies, machine.tiles):
            size += word * present
    elif settings.compute_level in ("ipu", "device"):
        ipus = machine.num_ipus if settings.compute_level == "ipu" else 1
        tile = settings.profiling_tile % machine.tiles_per_ipu
        size[np.arange(ipus) * machine.tiles_per_ipu + tile] = word * (compute_sets + len(copies))
    external = np.full(machine.tiles, footprint.EXTERNAL_COUNTER_BYTES if settings.external_exchange else 0, np.int64)
    category = "instrumentationResults"
    inventory.add_own(category, category, size + external)
    inventory.explain(category, "counters of compute sets", size, SOURCE["counters"])
    inventory.explain(category, "counters of exchanges with the outside", external, SOURCE["externalCounters"])


def _occupied(blocks: Sequence[VertexBlock], copies: Sequence[LocalCopy], tiles: int) -> Iterator[BoolArray]:
    """Per compute set, whether each tile has vertices in it."""
    present: dict[int, BoolArray] = {}
    for block in blocks:
        present.setdefault(block.compute_set, np.zeros(tiles, np.bool_))[block.tiles] = True
    yield from present.values()
    yield from (_copies_there(copy) for copy in copies)


def _copies_there(copy: LocalCopy) -> BoolArray:
    """Tiles on which a copy has vertices: it moves something there, or writes constants."""
    moving = copy.runs > 0
    return moving if copy.filled is None else moving | (copy.filled > 0)


def add_branch_record(inventory: Inventory, settings: CompileSettings, table: ProgramTable, machine: Machine) -> None:
    """Where trips of loops and branches of switches are stored: a word for each of them, on one tile."""
    if settings.control_flow:
        size = np.zeros(machine.tiles, np.int64)
        words = sum(type_ in BRANCHING for type_ in table.type)
        size[settings.branch_record_tile % machine.tiles] = words * footprint.BRANCH_RECORD_BYTES
        inventory.add_own("instrumentationResults", "branchRecord", size, SOURCE["branchRecord"])


def add_block_buffers(inventory: Inventory, settings: CompileSettings, tiles: Int64Array, machine: Machine) -> None:
    """Where lightweight profiling stores what it records, on `tiles`."""
    if settings.records_blocks and len(tiles):
        size = np.zeros(machine.tiles, np.int64)
        size[tiles] = settings.block_buffer_bytes
        inventory.add_own("instrumentationResults", "blockBuffer", size, BUFFER_SOURCE)


def _sum(parts: Iterable[Int64Array]) -> Int64Array:
    total: Int64Array | int = 0
    for part in parts:
        total = total + part
    return np.asarray(total, dtype=np.int64)
