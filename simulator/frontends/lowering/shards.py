"""Places of a module's operators: a table of IPUs, with one graph each, and what crosses between them.

An operator outside any block goes with the operator before it. A value is made on the IPU of its operator; another IPU
that reads it gets one copy, which all of its operators share. Weights and inputs lie on the IPU of their first reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Hook, Operator, Place, Program, with_pieces_changed
from simulator.graph.debug_context import DebugInfo
from simulator.poplar import UNSIGNED_INT, DebugContext, Graph, Tensor
from simulator.poplar import program as programs
from simulator.poplibs import popops, poputil

#: keys of a place's annotations
STAGE, IPU = "ipu_stage", "ipu"


class PlacementError(poplar_error):
    """The blocks of a module ask for what the device or the execution strategy cannot do."""


@dataclass(frozen=True)
class Spot:
    """Where and when an operator runs: its IPU, its stage (0 unless pipelined) and the direction of its pass."""

    ipu: int = 0
    stage: int = 0
    is_backward: bool = False


class Execution(Protocol):
    """How the operators of one step share IPUs and time. Sequences of a spot run in the order begin, program, end."""

    def graph(self, spot: Spot) -> Graph:
        """The tiles of its IPU."""

    def spot(self, place: Place, is_backward: bool) -> Spot:
        """Where an operator runs."""

    def source_spot(self, spot: Spot) -> Spot:
        """Where a weight or input lies whose first reader runs at `spot`."""

    def slope_spot(self, home: Spot) -> Spot:
        """Where the gradient of a value that was made at `home` is added up."""

    def begin(self, spot: Spot) -> programs.Sequence:
        """What precedes the operators of a spot: inputs stream in."""

    def program(self, spot: Spot) -> programs.Sequence:
        """The operators of a spot."""

    def last_program(self, home: Spot) -> programs.Sequence:
        """What writes to buffers made at `home`: after all that reads them."""

    def end(self, spot: Spot) -> programs.Sequence:
        """What follows the operators of a spot: outputs stream out."""

    def moved(self, number: int, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        """The tensor of value `number`, made at `source`, for operators at `target`. `info`: of the one at hand."""

    def moved_slope(self, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        """A gradient that was made at `source`, for `target`."""

    def seed(self, spot: Spot) -> Tensor:
        """The seed of this micro-batch's random draws."""

    def advance_seed(self) -> None:
        """Give the next micro-batch a seed of its own. Called when all operators are built."""

    def step(self, micro_batches: int, lasting: Iterable[Tensor]) -> programs.Program:
        """The program of some micro-batches, one after the other or overlapping. `lasting`: weights, which stay as
        they are. Called last."""


def ipus_of(program: Program) -> int:
    """The number of IPUs that one replica of the module takes."""
    return 1 + max((operator.place.annotations.get(IPU, 0) for operator in program.operators), default=0)


def placed(program: Program) -> Program:
    """The program with stage and IPU on every operator, its pieces included. Stages are numbered from 0 without gaps;
    operators before the first block belong to stage 0."""
    first = min(
        (one.place.annotations[STAGE] for one in program.operators if STAGE in one.place.annotations), default=0
    )
    own = (one.place.annotations.get(IPU, 0) for one in program.operators if one.place.annotations.get(STAGE) == first)
    stage, ipu = first, next(own, 0)
    chosen = []
    for operator in program.operators:
        stage = operator.place.annotations.get(STAGE, stage)
        ipu = operator.place.annotations.get(IPU, ipu)
        chosen.append((stage, ipu))
    numbers = {old: new for new, old in enumerate(sorted({stage for stage, _ in chosen}))}
    operators = tuple(
        _placed_operator(operator, numbers[stage], ipu)
        for operator, (stage, ipu) in zip(program.operators, chosen, strict=True)
    )
    homes = {
        value.number: (numbers[stage], ipu)
        for operator, (stage, ipu) in reversed(list(zip(program.operators, chosen, strict=True)))
        for value in (*operator.operands(), *operator.results)
    }
    hooks = tuple(_placed_hook(hook, *homes.get(hook.values[0].number, (0, 0))) for hook in program.hooks)
    return replace(program, operators=operators, hooks=hooks)


def _placed_operator(operator: Operator, stage: int, ipu: int) -> Operator:
    annotations = {**operator.place.annotations, STAGE: stage, IPU: ipu}
    changed = with_pieces_changed(operator, lambda piece: _placed_operator(piece, stage, ipu))
    return replace(changed, place=replace(operator.place, annotations=annotations))


