"""Overhead memory: the compiler's own memory per tile, for code, vertices, counters, headers and stacks.

All of it is always live but the overlays of functions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.options.compile import CompileSettings
from simulator.compiler.ir.program_table import CONTROL, ProgramTable
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.lowering.lower import CONTROL_TILE
from simulator.compiler.machine import Machine
from simulator.compiler.memory.inventory import Inventory
from simulator.compiler.memory.vertex_memory import vertex_memory
from simulator.machine import footprint, host_exchange, links
from simulator.machine.block_records import BUFFER_SOURCE
from simulator.machine.footprint import SOURCE
from simulator.machine.vertex_code import VertexCode, vertex_code

if TYPE_CHECKING:
    from simulator.compiler.memory.overlays import Overlays
    from simulator.graph.vertices import VertexBlock, VertexType


#: Types of lowered programs that make loops and choices.
BRANCHING = ("Repeat", "RepeatWhile", "If", "Switch", "OnEveryTileSwitch")

#: The vertex type of local copies.
COPY_VERTEX = "poplar_rt::LocalCopy"


_CONTROL_CODE = {
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


def control_code(
    table: ProgramTable,
    machine: Machine,
    blocks: Sequence[VertexBlock],
    copies: Sequence[LocalCopy],
    compute_sets: int,
    settings: CompileSettings,
) -> list[Int64Array | None]:
    """Bytes of control code of each lowered program on every tile, without its children; None for no code.

    The graph has `compute_sets` of its own; those of local copies follow."""
    if not machine.counts_code:
        return [None] * len(table)
    state_is_low = settings.limit_vertex_state or machine.bytes_per_tile <= footprint.LOW_STATE_BYTES
    per_execute = footprint.CONTROL_CODE_PER_EXECUTE + (0 if state_is_low else footprint.CONTROL_CODE_HIGH_STATE)
    types = vertex_types_per_tile(blocks, copies, compute_sets, machine.tiles)
    counters = counters_per_set(settings, blocks, compute_sets, copies, machine)
    constant: dict[int, Int64Array] = {}
    code: list[Int64Array | None] = []
    executed: dict[int, Int64Array] = {}
    for row, type_ in enumerate(table.type):
        if type_ == "OnTileExecute" and row:
            compute_set = table.compute_set[row]
            if compute_set not in executed and compute_set in types:
                reading = footprint.CONTROL_CODE_PER_COUNTER * counters.get(compute_set, 0)
                executed[compute_set] = per_execute * types[compute_set] + reading
            code.append(executed.get(compute_set))
            continue
        size = footprint.CONTROL_CODE_ROOT if row == 0 else _CONTROL_CODE.get(type_, 0)
        if type_ in ("If", "Switch"):
            size += footprint.CONTROL_CODE_PER_BRANCH * max(0, len(table.children[row]) - 1)
        if size and size not in constant:
            constant[size] = np.full(machine.tiles, size, np.int64)
        code.append(constant[size] if size else None)
    _share_sequences(table, code, machine.tiles)
    return code


def _share_sequences(table: ProgramTable, code: list[Int64Array | None], tiles: int) -> None:
    """Let a Sequence that was added several times have its code once, as a function that each place calls: where that
    takes fewer bytes, and all places do the same. Bodies of functions keep their own, which may be in an overlay."""
    first: dict[int, int] = {}  # by debug record: the row with the code
    shared: dict[int, list[int]] = {}  # its further rows
    end = 0
    for row, type_ in enumerate(table.type):
        if row < end or type_ != "Sequence" or table.debug_id[row] < 0 or table.owner[row] != CONTROL:
            continue
        begin = first.setdefault(table.debug_id[row], row)
        last = _end_of(table, row)
        if begin != row and _does(table, begin) == _does(table, row):
            shared.setdefault(begin, []).append(row)
            end = last
    call = np.full(tiles, footprint.CONTROL_CODE_PER_CALL, np.int64)
    for begin, places in shared.items():
        body = np.zeros(tiles, np.int64)
        for size in code[begin : _end_of(table, begin)]:
            body += 0 if size is None else size
        if len(places) * int(body.max()) <= (len(places) + 1) * footprint.CONTROL_CODE_PER_CALL:
            continue
        code[begin] = call
        for place in places:
            below = _end_of(table, place) - place - 1
            code[place : place + 1 + below] = [call, *[None] * below]


def _end_of(table: ProgramTable, row: int) -> int:
    """The row behind a program and all below it."""
    while table.children[row]:
        row = table.children[row][-1]
    return row + 1


def _does(table: ProgramTable, row: int) -> list[tuple[str, int, int, int, int, int]]:
    """What the programs from a row to its end do, row by row, as far as code goes."""
    return [
        (
            table.type[i],
            table.parent[i] - row if i > row else 0,
            table.compute_set[i],
            table.repeat_count[i],
            table.function[i],
            id(table.work[i].exchange),
        )
        for i in range(row, _end_of(table, row))
    ]


def vertex_types_per_tile(
    blocks: Sequence[VertexBlock], copies: Sequence[LocalCopy], compute_sets: int, tiles: int
) -> dict[int, Int64Array]:
    """By compute set: the number of vertex types that it runs on each tile. Local copies are of one type."""
    present: dict[int, dict[str, BoolArray]] = {}
    for block in blocks:
        of_set = present.setdefault(block.compute_set, {})
        if block.type.name not in of_set:
            of_set[block.type.name] = np.zeros(tiles, np.bool_)
        of_set[block.type.name][block.tiles.astype(np.int64)] = True
    counts: dict[int, Int64Array] = {}
    for number, of_set in present.items():
        counts[number] = np.zeros(tiles, np.int64)
        for on_tile in of_set.values():
            counts[number] += on_tile
    for number, copy in enumerate(copies, compute_sets):
        counts[number] = _tiles_with_copies(copy).astype(np.int64)
    return counts


def add_vertices(
    inventory: Inventory, blocks: Sequence[VertexBlock], machine: Machine, overlaid: Container[int] = ()
) -> None:
    """Add state, field data and descriptors of vertices, and the code of their types, each under the type's name.
    `overlaid`: compute sets whose vertices belong to an overlay; only their code is added."""
    by_type: dict[str, list[VertexBlock]] = {}
    for block in blocks:
        by_type.setdefault(block.type.name, []).append(block)
    for name, mine in by_type.items():
        counted = [block for block in mine if block.compute_set not in overlaid]
        memory = [vertex_memory(block, machine.tiles, machine.architecture) for block in counted]
        columns = [_sum(getattr(m, part) for m in memory) for part in ("state", "field_data", "list_descriptors")]
        for category, size in zip(
            ("vertexInstanceState", "vertexFieldData", "vectorListDescriptor"), columns, strict=True
        ):
            inventory.add_overhead(category, name, size, SOURCE[category])
        if machine.counts_code:
            present = _sum(np.bincount(b.tiles.astype(np.int64), minlength=machine.tiles) for b in mine) > 0
            code = code_of(mine[0].type)
            inventory.add_overhead("vertexCode", name, present * code.bytes, code.source)


def code_of(type_: VertexType) -> VertexCode:
    """The code of a vertex type: its own figure, that of its compiled source, else that of its name."""
    if type_.code_bytes >= 0:
        return VertexCode(type_.code_bytes, f"{type_.provenance_of_code}: given by the vertex type")
    return vertex_code(type_.name) if type_.code is None else type_.code()


def add_local_copies(inventory: Inventory, copies: Sequence[LocalCopy], machine: Machine) -> None:
    """Add vertices and descriptors of local copies."""
    if not copies:
        return
    vertices = (np.maximum(c.runs, _tiles_with_copies(c)) for c in copies)
    state = _sum(footprint.COPY_VERTEX_STATE * n for n in vertices)
    inventory.add_overhead("vertexInstanceState", COPY_VERTEX, state, SOURCE["localCopyState"])
    several = _sum((c.runs > 1).astype(np.int64) for c in copies)
    descriptors = several * footprint.COPY_DESCRIPTOR
    inventory.add_overhead("copyDescriptor", "copyDescriptor", descriptors, SOURCE["copyDescriptor"])
    if machine.counts_code:
        code = vertex_code(COPY_VERTEX)
        present = (state > 0) * code.bytes
        inventory.add_overhead("vertexCode", COPY_VERTEX, present.astype(np.int64), code.source)


def add_programs(
    inventory: Inventory,
    table: ProgramTable,
    control: Sequence[Int64Array | None],
    packets: Int64Array,
    machine: Machine,
    overlays: Overlays,
) -> None:
    """Add the code of exchanges and control outside overlays, packet headers and control ids."""

    def own(category: str, size: Int64Array) -> None:
        inventory.add_overhead(category, category, size, SOURCE[category])

    overlay_exchanges, overlay_rows = overlays.exchanges(), overlays.rows()
    if machine.counts_code:
        for category, type_ in (("internalExchangeCode", "DoExchange"), ("globalExchangeCode", "GlobalExchange")):
            parts = [
                w.exchange.code
                for row, (t, w) in enumerate(zip(table.type, table.work, strict=True))
                if t == type_ and w.exchange is not None and w.code and row not in overlay_exchanges
            ]
            if parts:
                own(category, _sum(parts))
        host = [w.host_code for w in table.work if w.host_code is not None]
        own("hostExchangeCode", _sum(host))
        own("controlCode", _sum(c for row, c in enumerate(control) if c is not None and row not in overlay_rows))
    headers = host_exchange.HEADER_PER_TILE + host_exchange.HEADER_PER_PACKET * packets
    own("hostExchangePacketHeader", headers)
    ids = np.zeros(machine.tiles, np.int64)
    ids[CONTROL_TILE :: machine.tiles_per_ipu] = footprint.CONTROL_ID_BYTES
    own("controlId", ids)


def add_overlays(inventory: Inventory, overlays: Overlays, of_overlay: Int64Array) -> None:
    """Add the memory of overlays, live as `of_overlay` says, and the copies in LOCAL buffers, which are always live."""
    for number, overlay in enumerate(overlays.overlays):
        name = f"function {overlay.function}"
        for category, size in (("sharedCodeStorage", overlay.code), ("sharedDataStorage", overlay.data)):
            if size.any():
                inventory.add_overlay(category, name, size, int(of_overlay[number]))
            if number in overlays.stored:
                inventory.add_overhead(category, f"{name} buffer", size)


def add_packet_headers(inventory: Inventory, packets: Int64Array) -> None:
    """Add headers of packets to other IPUs."""
    category = "globalExchangePacketHeader"
    inventory.add_overhead(category, category, packets * links.PACKET_HEADER_BYTES, SOURCE[category])


def add_stacks(inventory: Inventory, settings: CompileSettings, machine: Machine) -> None:
    """Add stacks of workers and supervisor, where code is counted."""
    if machine.counts_code:
        size = footprint.stack_bytes(settings.worker_stack, settings.supervisor_stack)
        inventory.add_overhead("stack", "stack", np.full(machine.tiles, size, np.int64), SOURCE["stack"])


def counters_per_set(
    settings: CompileSettings,
    blocks: Sequence[VertexBlock],
    compute_sets: int,
    copies: Sequence[LocalCopy],
    machine: Machine,
) -> dict[int, Int64Array]:
    """By compute set with vertices (`compute_sets` of the graph, then `copies`): the counters on each tile. One per
    vertex; one on each tile with vertices; or one on one tile of an IPU or device."""
    level = settings.compute_level
    counters: dict[int, Int64Array] = {}
    for block in blocks if level else ():
        vertices = np.bincount(block.tiles.astype(np.int64), minlength=machine.tiles)
        counters[block.compute_set] = counters.get(block.compute_set, 0) + vertices
    for number, copy in enumerate(copies if level else (), compute_sets):
        if copy.counted and level != "vertex":
            counters[number] = _tiles_with_copies(copy).astype(np.int64)
    if level in ("ipu", "device"):
        ipus = machine.num_ipus if level == "ipu" else 1
        storing = np.zeros(machine.tiles, np.int64)
        tile = settings.profiling_tile % machine.tiles_per_ipu
        storing[np.arange(ipus) * machine.tiles_per_ipu + tile] = 1
        return dict.fromkeys((number for number, size in counters.items() if size.any()), storing)
    return counters if level == "vertex" else {number: np.minimum(size, 1) for number, size in counters.items()}


def add_counters(
    inventory: Inventory,
    settings: CompileSettings,
    blocks: Sequence[VertexBlock],
    compute_sets: int,
    copies: Sequence[LocalCopy],
    machine: Machine,
) -> None:
    """Add memory for cycle counts, a word for each of `counters_per_set`."""
    counters = counters_per_set(settings, blocks, compute_sets, copies, machine)
    size = np.zeros(machine.tiles, np.int64) + footprint.COUNTER_BYTES * _sum(counters.values())
    external = np.full(machine.tiles, footprint.EXTERNAL_COUNTER_BYTES if settings.external_exchange else 0, np.int64)
    category = "instrumentationResults"
    inventory.add_overhead(category, category, size + external)
    inventory.add_cost_term(category, "counters of compute sets", size, SOURCE["counters"])
    inventory.add_cost_term(category, "counters of exchanges with the host", external, SOURCE["externalCounters"])


def _tiles_with_copies(copy: LocalCopy) -> BoolArray:
    """Flags of the tiles on which a copy moves bytes or writes constants."""
    moving = copy.runs > 0
    return moving if copy.filled is None else moving | (copy.filled > 0)


def add_branch_record(inventory: Inventory, settings: CompileSettings, table: ProgramTable, machine: Machine) -> None:
    """Add memory for trips of loops and branches of switches: a word for each, on one tile."""
    if settings.control_flow:
        size = np.zeros(machine.tiles, np.int64)
        words = sum(type_ in BRANCHING for type_ in table.type)
        size[settings.branch_record_tile % machine.tiles] = words * footprint.BRANCH_RECORD_BYTES
        inventory.add_overhead("instrumentationResults", "branchRecord", size, SOURCE["branchRecord"])


def add_block_buffers(inventory: Inventory, settings: CompileSettings, tiles: Int64Array, machine: Machine) -> None:
    """Add the buffers of lightweight profiling on `tiles`."""
    if settings.records_blocks and len(tiles):
        size = np.zeros(machine.tiles, np.int64)
        size[tiles] = settings.block_buffer_bytes
        inventory.add_overhead("instrumentationResults", "blockBuffer", size, BUFFER_SOURCE)


def _sum(parts: Iterable[Int64Array]) -> Int64Array:
    total: Int64Array | int = 0
    for part in parts:
        total = total + part
    return np.asarray(total, dtype=np.int64)
