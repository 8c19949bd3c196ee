"""Copies of function buffers: bring a function's code and constant graph state to the tiles before a call.

A REMOTE buffer moves its bytes through the host link, in the three parts of a stream copy. A LOCAL buffer, and a copy
between LOCAL buffers, moves them within each tile. The number of bytes is known only when all programs are lowered, so
`simulator.compiler.memory.overlays` fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simulator.base.types import FunctionBufferMappingType
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.machine import Machine
from simulator.graph import program as host
from simulator.graph.objects import Function, FunctionBuffer

if TYPE_CHECKING:
    from simulator.compiler.lowering.exchange_plans import ExchangePlans


@dataclass(frozen=True)
class FunctionCopy:
    """A lowered copy of a function buffer. `row` holds its copy within tiles, or the Begin of its host copy."""

    copy: host.Copy
    row: int
    local: LocalCopy | None

    @property
    def function(self) -> int:
        return _function_of(self.copy)


def _function_of(copy: host.Copy) -> int:
    return copy.source.id if isinstance(copy.source, Function) else copy.source.function


def lower_function_copy(
    copy: host.Copy,
    table: ProgramTable,
    parent: int,
    plans: ExchangePlans,
    machine: Machine,
    host_group: str,
    debug_id: int,
) -> FunctionCopy:
    """Add the rows of a copy: through the host link, or within tiles. The caller adds the barrier."""
    name, row = copy.debug.getPathName() or f"function {_function_of(copy)}", len(table)
    if _is_remote(copy):
        for part in ("Begin", "Mid", "End"):
            work = Work(sync_group=host_group if part == "Begin" else "")
            table.add(parent, f"StreamCopy{part}", name, work=work, debug_id=debug_id)
        return FunctionCopy(copy, row, None)
    moved, runs, buffer = (np.zeros(machine.tiles, np.int64) for _ in range(3))
    local = LocalCopy(moved, runs, buffer)
    title = f"copy{plans.number()}_{name}/OnTileCopy-0"
    number = plans.add_local_copy(title, local)
    table.add(parent, "OnTileExecute", title, compute_set=number, debug_id=debug_id)
    return FunctionCopy(copy, row, local)


def _is_remote(copy: host.Copy) -> bool:
    """True where one end is outside the tiles."""
    ends = (copy.source, copy.destination)
    return any(isinstance(e, FunctionBuffer) and e.mapping is FunctionBufferMappingType.REMOTE for e in ends)
