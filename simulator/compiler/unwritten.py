"""debug.verify: find elements that are read before anything wrote them, a forward data-flow analysis.

The state is a bit for each unit (elements that all accesses cover alike, `simulator.compiler.memory.live_units`): may
anything have written it on a path to here? A read of a unit without its bit is a fault on every path. So branches unite
their bits, and a program of the engine begins with what all other programs write, because the host may run these first.
Cost: one visit of each program per call and per enclosing loop, twice in loops whose body undoes writes (WriteUndef).

Written from the beginning are constants, initial values, elements that the host can write (createHostWrite), external
variables, and metadata of type QUARTER. In-out fields of vertices and the in-out tensors of library operations do not
count as reads: their code may fill a tensor element by element. Host reads (createHostRead) are not checked, because
only the host knows whether it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import control_program_error
from simulator.compiler.ir.accesses import NOTHING, Elements, elements_of
from simulator.compiler.memory.live_units import Units, units_of
from simulator.graph import program as host
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.program import programs_within
from simulator.graph.tensor import Tensor

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


def check_unwritten(store: GraphStore, programs: Sequence[host.Program]) -> None:
    """Raises `control_program_error`, which names the program and the elements, where a program reads elements before
    anything can have written them."""
    analysis = _Analysis(store, programs)
    writes = [analysis.written_within(program) for program in programs]
    for number, program in enumerate(programs):
        state = analysis.written_at_first()
        for other in writes[:number] + writes[number + 1 :]:
            state |= other
        analysis.check(program, state)


class _Analysis:
    def __init__(self, store: GraphStore, programs: Sequence[host.Program]) -> None:
        self._store = store
        self._blocks: dict[int, list[VertexBlock]] = {}
        for block in store.blocks:
            self._blocks.setdefault(block.compute_set, []).append(block)
        self._programs = {id(program): program for program in programs_within(store, programs)}
        self._set_at_first = _written_at_first(store)
        accesses = {key: self._elements(program) for key, program in self._programs.items()}
        every = [part for parts in accesses.values() for part in parts if len(part[0])]
        self._units: Units = units_of([*every, self._set_at_first], np.array(store.variables.numel, np.int64))
        self._accesses: dict[int, tuple[Int64Array, ...]] = {
            key: tuple(self._units.touched(part) for part in parts) for key, parts in accesses.items()
        }

    def written_at_first(self) -> BoolArray:
        """Flags of the units that hold values before any program runs."""
        state = np.zeros(len(self._units), np.bool_)
        state[self._units.touched(self._set_at_first)] = True
        return state

    def written_within(self, program: host.Program) -> BoolArray:
        """Flags of the units that the program, or a part of it, writes."""
        state = np.zeros(len(self._units), np.bool_)
        for part in programs_within(self._store, [program]):
            state[self._accesses[id(part)][1]] = True
        return state

    def check(self, program: host.Program, state: BoolArray) -> BoolArray:
        """The units that may be written after a program which begins with those of `state`, an array that this changes.

        Raises `control_program_error` for a read of others."""
        match program:
            case host.If() | host.Switch():
                self._check_reads(program, state)
                ways = [self.check(body, state.copy()) for body in program.nested()]
                return np.logical_or.reduce(ways) if ways else state
            case host.RepeatWhile():
                return self._check_while(program, state)
            case host.Repeat() | host.Loop():
                return (
                    state
                    if isinstance(program, host.Repeat) and not program.count
                    else self._check_loop(program, state)
                )
            case host.LibraryGroup():
                self._check_reads(program, state)
                state |= self.written_within(program)
                return state
            case host.Call() if program.host_function is None:
                return self.check(self._store.functions[program.function], state)
            case host.Sequence() | host.Block():
                for part in program.nested():
                    state = self.check(part, state)
                return state
            case _:
                self._check_reads(program, state)
                _, written, undefined = self._accesses[id(program)]
                state[undefined] = False
                state[written] = True
                return state

    def _check_loop(self, program: host.Repeat | host.Loop, state: BoolArray) -> BoolArray:
        """Bits are added and removed in places that do not depend on the state; so a second trip sees all there is."""
        first = state.copy()
        state = self.check(program.body, state)
        again = isinstance(program, host.Loop) or program.count > 1
        return self.check(program.body, state) if again and (first & ~state).any() else state

    def _check_while(self, program: host.RepeatWhile, state: BoolArray) -> BoolArray:
        state = self.check(program.cond, state)
        self._check_reads(program, state)
        after = state.copy()
        for _ in range(2):
            state = self.check(program.cond, self.check(program.body, state))
            self._check_reads(program, state)
            if not (after & ~state).any():
                break
        return after | state

    def _check_reads(self, program: host.Program, state: BoolArray) -> None:
        read = self._accesses[id(program)][0]
        unset = read[~state[read]]
        if len(unset):
            element = int(self._units.begin[self._units.example[unset[0]]])
            raise control_program_error(
                f"debug.verify: {self._label(program, element)} reads {self._run(unset)} before anything wrote it; "
                "write it before, or give it an initial value."
            )

    def _elements(self, program: host.Program) -> tuple[Elements, Elements, Elements]:
        """(read, written, made undefined) by the program itself. A LibraryGroup reads what it does not write too."""
        reads, writes = (_elements_of(tensors) for tensors in (program.reads(), program.writes()))
        match program:
            case host.WriteUndef():
                return NOTHING, NOTHING, _elements_of([program.tensor])
            case host.LibraryGroup():
                return _without(reads, writes), writes, NOTHING
            case host.Execute():
                blocks = self._blocks.get(program.compute_set, [])
                return (
                    self._edges(blocks, ("in",)),
                    elements_of([writes, self._edges(blocks, ("out", "inout"))]),
                    NOTHING,
                )
            case _:
                return reads, writes, NOTHING

    def _edges(self, blocks: Sequence[VertexBlock], directions: tuple[str, ...]) -> Elements:
        return elements_of(
            [
                (edges.starts, edges.lengths)
                for block in blocks
                for name, edges in block.edges.items()
                if block.type.fields_by_name[name].direction in directions
            ]
        )

    def _label(self, program: host.Program, element: int) -> str:
        """The program, and of a compute set the vertex and its field, that reads an element."""
        path = program.debug.getPathName()
        name = f" '{path}'" if path else ""
        if isinstance(program, host.Copy | host.CrossReplicaCopy):
            ends = [self._names(end) for end in (program.source, program.destination)]
            return f"{type(program).__name__}{name} from {ends[0]} to {ends[1]}"
        if isinstance(program, host.LibraryGroup):
            return f"library operation {program.kernel}{name}"
        if not isinstance(program, host.Execute):
            return f"{type(program).__name__}{name}"
        for block in self._blocks[program.compute_set]:
            for field, edges in block.edges.items():
                hit = (edges.starts <= element) & (element < edges.starts + edges.lengths)
                if block.type.fields_by_name[field].direction == "in" and hit.any():
                    tile = int(block.tiles[edges.vertex_of_region(len(block))[int(np.flatnonzero(hit)[0])]])
                    where = f"field '{field}' of a vertex {block.type.name} on tile {tile}"
                    return f"compute set '{program.of.name}' ({where})"
        return f"compute set '{program.of.name}'"

    def _names(self, end: Tensor | DataStream | RemoteBuffer) -> str:
        if not isinstance(end, Tensor):
            return f"'{end.handle()}'"
        of = [self._store.variables.name[v] or f"variable {v}" for v in end.view.variables()]
        return ", ".join(f"'{name}'" for name in of[:3]) + (" and others" if len(of) > 3 else "")

    def _run(self, unset: Int64Array) -> str:
        """The first run of unset elements of a variable, numbered within the variable."""
        variable = int(self._units.variable[unset[0]])
        ours = unset[self._units.variable[unset] == variable]
        atoms = np.flatnonzero(np.isin(self._units.unit, ours))
        apart = np.flatnonzero(np.diff(atoms) > 1)
        last = atoms[apart[0]] if len(apart) else atoms[-1]
        base, numel = self._store.variables.base[variable], self._store.variables.numel[variable]
        begin, end = (int(self._units.begin[at]) - base for at in (atoms[0], last + 1))
        name = self._store.variables.name[variable] or f"variable {variable}"
        if (begin, end) == (0, numel):
            return f"'{name}'"
        return f"elements {begin} to {end} of '{name}'" if end - begin > 1 else f"element {begin} of '{name}'"


def _written_at_first(store: GraphStore) -> Elements:
    """Elements that hold values before any program runs, or that come from outside."""
    v = store.variables
    every = [i for i, values in enumerate(v.constant) if values is not None]
    every += [*v.external, *(int(i) for i in store.variable_of(np.array([*v.metadata.values()], np.int64)))]
    parts: list[Elements] = [_whole(v.base[i], v.numel[i]) for i in every]
    for i, values in enumerate(v.initial):
        parts += [_whole(v.base[i] + offset, len(part)) for offset, part in values]
    parts += [_whole(element, 1) for element in v.by_replica]
    parts += [tensor.regions() for kind, _, tensor in store.host_copies if kind == "write"]
    return elements_of(parts)


def _whole(start: int, length: int) -> Elements:
    return np.array([start], np.int64), np.array([length], np.int64)


def _elements_of(tensors: Sequence[Tensor]) -> Elements:
    return elements_of([tensor.regions() for tensor in tensors])


def _without(elements: Elements, others: Elements) -> Elements:
    """The elements that `others` does not hold. Both are disjoint runs in ascending order."""
    if not len(elements[0]) or not len(others[0]):
        return elements
    begin, end = elements[0], elements[0] + elements[1]
    cut = np.unique(np.concatenate([begin, end, others[0], others[0] + others[1]]))
    start, stop = cut[:-1], cut[1:]

    def inside(runs: Elements) -> BoolArray:
        row = np.searchsorted(runs[0], start, side="right") - 1
        return np.asarray((row >= 0) & (start < np.append(runs[0] + runs[1], 0)[row]), dtype=np.bool_)

    kept = inside(elements) & ~inside(others)
    return start[kept], stop[kept] - start[kept]
