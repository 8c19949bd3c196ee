"""The programs within programs, those of the functions they call included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from simulator.graph import program as host

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


def programs_within(store: GraphStore, programs: Iterable[host.Program]) -> Iterator[host.Program]:
    """Every program, from the outside in and in order; the body of a function once."""
    called: set[int] = set()
    pending = list(programs)[::-1]
    while pending:
        program = pending.pop()
        yield program
        pending.extend(list(program.nested())[::-1])
        if isinstance(program, host.Call) and program.function >= 0 and program.function not in called:
            called.add(program.function)
            pending.append(store.functions[program.function])
