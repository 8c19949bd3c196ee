"""The interface that running programs use to reach the host, and the types of a plan's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from simulator.arrays import AnyArray, Int64Array, UInt64Array
from simulator.codelets.printing import VertexPlaces
from simulator.compiler.ir.program_visits import Place as ProgramPlace
from simulator.graph import program as host
from simulator.runtime.values.arena import Arena

Action = Callable[[], None]


class RunEndedError(Exception):
    """The program ended the run. `reason` is one sentence without the program's name; `place` is that program."""

    def __init__(self, reason: str, place: ProgramPlace) -> None:
        super().__init__(reason)
        self.reason, self.place = reason, place


class RunStoppedError(Exception):
    """Engine.stop was called: the run ends at its next host transfer."""


class HostSide(Protocol):
    """Services of the host for running programs."""

    threads: int  #: parts of a compute set that may run in parallel
    verify: bool  #: check the writes of vertices

    def together(self, actions: Sequence[Action]) -> None:
        """Run actions whose order does not matter."""
        ...

    def print_codelet(self, places: VertexPlaces, replica: int, row: int, worker: int, text: str) -> None: ...

    def vertex_begins(self, places: VertexPlaces) -> Int64Array:
        """The tile cycle at which each vertex of a block begins, from the begin of its compute set."""
        ...

    def read_stream(self, handle: str, replica: int, into: AnyArray) -> None: ...

    def write_stream(self, handle: str, replica: int, values: AnyArray) -> None: ...

    def print_tensor(self, title: str, replica: int, values: AnyArray, form: host.PrintTensorFmt) -> None: ...

    def read_rows(self, handle: str, replica: int, rows: Iterable[int]) -> AnyArray:
        """(rows, elements) of a remote buffer."""
        ...

    def write_rows(self, handle: str, replica: int, rows: Iterable[int], values: AnyArray) -> None: ...

    def call_host_function(self, handle: str, replica: int, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Call a host function; returns the values of its outputs."""
        ...

    def get_metadata(self, handle: str, replica: int) -> int:
        """The metadata byte of a QUARTER stream's next transfer."""
        ...

    def put_metadata(self, handle: str, replica: int, byte: int) -> None: ...

    def chose(self, choice: int) -> None:
        """Record the choice of a program; see `simulator.runtime.values.choices`."""
        ...

    def reading_counters(self, action: Action) -> Action:
        """Wrap the action of a compute set whose vertices read the cycle counters of their tiles."""
        ...

    def counted(self, compute_set: int, replicas: Sequence[Sequence[UInt64Array]]) -> None:
        """Record what the vertices of a counted compute set took: of each replica the parts of issue slots of each
        block of compiled vertices."""
        ...

    def wrap_program(self, place: ProgramPlace, program: host.Program, action: Action) -> Action:
        """Wrap `action`, which runs the program at a place, in its watchers; `action` itself where there are none."""
        ...

    def wrap_lowered(self, row: int, action: Action) -> Action:
        """Wrap the action of a lowered program, where programs run row by row."""
        ...


Step = Callable[[Sequence[Arena], HostSide], Action]
"""Binds a part of a program to the arenas of all replicas."""

Leaf = Callable[[Arena, HostSide], Action]
"""A step that every replica runs separately."""
