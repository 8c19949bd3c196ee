"""What programs ask of the host while they run, and what a part of a program is before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from simulator.arrays import AnyArray
from simulator.codelets.printing import VertexPlaces
from simulator.compiler.ir.program_visits import Place as ProgramPlace
from simulator.graph import program as host
from simulator.runtime.values.arena import Arena

Action = Callable[[], None]


class HostSide(Protocol):
    """What programs ask of the host while they run."""

    threads: int  #: parts that a compute set is cut into, to run together
    verify: bool  #: what vertices do to memory is checked

    def together(self, actions: Sequence[Action]) -> None:
        """Run actions whose order does not matter."""
        ...

    def print_codelet(self, places: VertexPlaces, replica: int, row: int, worker: int, text: str) -> None: ...

    def read_stream(self, handle: str, replica: int, into: AnyArray) -> None: ...

    def write_stream(self, handle: str, replica: int, values: AnyArray) -> None: ...

    def print_tensor(self, title: str, replica: int, values: AnyArray, form: host.PrintTensorFmt) -> None: ...

    def read_rows(self, handle: str, replica: int, rows: Iterable[int]) -> AnyArray:
        """(rows, elements) of a remote buffer."""
        ...

    def write_rows(self, handle: str, replica: int, rows: Iterable[int], values: AnyArray) -> None: ...

    def call_host_function(self, handle: str, replica: int, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Run a function of the host; the values of its outputs."""
        ...

    def get_metadata(self, handle: str, replica: int) -> int:
        """The metadata byte of a QUARTER stream's next transfer."""
        ...

    def put_metadata(self, handle: str, replica: int, byte: int) -> None: ...

    def chose(self, choice: int) -> None:
        """A program that chooses by data has chosen; see `simulator.runtime.values.choices`."""
        ...

    def watched(self, place: ProgramPlace, program: host.Program, action: Action) -> Action:
        """What is done in place of `action`, the running of the program at a place; itself where nobody watches."""
        ...

    def at_row(self, row: int, action: Action) -> Action:
        """The same for the lowered program in a row, where programs run row by row."""
        ...


Step = Callable[[Sequence[Arena], HostSide], Action]
"""A part of a program before it is bound to the arenas of all replicas."""

Leaf = Callable[[Arena, HostSide], Action]
"""A step that every replica does by itself."""
