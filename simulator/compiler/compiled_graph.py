"""CompiledGraph: the compiler's result, for the runtime, the report and the executable file.

It shares no state with the graph that could change: later edits of the graph never reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from popvision.formats.profile.model import Compilation
from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.blocks.recording import BlockRecording
from simulator.compiler.cost.counted_sets import CountedSet
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.program_visits import Place
from simulator.compiler.machine import Machine

if TYPE_CHECKING:
    from simulator.compiler.lowering.exchange_plans import ExchangePlans
    from simulator.compiler.lowering.host_messages import HostMessages
    from simulator.graph.program import Program
    from simulator.graph.store import GraphStore


@dataclass(frozen=True)
class LoweredPrograms:
    """The lowered programs for the modelled clock. `branches[i]` is the row of program i, then of the host copies."""

    table: ProgramTable
    cycles: list[Int64Array | None]  #: per row, cycles per tile of the device
    branches: list[int]
    function_roots: dict[int, int]
    control_flow: bool = False  #: runs record trips of loops and branches of switches
    recorded: BoolArray | None = None  #: flags of the rows whose steps runs record, None = all
    blocks: BlockRecording | None = None  #: of lightweight profiling
    spans: Mapping[Place, tuple[int, int]] = field(default_factory=dict)  #: rows [first, end) of each program
    #: compute sets whose vertices count what they take in a run; `cycles` has the estimates of their rows
    counted: Mapping[int, CountedSet] = field(default_factory=dict)

    def row_of(self, place: Place) -> int:
        """The row that represents a program: its first one outside its exchanges; -1 for a program without rows."""
        first, end = self.spans.get(place, (0, 0))
        preparing = ("Sync", "DoExchange", "GlobalExchange", "OnTileExecute", "StreamCopyBegin")
        rows = range(first, end)
        return next((row for row in rows if self.table.type[row] not in preparing), first if end > first else -1)

    def place_of(self, row: int) -> Place | None:
        """The place of the innermost program that a row belongs to."""
        enclosing = (place for place, (first, end) in self.spans.items() if first <= row < end)
        return min(enclosing, key=lambda place: self.spans[place][1] - self.spans[place][0], default=None)


@dataclass(frozen=True)
class GraphSource:
    """The compiled graph and programs. Executables are saved with them; the numeric plan is made from them."""

    store: GraphStore  #: as it was when compiled
    programs: tuple[Program, ...]


@dataclass(frozen=True)
class Arrangements:
    """Input of the address-accurate mode besides the report. `store`: the graph with the `messages` of the host as
    variables; `plans`: compute sets and copies with their arrangements; `programs`: the host program of each debug
    record; `part_of`: the variable that each of the report's last variables is a part of."""

    store: GraphStore
    plans: ExchangePlans
    messages: HostMessages
    programs: Mapping[int, Program]
    part_of: Sequence[int] = ()


@dataclass(frozen=True)
class CompiledGraph:
    """The report's columns, the machine, the lowered programs, and their source."""

    compilation: Compilation
    machine: Machine
    lowered: LoweredPrograms
    num_programs: int
    debug_infos: list[dict[str, Any]]
    source: GraphSource
    out_of_memory: str = ""  #: one sentence about tiles whose memory is exceeded, "" when all fits
    arrangements: Arrangements | None = None  #: for the address-accurate mode, when the settings ask for it
    saved_graph: bytes = b""  #: serialized, of an executable from a file, whose store has no vertices
