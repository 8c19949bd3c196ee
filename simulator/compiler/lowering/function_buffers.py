"""Copies of function buffers: how a function's code and constant graph state reach the tiles before it is called.

A REMOTE buffer moves its bytes through the host link, in the three parts of a stream copy; a LOCAL buffer, and a copy
from one LOCAL buffer to another, moves them within each tile. How many bytes there are is known when all programs are
lowered, so the nodes stand first and `settle` fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import FunctionBufferMappingType
from simulator.compiler.lowering.arrange import LocalCopy
from simulator.compiler.lowering.host_copies import HostCopy, bytes_copy
from simulator.compiler.lowering.program_table import ProgramTable, Work
from simulator.compiler.machine import Machine
from simulator.compiler.memory.overlays import Overlay, Overlays, overlay_of
from simulator.graph import program as host
from simulator.graph.objects import Function, FunctionBuffer

if TYPE_CHECKING:
    from simulator.compiler.lowering.items import Items
    from simulator.graph.vertices import VertexBlock


@dataclass(frozen=True)
class Pending:
    """A lowered copy of a function buffer: its copy within tiles is at `row`, or its host copy begins there."""

    copy: host.Copy
    row: int
    local: LocalCopy | None

    @property
    def function(self) -> int:
        return _function_of(self.copy)


def _function_of(copy: host.Copy) -> int:
    return copy.source.id if isinstance(copy.source, Function) else copy.source.function


def lowered(
    copy: host.Copy,
    table: ProgramTable,
    parent: int,
    items: Items,
    machine: Machine,
    host_group: str,
    debug_id: int,
) -> Pending:
    """Add the nodes of a copy: through the host link, or within tiles. A barrier is left to the caller."""
    name, row = f"function {_function_of(copy)}", len(table)
    if _is_remote(copy):
        for part in ("Begin", "Mid", "End"):
            work = Work(sync_group=host_group if part == "Begin" else "")
            table.add(parent, f"StreamCopy{part}", name, work=work, debug_id=debug_id)
        return Pending(copy, row, None)
    local = LocalCopy(*(np.zeros(machine.tiles, np.int64) for _ in range(3)))
    title = f"copy{items.number()}_{name}/OnTileCopy-0"
    number = items.add_local_copy(title, local)
    table.add(parent, "OnTileExecute", title, compute_set=number, debug_id=debug_id)
    return Pending(copy, row, local)


def _is_remote(copy: host.Copy) -> bool:
    """Whether one end is outside the tiles."""
    ends = (copy.source, copy.destination)
    return any(isinstance(e, FunctionBuffer) and e.mapping is FunctionBufferMappingType.REMOTE for e in ends)


def settle(
    pending: Sequence[Pending],
    table: ProgramTable,
    control: Sequence[Int64Array | None],
    blocks: Sequence[VertexBlock],
    packets: Int64Array,
    machine: Machine,
) -> Overlays:
    """Fill in what the copies move; `packets` (host packets per tile) grows by theirs. `control` = bytes of control
    code of every program."""
    called = list(dict.fromkeys(p.function for p in pending if p.function in table.function_roots))
    if not called:
        return Overlays()
    overlays = [overlay_of(function, table, control, blocks, machine) for function in called]
    loads, saves = {}, {}
    for copy in pending:
        if copy.function not in called:
            continue  # never called: there is no code to move
        number = called.index(copy.function)
        _fill(copy, overlays[number], table, packets, machine)
        moving = copy.row + 1 if copy.local is None else copy.row
        if isinstance(copy.copy.destination, Function):
            loads[moving] = number
        elif isinstance(copy.copy.source, Function):
            saves[moving] = number
    return Overlays(overlays, _stored(pending, called), loads, saves)


def _stored(pending: Sequence[Pending], called: Sequence[int]) -> frozenset[int]:
    """Overlays with a LOCAL buffer, which keeps a copy on the tiles."""
    ends = [end for p in pending if p.function in called for end in (p.copy.source, p.copy.destination)]
    local = [e for e in ends if isinstance(e, FunctionBuffer) and e.mapping is FunctionBufferMappingType.LOCAL]
    return frozenset(called.index(e.function) for e in local)


def _fill(pending: Pending, overlay: Overlay, table: ProgramTable, packets: Int64Array, machine: Machine) -> None:
    if pending.local is not None:
        pending.local.moved[:] = overlay.bytes
        pending.local.runs[:] = (overlay.code > 0).astype(np.int64) + (overlay.data > 0)
        return
    out = isinstance(pending.copy.destination, FunctionBuffer)
    figures: HostCopy = bytes_copy(overlay.bytes, not out, machine)
    begin, mid, end = (table.work[pending.row + part] for part in range(3))
    begin.host_wait = figures.host_wait
    mid.cycles, mid.rx, mid.tx, mid.host_code = figures.mid_cycles, figures.rx, figures.tx, figures.code
    end.cycles = figures.end_cycles
    packets += figures.packets
