"""Copies of function buffers: how a function's code and constant graph state reach the tiles before it is called.

A REMOTE buffer moves its bytes through the host link, in the three parts of a stream copy; a LOCAL buffer, and a copy
from one LOCAL buffer to another, moves them within each tile. How many bytes there are is known when all programs are
lowered, so the nodes stand first and `settle` fills them in.
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
    from simulator.compiler.lowering.items import Items


@dataclass(frozen=True)
class FunctionCopy:
    """A lowered copy of a function buffer: its copy within tiles is at `row`, or its host copy begins there."""

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
    items: Items,
    machine: Machine,
    host_group: str,
    debug_id: int,
) -> FunctionCopy:
    """Add the nodes of a copy: through the host link, or within tiles. A barrier is left to the caller."""
    name, row = f"function {_function_of(copy)}", len(table)
    if _is_remote(copy):
        for part in ("Begin", "Mid", "End"):
            work = Work(sync_group=host_group if part == "Begin" else "")
            table.add(parent, f"StreamCopy{part}", name, work=work, debug_id=debug_id)
        return FunctionCopy(copy, row, None)
    local = LocalCopy(*(np.zeros(machine.tiles, np.int64) for _ in range(3)))
    title = f"copy{items.number()}_{name}/OnTileCopy-0"
    number = items.add_local_copy(title, local)
    table.add(parent, "OnTileExecute", title, compute_set=number, debug_id=debug_id)
    return FunctionCopy(copy, row, local)


def _is_remote(copy: host.Copy) -> bool:
    """Whether one end is outside the tiles."""
    ends = (copy.source, copy.destination)
    return any(isinstance(e, FunctionBuffer) and e.mapping is FunctionBufferMappingType.REMOTE for e in ends)
