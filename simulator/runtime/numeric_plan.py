"""The numeric plan: what a program computes, apart from what it costs.

Built once when a graph is compiled: tensors become places of the arena, library operations one kernel each, other
compute sets their vertices. Binding it to an arena and to the host side gives one function per program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from simulator.poplar import program as host
from simulator.poplar.errors import poplar_error
from simulator.runtime.arena import Arena, ArenaLayout, Place
from simulator.runtime.kernels import kernel
from simulator.runtime.temporaries import shared_slots
from simulator.runtime.vertices import BlockPlan

if TYPE_CHECKING:
    from simulator.poplar.store import GraphStore

Array = npt.NDArray[Any]
Action = Callable[[], None]


class HostSide(Protocol):
    """What programs ask of the host while they run."""

    def read_stream(self, handle: str, into: Array) -> None: ...

    def write_stream(self, handle: str, values: Array) -> None: ...

    def print_tensor(self, title: str, values: Array, form: host.PrintTensorFmt) -> None: ...


Step = Callable[[Arena, HostSide], Action]
"""A part of a program before it is bound."""


class NumericPlan:
    """All programs and host copies of a graph."""

    def __init__(self, store: GraphStore, programs: Sequence[host.Program]) -> None:
        self.layout = ArenaLayout(store, shared_slots(store, programs))
        self._store = store
        self._blocks: dict[int, list[BlockPlan]] = {}
        self._functions: dict[int, Step] = {}
        self._programs = [self._step(program) for program in programs]
        #: (kind "read" or "write", handle) -> place
        self.host_copies: dict[tuple[str, str], Place] = {
            (kind, handle): self.layout.place(tensor) for kind, handle, tensor in store.host_copies
        }
        self.host_types = {(kind, handle): tensor.elementType() for kind, handle, tensor in store.host_copies}
        streams = store.streams
        #: handle -> (elements, type, to the device) of user streams
        self.streams = {
            handle: (numel, type_, to_device)
            for handle, type_, numel, to_device, kind in zip(
                streams.handle, streams.type, streams.numel, streams.to_device, streams.kind, strict=True
            )
            if kind == "fifo"
        }
        del self._store, self._blocks

    def bind(self, arena: Arena, side: HostSide) -> list[Action]:
        """One function per program, in order."""
        return [step(arena, side) for step in self._programs]

    # One method per class of program

    def _step(self, program: host.Program) -> Step:
        match program:
            case host.LibraryGroup():
                return self._kernel(program)
            case host.Sequence():
                return _in_order([self._step(p) for p in program.programs])
            case host.Execute():
                return self._execute(program.compute_set)
            case host.Copy():
                return self._copy(program)
            case host.Repeat():
                return _repeated(program.count, self._step(program.body))
            case host.Call():
                return self._function(program.function)
            case host.PrintTensor():
                return _printed(program.title, self.layout.place(program.tensor), program.format)
            case host.WriteUndef() | host.Sync():
                return _in_order([])
            case _:
                raise poplar_error(f"Programs of type {type(program).__name__} cannot be run.")

    def _function(self, index: int) -> Step:
        if index not in self._functions:
            self._functions[index] = self._step(self._store.functions[index])
        return self._functions[index]

    def _kernel(self, group: host.LibraryGroup) -> Step:
        function = kernel(group.kernel)
        inputs = [self.layout.place(t) for t in group.inputs]
        outputs = [self.layout.place(t) for t in group.outputs]
        attributes = dict(group.attributes)

        def bind(arena: Arena, side: HostSide) -> Action:
            windows = [arena.window(p) if p.items is None else None for p in outputs]
            fixed = [arena.window(p) if p.items is None else None for p in inputs]

            if all(window is not None for window in (*windows, *fixed)):
                return lambda: function(windows, fixed, attributes)  # type: ignore[arg-type]

            def run() -> None:
                given = [arena.read(p) if w is None else w for p, w in zip(inputs, fixed, strict=True)]
                made = [np.empty(p.shape, p.dtype) if w is None else w for p, w in zip(outputs, windows, strict=True)]
                function(made, given, attributes)
                for place, window, values in zip(outputs, windows, made, strict=True):
                    if window is None:
                        arena.write(place, values)

            return run

        return bind

    def _execute(self, compute_set: int) -> Step:
        if compute_set not in self._blocks:
            self._blocks[compute_set] = [
                BlockPlan(block, self._store, self.layout)
                for block in self._store.settled_blocks
                if block.compute_set == compute_set and len(block)
            ]
        blocks = self._blocks[compute_set]

        def bind(arena: Arena, side: HostSide) -> Action:
            return _all([block.bind(arena) for block in blocks])

        return bind

    def _copy(self, copy: host.Copy) -> Step:
        if copy.kind == "host_to_device":
            return _from_stream(copy.source.handle, self.layout.place(copy.destination))
        if copy.kind == "device_to_host":
            return _to_stream(self.layout.place(copy.source), copy.destination.handle)
        source, destination = self.layout.place(copy.source), self.layout.place(copy.destination)
        return lambda arena, side: lambda: arena.write(destination, arena.read(source))


def _all(actions: list[Action]) -> Action:
    if len(actions) == 1:
        return actions[0]

    def run() -> None:
        for action in actions:
            action()

    return run


def _in_order(steps: list[Step]) -> Step:
    return lambda arena, side: _all([step(arena, side) for step in steps])


def _repeated(count: int, body: Step) -> Step:
    def bind(arena: Arena, side: HostSide) -> Action:
        action = body(arena, side)

        def run() -> None:
            for _ in range(count):
                action()

        return run

    return bind


def _printed(title: str, place: Place, form: host.PrintTensorFmt) -> Step:
    return lambda arena, side: lambda: side.print_tensor(title, arena.read(place), form)


def _from_stream(handle: str, place: Place) -> Step:
    def bind(arena: Arena, side: HostSide) -> Action:
        count = int(np.prod(place.shape))

        def run() -> None:
            values = np.empty(count, place.dtype)
            side.read_stream(handle, values)
            arena.write(place, values)

        return run

    return bind


def _to_stream(place: Place, handle: str) -> Step:
    return lambda arena, side: lambda: side.write_stream(handle, np.ascontiguousarray(arena.read(place)).reshape(-1))
