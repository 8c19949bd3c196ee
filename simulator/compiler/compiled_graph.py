"""CompiledGraph: what the passes make of a graph, for the runtime, the report and the executable file.

It shares no state with the graph that could change: later edits of the graph never reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from popvision.formats.profile.model import Compilation
from popvision.formats.serialized_graph import SerializedGraph
from simulator.arrays import Int64Array
from simulator.compiler.blocks.recording import BlockRecording
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.program_visits import Place
from simulator.compiler.machine import Machine

if TYPE_CHECKING:
    from simulator.compiler.lowering.items import Items
    from simulator.graph.program import Program
    from simulator.graph.store import GraphStore


@dataclass(frozen=True)
class LoweredPrograms:
    """The lowered programs for the modelled clock. `branches[i]` is the row of program i, then of the host copies."""

    table: ProgramTable
    cycles: list[Int64Array | None]  #: per row, cycles per tile of the device
    branches: list[int]
    function_roots: dict[int, int]
    control_flow: bool = False  #: whether runs record what their loops and switches did
    blocks: BlockRecording | None = None  #: what lightweight profiling records
    spans: Mapping[Place, tuple[int, int]] = field(default_factory=dict)  #: rows that each program became

    def row_of(self, place: Place) -> int:
        """The row that stands for a program: the first of it that is no part of its exchanges; -1 where it has none."""
        first, end = self.spans.get(place, (0, 0))
        preparing = ("Sync", "DoExchange", "GlobalExchange", "OnTileExecute", "StreamCopyBegin")
        rows = range(first, end)
        return next((row for row in rows if self.table.type[row] not in preparing), first if end > first else -1)

    def place_of(self, row: int) -> Place | None:
        """The place of the innermost program that a row belongs to."""
        around = (place for place, (first, end) in self.spans.items() if first <= row < end)
        return min(around, key=lambda place: self.spans[place][1] - self.spans[place][0], default=None)


@dataclass(frozen=True)
class GraphSource:
    """What was compiled: for saving an executable, and for looking at edges while it runs."""

    store: GraphStore  #: as it was then
    programs: tuple[Program, ...]


@dataclass(frozen=True)
class Arrangements:
    """What the address-accurate mode needs besides the report. `items`: compute sets and copies with their
    arrangements; `programs`: the host program of each debug record; `part_of`: the variable that each of the report's
    last variables is a part of."""

    items: Items
    programs: Mapping[int, Program]
    part_of: Sequence[int] = ()


@dataclass(frozen=True)
class CompiledGraph:
    """What the passes made: the report's columns, the machine, the lowered programs, and their source."""

    compilation: Compilation
    machine: Machine
    lowered: LoweredPrograms
    num_programs: int
    debug_infos: list[dict[str, Any]]
    source: GraphSource
    serialized: SerializedGraph | None = None  #: kept when the settings ask for it
    out_of_memory: str = ""  #: one sentence about tiles whose memory is exceeded, "" when all fits
    arrangements: Arrangements | None = None  #: for the address-accurate mode, when the settings ask for it