def _placed_hook(hook: Hook, stage: int, ipu: int) -> Hook:
    operators = tuple(_placed_operator(one, stage, ipu) for one in hook.body.operators)
    annotations = {**hook.place.annotations, STAGE: stage, IPU: ipu}
    return replace(
        hook, body=replace(hook.body, operators=operators), place=replace(hook.place, annotations=annotations)
    )


def graphs_by_ipu(graph: Graph, ipus: int) -> list[Graph]:
    """A virtual graph for each of the first IPUs. Raises PlacementError where a replica has fewer."""
    target = graph.getTarget()
    there, tiles = max(target.getNumIPUs(), 1), target.getTilesPerIPU()
    if ipus > there:
        raise PlacementError(
            f"The model's blocks use IPU {ipus - 1}, but a replica has {there} IPU{'s' if there > 1 else ''}; choose "
            "smaller IPU numbers or a larger device."
        )
    if there == 1:
        return [graph]
    return [graph.createVirtualGraph(ipu * tiles, (ipu + 1) * tiles) for ipu in range(ipus)]


#: 2^32 over the golden ratio: runs whose seeds are small numbers share the seed of no micro-batch
SEED_STEP = 0x9E3779B9


def add_seed_step(graph: Graph, seed: Tensor, program: programs.Sequence, name: str) -> None:
    """Go from one micro-batch's seed to the next: adds SEED_STEP modulo 2^32 to the first word, [1] UNSIGNED_INT, on
    the first tile of a graph."""
    step = graph.addConstant(UNSIGNED_INT, [1], [SEED_STEP], f"{name}/step")
    graph.setTileMapping(step, 0)
    popops.addInPlace(graph, seed, step, program, f"{name}/next")


class Shards:
    """One IPU works at a time: the operators are in two programs, forward and backward, in their order."""

    def __init__(self, graph: Graph, ipus: int, seed: Tensor, has_draws: Callable[[], bool]) -> None:
        self._top, self._graphs = graph, graphs_by_ipu(graph, ipus)
        self._seed, self._has_draws = seed, has_draws
        self._inputs = programs.Sequence(debugContext="preForward")
        self._forward = programs.Sequence(debugContext="forward")
        self._backward: programs.Sequence | None = None  # inference has none
        self._outputs = programs.Sequence(debugContext="toHost")
        self._copies: dict[tuple[int, int], Tensor] = {}
        self._seeds: dict[int, Tensor] = {0: seed}

    def graph(self, spot: Spot) -> Graph:
        return self._graphs[spot.ipu]

    def spot(self, place: Place, is_backward: bool) -> Spot:
        return Spot(place.annotations.get(IPU, 0), is_backward=is_backward)

    def source_spot(self, spot: Spot) -> Spot:
        return replace(spot, is_backward=False)

    def slope_spot(self, home: Spot) -> Spot:
        return replace(home, is_backward=True)

    def begin(self, spot: Spot) -> programs.Sequence:
        return self._inputs

    def program(self, spot: Spot) -> programs.Sequence:
        if not spot.is_backward:
            return self._forward
        if self._backward is None:
            self._backward = programs.Sequence(debugContext="backward")
        return self._backward

    def last_program(self, home: Spot) -> programs.Sequence:
        return self._forward if self._backward is None else self._backward

    def end(self, spot: Spot) -> programs.Sequence:
        return self._outputs

    def moved(self, number: int, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        if source.ipu == target.ipu:
            return tensor
        key = number, target.ipu
        if key not in self._copies:
            self._copies[key] = self._copied(tensor, target, DebugContext("IpuCopy", info))
        return self._copies[key]

    def moved_slope(self, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        return tensor if source.ipu == target.ipu else self._copied(tensor, target, DebugContext("", info))

    def _copied(self, tensor: Tensor, target: Spot, context: DebugContext) -> Tensor:
        if not tensor.numElements():
            return tensor
        return poputil.copyToIpu(self._top, tensor, self.program(target), target.ipu, context)

    def seed(self, spot: Spot) -> Tensor:
        if spot.ipu not in self._seeds:
            self._seeds[spot.ipu] = self._copied(self._seed, spot, DebugContext("randomSeed/IpuCopy"))
        return self._seeds[spot.ipu]

    def advance_seed(self) -> None:
        if self._has_draws():
            add_seed_step(self._graphs[0], self._seed[0].reshape([1]), self.last_program(Spot()), "randomSeed")

    def step(self, micro_batches: int, lasting: Iterable[Tensor]) -> programs.Program:
        parts = [one for one in (self._inputs, self._forward, self._backward, self._outputs) if one is not None]
        micro = programs.Sequence(*parts, debugContext="program")
        return programs.Repeat(micro_batches, micro, "accumulationLoop") if micro_batches > 1 else micro
