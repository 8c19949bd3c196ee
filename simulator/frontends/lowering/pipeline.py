"""Pipelined execution: stages work at the same time on successive micro-batches, a software pipeline.

S stages have P = 2 S - 1 *turns* in training: stage s runs forward in turn s and backward in turn 2 S - 2 - s, so the
last stage does both in one; for inference P = S. Micro-batch m runs turn t in cycle m + t. A step of G micro-batches
has G + P - 1 cycles:

    pipelineFill    P - 1 cycles, in which later turns wait for their first micro-batch
    pipelineMain    Repeat G - P + 1 of a cycle of all turns
    pipelineDrain   P - 1 cycles, in which earlier turns have finished

A cycle runs on each stage first its backward part, for an older micro-batch, then its forward part. What the backward
part reads of the forward part's results waits in a ring buffer of 2 S - 2 - 2 s slots (the *stash*): it is copied back
into the same variables before the backward part runs, and the newer results take its slot. At the end of a cycle values
move one turn on, from IPU to IPU; those that skip stages pass through each stage between. Memory: the stash, and a copy
of each value in each turn that it passes.

One counter names the slot of the stash. `restore` copies it into the variables, `save` writes them to the same slot,
`advance` goes on to the next; so a value comes back `depth` cycles after it was saved. Each slot has the variables'
layout: no element leaves its tile. Memory: `depth` times the variables and one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.frontends.captured import Operator, Place, Program
from simulator.frontends.lowering.accesses import Accesses, accesses_of, variables_of, whole_variable
from simulator.frontends.lowering.shards import IPU, STAGE, PlacementError, Spot, add_seed_step, graphs_by_ipu
from simulator.graph.debug_context import DebugInfo
from simulator.poplar import UNSIGNED_INT, DebugContext, Function, Graph, Tensor, Type, concat
from simulator.poplar import program as programs
from simulator.poplibs import popops, poputil
from simulator.poplibs.popops import expr as e


class Stash:
    """Room for `depth` values of each of some variables on the tiles of a graph."""

    def __init__(self, graph: Graph, name: str, depth: int, variables: Sequence[int]) -> None:
        self._graph, self._name, self._depth = graph, name, depth
        self._index = graph.addVariable(UNSIGNED_INT, [1], f"{name}/stashIndex")
        graph.setTileMapping(self._index, 0)
        parts: dict[Type, list[Tensor]] = {}
        for variable in variables:
            tensor = whole_variable(graph, variable)
            parts.setdefault(tensor.elementType(), []).append(tensor)
        self._rings = [(flat, self._ring(flat)) for flat in map(concat, parts.values())]

    def _ring(self, flat: Tensor) -> Tensor:
        """[depth, elements]"""
        slots = [self._graph.clone(flat, f"{self._name}/stash{slot}").expand([0]) for slot in range(self._depth)]
        return concat(slots)

    def start(self, program: programs.Sequence) -> None:
        """Begin with the first slot."""
        popops.zero(self._graph, self._index, program, f"{self._name}/stashIndex/zero")

    def restore(self, program: programs.Sequence) -> None:
        for flat, ring in self._rings:
            name = f"{self._name}/RestoreInplace"
            slot = popops.dynamicSlice(self._graph, ring, self._index, [0], [1], program, name)
            program.add(programs.Copy(slot.flatten(), flat, False, name))

    def save(self, program: programs.Sequence) -> None:
        for flat, ring in self._rings:
            name = f"{self._name}/Stash"
            popops.dynamicUpdate(self._graph, ring, flat.expand([0]), self._index, [0], [1], program, name)

    def advance(self, program: programs.Sequence) -> None:
        next_slot = (e._1 + 1) % self._depth
        popops.mapInPlace(self._graph, next_slot, [self._index], program, f"{self._name}/stashIndex/next")


@dataclass
class _Crossing:
    """A tensor on its way to later turns, and what the operators of its destinations read."""

    name: str
    info: DebugInfo | None  #: of the first operator that reads it
    tensor: Tensor
    source: Spot
    arrivals: dict[Spot, Tensor]

    def context(self, suffix: str = "") -> DebugContext:
        return DebugContext(f"{self.name}{suffix}", self.info)


class _Part:
    """One pass of one stage: what runs before, in and after its operators."""

    def __init__(self, name: str) -> None:
        self.begin = programs.Sequence(debugContext=f"{name}/begin")
        self.body = programs.Sequence(debugContext=name)
        self.end = programs.Sequence(debugContext=f"{name}/toHost")

    def all(self) -> tuple[programs.Sequence, ...]:
        return self.begin, self.body, self.end


def stages_of(program: Program) -> tuple[int, ...]:
    """The IPU of each stage of a placed program. Raises PlacementError for a stage on several IPUs."""
    ipus: dict[int, int] = {}
    for operator in program.operators:
        stage, ipu = operator.place.annotations[STAGE], operator.place.annotations[IPU]
        if ipus.setdefault(stage, ipu) != ipu:
            raise PlacementError(
                f"Stage {stage} of the pipeline has blocks on IPU {ipus[stage]} and on IPU {ipu}; a stage runs on one "
                "IPU, so put them on the same or into stages of their own."
            )
    return tuple(ipus[stage] for stage in sorted(ipus))


def stages_in_order(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    """Operators sorted by stage, in their own order within each. Raises PlacementError for an operator that needs the
    result of a later stage."""
    given = list(operators)
    made: dict[int, int] = {}
    for operator in given:
        stage = operator.place.annotations[STAGE]
        later = max((made.get(operand.number, 0) for operand in operator.operands()), default=0)
        if later > stage:
            module = f"module '{operator.place.module}'" if operator.place.module else "the outermost module"
            raise PlacementError(
                f"The operator {operator.name} of {module} is in stage {stage} of the pipeline and needs a result of "
                f"stage {later}; order the blocks so that data flows to later stages only."
            )
        made.update((result.number, stage) for result in operator.results)
    return tuple(sorted(given, key=lambda operator: operator.place.annotations[STAGE]))


def check_loss(program: Program, stages: int) -> None:
    """Raises PlacementError for a loss that is not made in the last of `stages` stages."""
    for operator in program.operators:
        stage = operator.place.annotations[STAGE]
        if program.loss in operator.results and stage != stages - 1:
            raise PlacementError(
                f"The loss is in stage {stage} of the pipeline; put it into the last one, stage {stages - 1}, where "
                "the backward passes begin."
            )


class Pipeline:
    """Stages on the IPUs `stages`. `fixed`: the numbers of values that no micro-batch changes (weights)."""

    def __init__(
        self,
        graph: Graph,
        stages: Sequence[int],
        training: bool,
        fixed: set[int],
        seed: Tensor,
        has_draws: Callable[[], bool],
    ) -> None:
        self._top, self._graphs = graph, graphs_by_ipu(graph, max(stages) + 1)
        self._stages, self._training, self._fixed = tuple(stages), training, fixed
        self._seed, self._has_draws = seed, has_draws
        self.turns = 2 * len(stages) - 1 if training else len(stages)
        self._parts: dict[tuple[int, bool], _Part] = {}
        for stage in range(len(stages)):
            self._parts[stage, False] = _Part(f"stage{stage}/forward")
            self._parts[stage, True] = _Part(f"stage{stage}/backward")
        self._values: dict[int, _Crossing] = {}
        self._slopes: list[_Crossing] = []
        self._copies: dict[tuple[int, int], Tensor] = {}
        self._seeds: dict[int, tuple[Tensor, Tensor]] = {}
        self._first = programs.Sequence(debugContext="pipelineStart")
        self._last = programs.Sequence(debugContext="pipelineEnd")

    # Where operators run

    def graph(self, spot: Spot) -> Graph:
        return self._graphs[self._stages[spot.stage]]

    def spot(self, place: Place, is_backward: bool) -> Spot:
        stage = place.annotations.get(STAGE, 0)
        return Spot(self._stages[stage], stage, is_backward)

    def source_spot(self, spot: Spot) -> Spot:
        return replace(spot, ipu=self._stages[spot.stage], is_backward=False)

    def slope_spot(self, home: Spot) -> Spot:
        return replace(home, is_backward=True)

    def begin(self, spot: Spot) -> programs.Sequence:
        return self._part(spot).begin

    def program(self, spot: Spot) -> programs.Sequence:
        return self._part(spot).body

    def last_program(self, home: Spot) -> programs.Sequence:
        return self.program(home)

    def end(self, spot: Spot) -> programs.Sequence:
        return self._part(spot).end

    def _part(self, spot: Spot) -> _Part:
        return self._parts[spot.stage, spot.is_backward]

    def _turn(self, spot: Spot) -> int:
        return 2 * len(self._stages) - 2 - spot.stage if spot.is_backward else spot.stage

    def _ipu_of_turn(self, turn: int) -> int:
        count = len(self._stages)
        return self._stages[turn if turn < count else 2 * count - 2 - turn]

    # What crosses between stages

    def moved(self, number: int, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        if source.stage == target.stage or not tensor.numElements():
            return tensor
        assert not source.is_backward, f"value {number} of a backward pass is read in stage {target.stage}"
        assert source.stage < target.stage, f"value {number} goes from stage {source.stage} to stage {target.stage}"
        if number in self._fixed:
            return self._copied_once(number, tensor, target, DebugContext("IpuCopy", info))
        if number not in self._values:
            self._values[number] = _Crossing("IpuCopy", info, tensor, source, {})
        return self._arrival(self._values[number], self.source_spot(target))

    def moved_slope(self, tensor: Tensor, source: Spot, target: Spot, info: DebugInfo | None) -> Tensor:
        if source.stage == target.stage or not tensor.numElements():
            return tensor
        self._slopes.append(_Crossing("gradient", info, tensor, source, {}))
        return self._arrival(self._slopes[-1], target)

    def _arrival(self, crossing: _Crossing, target: Spot) -> Tensor:
        if target not in crossing.arrivals:
            context = crossing.context(f"/stage{target.stage}")
            crossing.arrivals[target] = poputil.cloneToIpu(self._top, crossing.tensor, target.ipu, context)
        return crossing.arrivals[target]

    def _copied_once(self, number: int, tensor: Tensor, target: Spot, context: DebugContext) -> Tensor:
        """A copy on another IPU that lasts for a step."""
        key = number, target.ipu
        if key not in self._copies:
            self._copies[key] = poputil.copyToIpu(self._top, tensor, self._first, target.ipu, context)
        return self._copies[key]

    # Random draws: each stage counts its own seeds, as it is ahead of later ones

    def seed(self, spot: Spot) -> Tensor:
        if spot.stage not in self._seeds:
            name = f"randomSeed/stage{spot.stage}"
            graph = self.graph(spot)
            running, own = (graph.addVariable(UNSIGNED_INT, [2], f"{name}/{one}") for one in ("next", "own"))
            graph.setTileMapping(running, 0)
            graph.setTileMapping(own, 0)
            self._first.add(programs.Copy(self._seed, running, False, f"{name}/start"))
            forward = self._parts[spot.stage, False]
            forward.begin.add(programs.Copy(running, own, False, name))
            add_seed_step(graph, running[0].reshape([1]), forward.end, name)
            self._seeds[spot.stage] = running, own
        return self._seeds[spot.stage][1]

    def advance_seed(self) -> None:
        if self._has_draws():
            running, _ = next(iter(self._seeds.values()))
            self._last.add(programs.Copy(running, self._seed, False, "randomSeed/next"))

    # The step

    def step(self, micro_batches: int, lasting: Iterable[Tensor]) -> programs.Program:
        if micro_batches < self.turns:
            count = "gradient accumulation" if self._training else "number of device iterations"
            raise PlacementError(
                f"The {count} is {micro_batches}, but the pipeline has {self.turns} stages"
                f"{' (backward stages included)' if self._training else ''}; it must be at least as large."
            )
        states = self._top.store.library_tensors.values()  # the tiles' random generators
        cycles = self._cycles({variable for tensor in (*lasting, *states) for variable in variables_of(tensor)})
        fill, drain = programs.Sequence(debugContext="pipelineFill"), programs.Sequence(debugContext="pipelineDrain")
        for cycle in range(self.turns - 1):
            fill.add(cycles.cycle(range(cycle + 1)))
            drain.add(cycles.cycle(range(cycle + 1, self.turns)))
        main = programs.Repeat(micro_batches - self.turns + 1, cycles.cycle(range(self.turns)), "pipelineMain")
        return programs.Sequence(self._first, fill, main, drain, self._last, debugContext="pipeline")

    def _cycles(self, lasting: set[int]) -> _Cycles:
        """The functions of a cycle. All operators are built: what passes read of each other is known."""
        forward, backward = self._accesses(False), self._accesses(True)
        _assert_apart(forward, backward, lasting)
        last = len(self._stages) - 1
        stashed: list[set[int]] = [set() for _ in self._stages]
        for crossing in self._values.values():
            for spot, tensor in crossing.arrivals.items():
                forward[spot.stage].written |= variables_of(tensor)
        for stage in range(last):
            stashed[stage] = forward[stage].written & backward[stage].read - lasting
        hops: list[list[programs.Copy]] = [[] for _ in range(self.turns)]
        for crossing in (*self._values.values(), *self._slopes):
            self._add_hops(crossing, stashed, forward, hops)
        cycles = _Cycles(self._top, self._training, hops)
        for stage, ipu in enumerate(self._stages):
            stash = None
            if stashed[stage]:
                stash = Stash(self._graphs[ipu], f"stage{stage}", 2 * (last - stage), sorted(stashed[stage]))
                stash.start(self._first)
            cycles.add_stage(self._parts[stage, False].all(), self._parts[stage, True].all(), stash)
        return cycles

    def _accesses(self, is_backward: bool) -> list[Accesses]:
        stages = range(len(self._stages))
        return [accesses_of(self._top, self._parts[stage, is_backward].all()) for stage in stages]

    def _add_hops(
        self,
        crossing: _Crossing,
        stashed: Sequence[set[int]],
        forward: Sequence[Accesses],
        hops: Sequence[list[programs.Copy]],
    ) -> None:
        """Move a tensor one turn on at the end of each cycle. A copy that is stashed waits in a buffer until its stage
        runs forward, since the backward pass before needs the older value in its place."""
        source, tensor = crossing.source, crossing.tensor
        if source.is_backward and variables_of(tensor) & forward[source.stage].written:
            # the forward pass of the same cycle overwrites it
            tensor = poputil.duplicate(self.graph(source), tensor, self.end(source), crossing.context("/copy"))
        arrivals = {self._turn(spot): (spot, arrival) for spot, arrival in crossing.arrivals.items()}
        for turn in range(self._turn(source) + 1, max(arrivals) + 1):
            context = crossing.context(f"/turn{turn}")
            buffer = None
            if turn in arrivals:
                spot, arrival = arrivals[turn]
                if spot.is_backward or not variables_of(arrival) & stashed[spot.stage]:
                    buffer = arrival
            if buffer is None:
                buffer = poputil.cloneToIpu(self._top, crossing.tensor, self._ipu_of_turn(turn), context)
                if turn in arrivals:
                    spot, arrival = arrivals[turn]
                    self.begin(spot).add(programs.Copy(buffer, arrival, False, crossing.context("/arrive")))
            hops[turn].append(programs.Copy(tensor, buffer, False, context))
            tensor = buffer


class _Cycles:
    """Functions of the passes, which all cycles call, and the copies of each turn between cycles."""

    def __init__(self, graph: Graph, training: bool, hops: Sequence[Sequence[programs.Copy]]) -> None:
        self._graph, self._training, self._hops = graph, training, hops
        self._forward: list[Function] = []
        self._backward: list[Function] = []
        self._advance: list[Function | None] = []

    def add_stage(
        self, forward: Sequence[programs.Sequence], backward: Sequence[programs.Sequence], stash: Stash | None
    ) -> None:
        """Add the next stage."""
        stage = f"stage{len(self._forward)}"
        names = (f"{stage}/{name}" for name in ("forward", "backward", "advance"))
        ahead, back, advance = (programs.Sequence(debugContext=name) for name in names)
        if stash is not None:
            stash.restore(back)
        for part in forward:
            ahead.add(part)
        for part in backward:
            back.add(part)
        if stash is not None:
            stash.save(ahead)
            stash.advance(advance)
        self._forward.append(self._graph.addFunction(ahead))
        self._backward.append(self._graph.addFunction(back))
        self._advance.append(None if stash is None else self._graph.addFunction(advance))

    def cycle(self, turns: range) -> programs.Sequence:
        """One cycle in which only these turns have a micro-batch."""
        cycle = programs.Sequence(debugContext="pipelineCycle")
        last = len(self._forward) - 1
        for stage in range(last + 1):
            back = 2 * last - stage if self._training else -1
            if stage < last and back in turns:
                cycle.add(programs.Call(self._backward[stage], f"stage{stage}/backward"))
            if stage in turns:
                cycle.add(programs.Call(self._forward[stage], f"stage{stage}/forward"))
                if stage == last and self._training:
                    cycle.add(programs.Call(self._backward[stage], f"stage{stage}/backward"))
            advance = self._advance[stage]
            if advance is not None and (stage in turns or back in turns):
                cycle.add(programs.Call(advance, f"stage{stage}/advance"))
        copies = programs.Sequence(debugContext="ipuCopies")
        for turn in range(len(self._hops) - 1, 0, -1):  # a turn's value leaves before the next one arrives
            for copy in self._hops[turn] if turn - 1 in turns else ():
                copies.add(copy)
        cycle.add(copies)
        return cycle


def _assert_apart(forward: Sequence[Accesses], backward: Sequence[Accesses], lasting: set[int]) -> None:
    """No stage reads what the operators of another stage write but by a copy that follows the cycles."""
    for stage, (ahead, back) in enumerate(zip(forward, backward, strict=True)):
        for other, (other_ahead, other_back) in enumerate(zip(forward, backward, strict=True)):
            shared = (ahead.read | back.read) & (other_ahead.written | other_back.written) - lasting
            assert stage == other or not shared, f"stage {stage} reads variables {sorted(shared)} of stage {other}"
