"""cycleCount and cycleStamp: programs that read the cycle counters of tiles, on hardware.

Timing adds vertices of the supervisor behind barriers: a Sync and a compute set before what is timed, the same behind
it. So a count holds the work between the two readings: the program, the second barrier, and the rest of the first
vertex. What a vertex reads is the modelled clock of its tile, which runs on from load to load.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from simulator.base.errors import poplar_error
from simulator.base.target import TargetType
from simulator.base.types import UNSIGNED_INT, SyncType
from simulator.base.wrong_arguments import checks_arguments
from simulator.building.graph import Graph
from simulator.codelets.printing import running
from simulator.codelets.vertex import Input, Output, SupervisorVertex, Vector
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, Program, Sequence, Sync
from simulator.graph.programs.base import put_instead, require_changeable
from simulator.graph.tensor import Tensor
from simulator.machine.counters import DIFFERENCE_CYCLES, STAMP_CYCLES


class _TimeItStart(SupervisorVertex):
    """Stores the counter of its tile, the lower 32 bits first."""

    name = "poplar_rt::TimeItStart"
    reads_counter = True
    out = Output(Vector(UNSIGNED_INT, layout="one_ptr"))

    def compute(self) -> None:
        self.out[...] = _words(running.cycles())

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> int:
        return STAMP_CYCLES


class _TimeItEnd(SupervisorVertex):
    """Stores by how much the counter of its tile went on since an earlier stamp."""

    name = "poplar_rt::TimeItEnd"
    reads_counter = True
    startCount = Input(Vector(UNSIGNED_INT, layout="one_ptr"))
    out = Output(Vector(UNSIGNED_INT, layout="one_ptr"))

    def compute(self) -> None:
        low, high = (int(word) for word in np.asarray(self.startCount))
        self.out[...] = _words(running.cycles() - (high << 32 | low))

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> int:
        return DIFFERENCE_CYCLES


def _words(cycles: int) -> list[int]:
    return [cycles & 0xFFFFFFFF, cycles >> 32 & 0xFFFFFFFF]


@overload
def cycleCount(graph: Graph, prog: Sequence, tile: int, syncType: SyncType, debugContext: Context = "") -> Tensor: ...
@overload
def cycleCount(graph: Graph, prog: Sequence, tile: int, debugContext: Context = "", /) -> Tensor: ...
@checks_arguments
def cycleCount(
    graph: Graph,
    prog: Sequence,
    tile: int,
    syncType: SyncType | Context | None = None,
    debugContext: Context = "",
) -> Tensor:
    """Time a sequence on a tile. `prog` becomes: a barrier, a reading of the tile's cycle counter, what it was, a
    barrier, a second reading. Returns the difference, two UNSIGNED_INT, the lower 32 bits first.

    `syncType`: of the barriers. The form of version 1 has none: INTERNAL on one IPU, EXTERNAL on several.
    Raises `poplar_error` on an IPU Model, which has estimates and no counters; `invalid_tile_mapping` for a tile that
    the graph does not have."""
    barrier, context = _barrier(graph, prog, [tile], "cycleCount", syncType, debugContext)
    info = graph.addDebugInfo(context, "poplar", api="cycleCount")
    before, after = (graph.addVariable(UNSIGNED_INT, [2], (info, name)) for name in ("before", "cycles"))
    first = _reading(graph, [tile], _TimeItStart, [{"out": before}], info)
    second = _reading(graph, [tile], _TimeItEnd, [{"startCount": before, "out": after}], info)
    timed = Sequence(list(prog.programs), prog.debug)
    put_instead(prog, [Sync(barrier, info), first, timed, Sync(barrier, info), second])
    return after


@overload
def cycleStamp(graph: Graph, prog: Sequence, tile: int, syncType: SyncType, debugContext: Context = "") -> Tensor: ...
@overload
def cycleStamp(
    graph: Graph, prog: Sequence, tile: Iterable[int], syncType: SyncType, debugContext: Context = ""
) -> list[Tensor]: ...
@overload
def cycleStamp(graph: Graph, prog: Sequence, tile: int, debugContext: Context = "", /) -> Tensor: ...
@overload
def cycleStamp(graph: Graph, prog: Sequence, tile: Iterable[int], debugContext: Context = "", /) -> list[Tensor]: ...
@checks_arguments
def cycleStamp(
    graph: Graph,
    prog: Sequence,
    tile: int | Iterable[int],
    syncType: SyncType | Context | None = None,
    debugContext: Context = "",
) -> Tensor | list[Tensor]:
    """Append to `prog` a barrier and a reading of the cycle counter of a tile, or of several tiles at once. The counter
    runs on from load to load, through runs and copies of tensors by the host. Returns two UNSIGNED_INT for each tile,
    the lower 32 bits first; tiles differ by what each waits, so compare stamps of one tile.

    `syncType` and errors: as `cycleCount`."""
    tiles = [tile] if isinstance(tile, int) else list(tile)
    barrier, context = _barrier(graph, prog, tiles, "cycleStamp", syncType, debugContext)
    info = graph.addDebugInfo(context, "poplar", api="cycleStamp")
    stamps = [graph.addVariable(UNSIGNED_INT, [2], (info, "stamp")) for _ in tiles]
    reading = _reading(graph, tiles, _TimeItStart, [{"out": stamp} for stamp in stamps], info)
    prog.add(Sync(barrier, info))
    prog.add(reading)
    return stamps[0] if isinstance(tile, int) else stamps


def _barrier(
    graph: Graph,
    prog: Sequence,
    tiles: list[int],
    function: str,
    sync: SyncType | Context | None,
    context: Context,
) -> tuple[SyncType, Context]:
    """The kind of the barriers and the debug context of a call, of either form. Raises the call's errors."""
    target = graph.getTarget()
    if target.getTargetType() is not TargetType.IPU:
        raise poplar_error(
            f"{function} needs hardware: an IPU Model has estimates and no cycle counters. Take the device from a "
            "DeviceManager, or read the cycles of a model from its report."
        )
    for tile in tiles:
        graph.state.device_tile(tile)
    require_changeable(prog)
    if isinstance(sync, SyncType):
        return sync, context
    several = target.getNumIPUs() > 1
    return SyncType.EXTERNAL if several else SyncType.INTERNAL, context if sync is None else sync


def _reading(
    graph: Graph,
    tiles: list[int],
    codelet: type[SupervisorVertex],
    fields: list[dict[str, Tensor]],
    info: DebugInfo,
) -> Program:
    """A compute set with one vertex on each tile, which holds its tensors."""
    graph.addCodelets(codelet)
    cs = graph.addComputeSet((info, "timeIt"))
    for tile, connected in zip(tiles, fields, strict=True):
        for tensor in connected.values():
            graph.setTileMapping(tensor, tile)
        graph.setTileMapping(graph.addVertex(cs, str(vars(codelet)["name"]), connected), tile)
    return Execute(cs, info)
