"""Overlays: functions whose code comes from a function buffer and is live only from that copy to the call.

The overlay of a function is what belongs to it alone: control code of its programs, code of exchanges that no other
program runs, and constant graph state, that is, state, field data and descriptors of vertices in compute sets that no
other program executes. Code of vertex types and of copies within tiles stays outside, since other functions may use it.
A LOCAL buffer keeps a second copy of the overlay on the same tiles for the whole program; a REMOTE one keeps it outside
and moves it through the host link. The documentation says what moves and when it is live, not how; categories
sharedCodeStorage and sharedDataStorage are those of published reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import FunctionBufferMappingType
from simulator.compiler.exchange.host_copies import HostCopy, bytes_copy, unasked
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.static_order import StaticOrder
from simulator.compiler.lowering.function_buffers import FunctionCopy
from simulator.compiler.machine import Machine
from simulator.compiler.memory.vertex_memory import vertex_memory
from simulator.graph.objects import Function, FunctionBuffer

if TYPE_CHECKING:
    from simulator.graph.vertices import VertexBlock


@dataclass(frozen=True)
class Overlay:
    """Bytes per tile of one function's overlay; `rows` are the programs of its body."""

    function: int
    rows: frozenset[int]
    exchanges: frozenset[int]  #: programs of `rows` whose exchange code is in the overlay
    compute_sets: frozenset[int]
    code: Int64Array
    data: Int64Array

    @property
    def bytes(self) -> Int64Array:
        return self.code + self.data


@dataclass(frozen=True)
class Overlays:
    """All overlays, numbered by position. `stored`: those with a LOCAL buffer."""

    overlays: Sequence[Overlay] = ()
    stored: frozenset[int] = frozenset()
    loads: dict[int, int] = field(default_factory=dict)  #: row that loads an overlay -> its number
    saves: dict[int, int] = field(default_factory=dict)  #: row that stores an overlay -> its number

    def __len__(self) -> int:
        return len(self.overlays)

    def rows(self) -> frozenset[int]:
        """Programs whose control code is in an overlay."""
        return frozenset().union(*(o.rows for o in self.overlays))

    def exchanges(self) -> frozenset[int]:
        """Programs whose exchange code is in an overlay."""
        return frozenset().union(*(o.exchanges for o in self.overlays))

    def compute_sets(self) -> frozenset[int]:
        """Compute sets whose vertices' state is in an overlay."""
        return frozenset().union(*(o.compute_sets for o in self.overlays))

    def uses(self, order: StaticOrder) -> Iterator[tuple[int, int, bool]]:
        """(overlay, position, loaded) over the static order; `loaded` is false for a use."""
        users = {row: number for number, overlay in enumerate(self.overlays) for row in overlay.rows} | self.saves
        for position, row in enumerate(order.program):
            if row in self.loads:
                yield self.loads[row], position, True
            elif row in users:
                yield users[row], position, False


def fill_function_copies(
    pending: Sequence[FunctionCopy],
    table: ProgramTable,
    control: Sequence[Int64Array | None],
    blocks: Sequence[VertexBlock],
    packets: Int64Array,
    machine: Machine,
) -> Overlays:
    """Fill in the figures of function copies, and add their packets to `packets` (host packets per tile). `control` =
    bytes of control code of every program."""
    called = list(dict.fromkeys(p.function for p in pending if p.function in table.function_roots))
    if not called:
        return Overlays()
    overlays = [_overlay_of(function, table, control, blocks, machine) for function in called]
    loads, saves = {}, {}
    for copy in pending:
        if copy.function not in called:
            continue  # a function that is never called has no code
        number = called.index(copy.function)
        _fill(copy, overlays[number], table, packets, machine)
        moving = copy.row + 1 if copy.local is None else copy.row
        if isinstance(copy.copy.destination, Function):
            loads[moving] = number
        elif isinstance(copy.copy.source, Function):
            saves[moving] = number
    return Overlays(overlays, _stored(pending, called), loads, saves)


def _stored(pending: Sequence[FunctionCopy], called: Sequence[int]) -> frozenset[int]:
    """Overlays with a LOCAL buffer."""
    ends = [end for p in pending if p.function in called for end in (p.copy.source, p.copy.destination)]
    local = [e for e in ends if isinstance(e, FunctionBuffer) and e.mapping is FunctionBufferMappingType.LOCAL]
    return frozenset(called.index(e.function) for e in local)


def _fill(pending: FunctionCopy, overlay: Overlay, table: ProgramTable, packets: Int64Array, machine: Machine) -> None:
    if pending.local is not None:
        pending.local.moved[:] = overlay.bytes
        pending.local.runs[:] = (overlay.code > 0).astype(np.int64) + (overlay.data > 0)
        return
    out = isinstance(pending.copy.destination, FunctionBuffer)
    figures: HostCopy = unasked(bytes_copy(overlay.bytes, not out, machine), machine)
    begin, mid, end = (table.work[pending.row + part] for part in range(3))
    begin.host_wait = figures.host_wait
    mid.cycles, mid.rx, mid.tx, mid.host_code = figures.mid_cycles, figures.rx, figures.tx, figures.code
    end.cycles = figures.end_cycles
    packets += figures.packets


def _overlay_of(
    function: int,
    table: ProgramTable,
    control: Sequence[Int64Array | None],
    blocks: Sequence[VertexBlock],
    machine: Machine,
) -> Overlay:
    """The overlay of a function. `control` = bytes of control code of every program."""
    rows = _below(table, table.function_roots[function])
    outside = [row for row in range(len(table)) if row not in rows]
    shared_exchanges = {id(table.work[row].exchange) for row in outside}
    shared_sets = {table.compute_set[row] for row in outside}
    exchanges = frozenset(
        row
        for row in rows
        if (e := table.work[row].exchange) is not None and table.work[row].code and id(e) not in shared_exchanges
    )
    compute_sets = frozenset(table.compute_set[row] for row in rows) - shared_sets - {-1}
    code, data = (np.zeros(machine.tiles, np.int64) for _ in range(2))
    if machine.counts_code:
        for row in rows:
            code += 0 if (own := control[row]) is None else own
        for row in exchanges:
            code += 0 if (exchange := table.work[row].exchange) is None else exchange.code
    for block in blocks:
        if block.compute_set in compute_sets:
            memory = vertex_memory(block, machine.tiles, machine.architecture)
            data += memory.state + memory.field_data + memory.list_descriptors
    return Overlay(function, frozenset(rows), exchanges, compute_sets, code, data)


def _below(table: ProgramTable, root: int) -> set[int]:
    rows, pending = set(), [root]
    while pending:
        row = pending.pop()
        rows.add(row)
        pending += table.children[row]
    return rows
