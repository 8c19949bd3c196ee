"""What of the engine options the passes act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.compiler.blocks.selection import BlockSettings

if TYPE_CHECKING:
    from simulator.graph.preallocations import Parts


@dataclass(frozen=True)
class CompileSettings:
    memory: bool = True  #: work out liveness and layout
    lowered_variables: bool = True  #: keep every allocation of every tile for the report
    compute_level: str = ""  #: "" (counters off), "vertex", "tile", "ipu" or "device"
    external_exchange: bool = False  #: counters of exchanges with the outside
    control_flow: bool = False  #: record trips of loops and branches of switches
    branch_record_tile: int = -1  #: tile of the device that holds that record; -1 = the last
    profiling_tile: int = -1  #: tile of an IPU that holds counters at level "ipu"; -1 = the last
    worker_stack: int | None = None  #: bytes, None = computed
    supervisor_stack: int | None = None
    exchange_goal: str = "cycles"  #: what exchange code is made for: "cycles", "balanced" or "memory"
    limit_vertex_state: bool = False  #: vertex state lies where code can lie, so that control code reaches it faster
    multi_access_copies: bool = True  #: copies within tiles load and store in one cycle, from different elements
    serialized_graph: bool = False  #: keep the graph for serialized_graph.capnp
    sync_replicas_independently: bool = False  #: host copies use sync group GS1, not GS2
    flops: bool = False  #: put floating-point operations into the report
    deterministic_workers: bool = True  #: the same worker runs the same vertex in every compilation
    module: bool = False  #: one program without the control streams that select among several
    preallocations: Mapping[str, Parts | int] = field(default_factory=dict)  #: tiles of external variables by symbol
    step_by_step: bool = False  #: library operations compute set by compute set, not one kernel each
    address_accurate: bool = False  #: keep what simulator.runtime.address_accurate needs
    compilation_threads: int = 0  #: most threads that estimate; 0 = one for each processor
    write_combining: bool = False  #: the gateway joins what tiles send to the host
    verify: bool = False  #: look at the exchanges and the layout again, see simulator.compiler.checks.verify
    blocks: BlockSettings | None = None  #: lightweight profiling, None = off
    tiles_at_a_time: int = 0  #: whose allocations are put in order together, 0 = all
