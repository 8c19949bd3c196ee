"""The numeric plan: the computation of programs, apart from its cost.

It is built once when a graph is compiled: tensors become places in the arena, each library operation one kernel, other
compute sets their vertices. Binding the plan to the arenas of all replicas and to the host side makes one function per
program. Replicas run side by side, step by step, so that each finds the data that others send it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.codelets.compiled.library import linked_codelets
from simulator.codelets.printing import places_of
from simulator.compiler.ir.program_visits import Place as ProgramPlace
from simulator.compiler.ir.program_visits import ProgramVisits
from simulator.graph import program as host
from simulator.runtime.values import control_steps, transfer_steps
from simulator.runtime.values.arena import Arena, ArenaLayout, Place, Rows, arenas
from simulator.runtime.values.choices import decision, ending
from simulator.runtime.values.common_views import common_views
from simulator.runtime.values.compiled_vertices import BoundBlock, CompiledBlock
from simulator.runtime.values.host_side import Action, HostSide, Leaf, Step
from simulator.runtime.values.kernels import kernel, traits_of
from simulator.runtime.values.temporaries import Temporaries, find_temporaries
from simulator.runtime.values.vertices import BlockPlan

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


class NumericPlan:
    """All programs and host copies of a graph. `step_by_step`: library operations run compute set by compute set
    instead of one kernel each. `counted`: compute sets whose vertices are to count what they take: none where their
    code cannot."""

    def __init__(
        self,
        store: GraphStore,
        programs: Sequence[host.Program],
        step_by_step: bool = False,
        counted: frozenset[int] = frozenset(),
    ) -> None:
        self._step_by_step = step_by_step
        self._visits = ProgramVisits(programs, store.functions)
        self.places: set[ProgramPlace] = set()  #: of programs that run separately, not within a kernel
        self.remote_buffers = {buffer.name: buffer for buffer in store.remote_buffers}
        self.host_functions = {function.name: function for function in store.host_functions}
        self.layout = ArenaLayout(store, Temporaries() if step_by_step else find_temporaries(store, programs))
        self._store = store
        self._blocks: dict[int, tuple[list[BlockPlan], list[CompiledBlock]]] = {}
        self.codelets = linked_codelets(store, bool(counted))
        self.counted = counted if self.codelets is not None and self.codelets.counts else frozenset()
        #: compute sets whose vertices read the cycle counters of their tiles
        self.stamps = frozenset(
            block.compute_set for block in store.settled_blocks if getattr(block.type.codelet, "reads_counter", False)
        )
        self._functions: dict[int, Step] = {}
        streams = store.streams
        #: handle -> (elements, type, to the device, the same for all replicas) of user streams
        self.streams = {
            handle: (numel, type_, to_device, broadcast)
            for handle, type_, numel, to_device, broadcast, kind in zip(
                streams.handle,
                streams.type,
                streams.numel,
                streams.to_device,
                streams.broadcast,
                streams.kind,
                strict=True,
            )
            if kind == "fifo"
        }
        #: transfers of each stream that callbacks may prefetch
        self.buffering = {
            h: int(o.get("bufferingDepth", 1)) for h, o in zip(streams.handle, streams.options, strict=True)
        }
        self._programs = [self._owned(("program", i), program) for i, program in enumerate(programs)]
        #: (kind "read" or "write", handle) -> place
        self.host_copies: dict[tuple[str, str], Place] = {
            (kind, handle): self.layout.place(tensor) for kind, handle, tensor in store.host_copies
        }
        #: the metadata of QUARTER tensors
        self.metadata = {(k, h): self.layout.place(t.getMetadata()) for k, h, t in store.host_copies if t.hasMetadata()}
        self.host_types = {(kind, handle): tensor.elementType() for kind, handle, tensor in store.host_copies}
        del self._store, self._blocks, self._visits

    def memories(self, autoload: bool = False) -> list[Arena]:
        """The arenas of all replicas in their initial state; `autoload`: the first is loaded, the others copy it."""
        return arenas(self.layout, self.codelets, autoload)

    def bind(self, arenas: Sequence[Arena], side: HostSide) -> list[Action]:
        """One function per program, in order; `arenas`: one per replica."""
        return [step(arenas, side) for step in self._programs]

    # One method per class of program

    def _owned(self, owner: tuple[str, int], program: host.Program) -> Step:
        """The step of a whole program or function body."""
        around, self._visits.owner = self._visits.owner, owner
        step = self._step(program)
        self._visits.owner = around
        return step

    def _step(self, program: host.Program) -> Step:
        place = self._visits.visit(program)
        self.places.add(place)
        step = self._unwatched(program, place)
        return lambda arenas, side: side.wrap_program(place, program, step(arenas, side))

    def _unwatched(self, program: host.Program, at: ProgramPlace) -> Step:
        match program:
            case host.LibraryGroup() if not self._step_by_step:
                return _each(self._kernel(program))
            case host.Sequence():
                return _in_order([self._step(p) for p in program.programs])
            case host.Execute():
                return self._execute(program)
            case host.Copy():
                return self._copy(program)
            case host.CrossReplicaCopy():
                ends = self.layout.place(program.source), self.layout.place(program.destination)
                return transfer_steps.between_replicas(*ends, program.replica_map)
            case host.Repeat():
                return _repeated(program.count, self._step(program.body))
            case host.Block():
                return self._step(program.body)
            case host.If() | host.Switch() | host.RepeatWhile() | host.Loop():
                return self._choosing(program, at)
            case host.Abort() | host.AbortOnCondition() | host.ErrorProgram():
                return self._ending(program, at)
            case host.Call() if program.host_function is not None:
                given = [self.layout.place(tensor) for tensor in program.inputs]
                made = [self.layout.place(tensor) for tensor in program.outputs]
                return _each(transfer_steps.host_call(program.host_function.name, given, made))
            case host.Call():
                return self._function(program.function)
            case host.PrintTensor():
                return _each(transfer_steps.printed(program.title, self.layout.place(program.tensor), program.format))
            case host.WriteUndef() | host.Sync() | host.AssumeEqualAcrossReplicas():
                return _in_order([])
            case _:
                raise poplar_error(f"Programs of type {type(program).__name__} cannot be run.")

    def _choosing(self, program: host.If | host.Switch | host.RepeatWhile | host.Loop, at: ProgramPlace) -> Step:
        bodies = [self._step(nested) for nested in program.nested()]
        if isinstance(program, host.Loop):
            return control_steps.endless_loop(*bodies)
        control, decide = self.layout.place(program.reads()[0]), decision(program, at)
        if isinstance(program, host.RepeatWhile):
            return control_steps.while_loop(bodies[0], control, decide, bodies[1])
        return control_steps.choice(control, decide, bodies)

    def _ending(self, program: host.Abort | host.AbortOnCondition | host.ErrorProgram, at: ProgramPlace) -> Step:
        if isinstance(program, host.AbortOnCondition):
            return control_steps.abort_check(self.layout.place(program.predicate), decision(program, at))
        shown = self.layout.place(program.tensor) if isinstance(program, host.ErrorProgram) else None
        return control_steps.run_end(shown, ending(program, at))

    def _function(self, index: int) -> Step:
        if index not in self._functions:
            self._functions[index] = self._owned(("function", index), self._store.functions[index])
        return self._functions[index]

    def _kernel(self, group: host.LibraryGroup) -> Leaf:
        function = kernel(group.kernel)
        inputs = [self.layout.place(t) for t in group.inputs]
        outputs = [self.layout.place(t) for t in group.outputs]
        attributes = dict(group.attributes)
        traits = traits_of(group.kernel)
        by_row = traits.by_row

        def bind(arena: Arena, side: HostSide) -> Action:
            windows = [_in_place(arena, p, i in by_row.outputs) for i, p in enumerate(outputs)]
            fixed = [_in_place(arena, p, i in by_row.inputs) for i, p in enumerate(inputs)]

            if all(window is not None for window in (*windows, *fixed)):
                return lambda: function(windows, fixed, attributes)

            together = common_views(arena, [*outputs, *inputs]) if traits.elementwise and len(outputs) == 1 else None
            if together is not None:
                return lambda: function(together[:1], together[1:], attributes)
            readers = [arena.reader(p) if w is None else w for p, w in zip(inputs, fixed, strict=True)]

            def run() -> None:
                given = [one() if callable(one) else one for one in readers]
                made = [np.empty(p.shape, p.dtype) if w is None else w for p, w in zip(outputs, windows, strict=True)]
                function(made, given, attributes)
                for place, values in zip(outputs, made, strict=True):
                    if not (place.is_window or isinstance(values, Rows)):
                        arena.write(place, values)

            return run

        return bind

    def _execute(self, program: host.Execute) -> Step:
        compute_set = program.compute_set
        if compute_set not in self._blocks:
            self._blocks[compute_set] = self._plans_of(compute_set)
        blocks, compiled = self._blocks[compute_set]
        agreed = None if program.consensus is None else self.layout.place(program.consensus)
        counts = compute_set in self.counted
        stamps = compute_set in self.stamps

        def bind(arena: Arena, side: HostSide) -> tuple[Action, list[BoundBlock]]:
            denied: list[bool] | None = None if agreed is None else []
            threads = 1 if stamps else side.threads  # counters are those of this thread
            parts = [part for block in blocks for part in block.bind_parts(arena, threads, denied)]
            bound = [block.bind(arena, side, denied) for block in compiled]
            parts += [block.run for block in bound]
            run = parts[0] if len(parts) == 1 else lambda: side.together(parts)
            return run if agreed is None or denied is None else _agreed(run, denied, arena, agreed), bound

        def bind_all(arenas: Sequence[Arena], side: HostSide) -> Action:
            actions, bound = zip(*(bind(arena, side) for arena in arenas), strict=True)
            run = _all(list(actions))
            if stamps:
                return side.reading_counters(run)
            if not counts:
                return run

            def run_and_count() -> None:
                run()
                side.counted(compute_set, [[block.parts for block in replica] for replica in bound])

            return run_and_count

        return bind_all

    def _plans_of(self, compute_set: int) -> tuple[list[BlockPlan], list[CompiledBlock]]:
        """(Python blocks, compiled blocks) of a compute set."""
        store = self._store
        blocks = [block for block in store.settled_blocks if block.compute_set == compute_set and len(block)]
        python, compiled = [], []
        for block, places in zip(blocks, places_of(blocks, store.compute_set_names[compute_set]), strict=True):
            if block.type.compiled is None:
                python.append(BlockPlan(block, store, self.layout, places))
            else:
                compiled.append(CompiledBlock(block, self.layout, places))
        return python, compiled

    def _copy(self, copy: host.Copy) -> Step:
        if copy.kind == "function":
            return _in_order([])  # code moves, no values
        if copy.kind == "host_to_device":
            handle, place = copy.source.name, self.layout.place(copy.destination)
            same = self.streams[handle][3]
            transfer = (
                transfer_steps.broadcast(handle, place) if same else _each(transfer_steps.from_stream(handle, place))
            )
            if not copy.destination.hasMetadata():
                return transfer
            of_data = self.layout.place(copy.destination.getMetadata())
            return _in_order([transfer, transfer_steps.metadata_from_stream(handle, of_data)])
        if copy.kind == "device_to_host":
            handle = copy.destination.name
            transfer = _each(transfer_steps.to_stream(self.layout.place(copy.source), handle))
            if not copy.source.hasMetadata():
                return transfer
            of_data = self.layout.place(copy.source.getMetadata())
            return _in_order([transfer_steps.metadata_to_stream(handle, of_data), transfer])
        if copy.kind in ("from_remote", "to_remote"):
            offset = None if copy.offset is None else self.layout.place(copy.offset)
            if copy.kind == "from_remote":
                return _each(transfer_steps.from_rows(copy.source.name, offset, self.layout.place(copy.destination)))
            return _each(transfer_steps.to_rows(copy.destination.name, offset, self.layout.place(copy.source)))
        source, destination = self.layout.place(copy.source), self.layout.place(copy.destination)
        return _each(lambda arena, side: lambda: arena.write(destination, arena.read(source)))


def _in_place(arena: Arena, place: Place, by_row: bool) -> AnyArray | Rows | None:
    """What a kernel may read and write without a copy: a window, or rows where it takes these; None otherwise."""
    if place.is_window:
        return arena.window(place)
    return arena.rows(place) if by_row else None


def _agreed(run: Action, denied: list[bool], arena: Arena, place: Place) -> Action:
    """Run a compute set and write whether every compute() returned true."""

    def run_and_note() -> None:
        denied.clear()
        run()
        arena.write(place, np.array(not denied))

    return run_and_note


def _all(actions: list[Action]) -> Action:
    if len(actions) == 1:
        return actions[0]

    def run() -> None:
        for action in actions:
            action()

    return run


def _each(leaf: Leaf) -> Step:
    """Run a leaf in every replica, in order."""
    return lambda arenas, side: _all([leaf(arena, side) for arena in arenas])


def _in_order(steps: list[Step]) -> Step:
    return lambda arenas, side: _all([step(arenas, side) for step in steps])


def _repeated(count: int, body: Step) -> Step:
    def bind(arenas: Sequence[Arena], side: HostSide) -> Action:
        action = body(arenas, side)

        def run() -> None:
            for _ in range(count):
                action()

        return run

    return bind
