"""setFloatingPointBehaviour and related functions: programs that set the floating-point flags of tiles.

The device has one such register per tile; the simulator has one for all tiles of an engine, because one kernel computes
for many tiles at once. So a program made with a virtual graph changes the other tiles too. The flags stay as they are
until another program changes them or the engine is loaded again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from simulator.base.errors import poplar_error
from simulator.base.types import UNSIGNED_INT
from simulator.base.wrong_arguments import checks_arguments, constructor_checks_arguments
from simulator.building.graph import Graph
from simulator.codelets.float_state import BITS, current
from simulator.codelets.vertex import Input, Output, SupervisorVertex
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, Sequence
from simulator.graph.tensor import Tensor

_ALL = (1 << len(BITS)) - 1


@constructor_checks_arguments
@dataclass(frozen=True)
class FloatingPointBehaviour:
    """The flags of floating-point arithmetic on tiles. inv, div0, oflo: stop the program at an invalid operation, a
    division by zero, an overflow; esr: round halves stochastically; nanoo: NaN where a half overflows, in place of the
    largest half."""

    inv: bool = True
    div0: bool = True
    oflo: bool = True
    esr: bool = True
    nanoo: bool = True

    def word(self) -> int:
        """The flags as one number, which getAndModifyFloatingPointBehaviour returns for each tile."""
        return sum(1 << bit for bit, name in enumerate(BITS) if getattr(self, name))

    def __and__(self, other: FloatingPointBehaviour) -> FloatingPointBehaviour:
        return FloatingPointBehaviour(*(getattr(self, f.name) and getattr(other, f.name) for f in fields(self)))

    def __or__(self, other: FloatingPointBehaviour) -> FloatingPointBehaviour:
        return FloatingPointBehaviour(*(getattr(self, f.name) or getattr(other, f.name) for f in fields(self)))

    def __invert__(self) -> FloatingPointBehaviour:
        return FloatingPointBehaviour(*(not getattr(self, f.name) for f in fields(self)))


class _ModifyFloatingPoint(SupervisorVertex):
    """Clears flags, then sets flags of the register; `before` gets the old flags. Only the vertex of the last tile
    writes the one register that all tiles share here, after all of them have read it."""

    name = "poplar_rt::ModifyFloatingPoint"
    before = Output(UNSIGNED_INT)
    clearVal = UNSIGNED_INT
    setVal = UNSIGNED_INT
    writes = UNSIGNED_INT

    def compute(self) -> None:
        self.before = current().word()
        if self.writes:
            clear, set_ = self.clearVal, self.setVal
            current().change(int(clear), int(set_))  # type: ignore[call-overload]  # numbers inside compute

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> int:
        # A guess: get, two logical operations, put, store and return, six cycles each on the supervisor.
        return 6 * 6


class _RestoreFloatingPoint(SupervisorVertex):
    """Puts back a word that _ModifyFloatingPoint gave."""

    name = "poplar_rt::RestoreFloatingPoint"
    word = Input(UNSIGNED_INT)

    def compute(self) -> None:
        current().change(_ALL, int(self.word))

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> int:
        return 3 * 6  # a guess: load, put, return


@checks_arguments
def setFloatingPointBehaviour(
    graph: Graph, prog: Sequence, behaviour: FloatingPointBehaviour | Tensor, debugContext: Context = ""
) -> None:
    """Append to `prog` a program that sets the behaviour of all tiles: the flags given, or those of a tensor that
    getAndModifyFloatingPointBehaviour returned. Raises `poplar_error` for anything else."""
    if isinstance(behaviour, Tensor):
        _restore(graph, prog, behaviour, debugContext)
    else:
        _modify(graph, prog, _ALL, behaviour.word(), debugContext)


@checks_arguments
def setStochasticRounding(graph: Graph, prog: Sequence, behaviour: bool, debugContext: Context = "") -> None:
    """Append to `prog` a program that turns stochastic rounding of halves on or off, and changes nothing else."""
    esr = FloatingPointBehaviour(False, False, False, True, False).word()
    _modify(graph, prog, 0 if behaviour else esr, esr if behaviour else 0, debugContext)


@checks_arguments
def getAndModifyFloatingPointBehaviour(
    graph: Graph,
    prog: Sequence,
    clear: FloatingPointBehaviour,
    set: FloatingPointBehaviour,
    debugContext: Context = "",
) -> Tensor:
    """Append to `prog` a program that clears the flags of `clear`, then sets those of `set`; returns a tensor with one
    word per tile that gets the old flags, which setFloatingPointBehaviour restores."""
    return _modify(graph, prog, clear.word(), set.word(), debugContext)


def _modify(graph: Graph, prog: Sequence, clear: int, set_: int, context: Context) -> Tensor:
    info = graph.addDebugInfo(context, "poplar", api="modifyFloatingPoint")
    tiles = graph.getTarget().getNumTiles()
    before = graph.addVariable(UNSIGNED_INT, [tiles], (info, "floatingPointBehaviour"))
    graph.addCodelets(_ModifyFloatingPoint)
    cs = graph.addComputeSet((info, "setFloatingPointBehaviour"))
    for tile in range(tiles):
        graph.setTileMapping(before[tile], tile)
        fields = {"before": before[tile], "clearVal": clear, "setVal": set_, "writes": int(tile == tiles - 1)}
        vertex = graph.addVertex(cs, _ModifyFloatingPoint.name, fields)
        graph.setTileMapping(vertex, tile)
    prog.add(Execute(cs, info))
    return before


def _restore(graph: Graph, prog: Sequence, words: Tensor, context: Context) -> None:
    if words.elementType() is not UNSIGNED_INT or words.shape() != [graph.getTarget().getNumTiles()]:
        raise poplar_error(
            f"setFloatingPointBehaviour: a tensor of {words.elementType()} {words.shape()} holds no behaviour; give "
            "the one that getAndModifyFloatingPointBehaviour returned."
        )
    info = graph.addDebugInfo(context, "poplar", api="setFloatingPointBehaviour")
    graph.addCodelets(_RestoreFloatingPoint)
    cs = graph.addComputeSet((info, "setFloatingPointBehaviour"))
    for tile in range(graph.getTarget().getNumTiles()):
        vertex = graph.addVertex(cs, _RestoreFloatingPoint.name, {"word": words[tile]})
        graph.setTileMapping(vertex, tile)
    prog.add(Execute(cs, info))
