"""Check that control values are provably equal in all replicas, so that all take the same branches: a data-flow
analysis.

Equal are constants, initial values, data of BROADCAST streams, and results of equal values alone. Possibly different
are the index of the replica, data of REPLICATE streams, remote buffers, host functions, Engine.writeTensor and other
replicas, and all results of these. AssumeEqualAcrossReplicas makes a tensor equal. The analysis tracks whole variables;
the vertices of one type in a compute set count as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from simulator.base.errors import graph_replication_error
from simulator.graph import program as host

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.tensor import Tensor
    from simulator.graph.vertices import VertexBlock

Variables = frozenset[int]


def check_divergence(store: GraphStore, programs: Iterable[host.Program]) -> None:
    """Raises `graph_replication_error` for a control value that may differ between replicas."""
    if store.replicas == 1:
        return
    _Divergence(store).check(list(programs))


class _Divergence:
    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._blocks: dict[int, list[tuple[Variables, Variables]]] = {}  #: (read, written) by compute set
        for block in store.blocks:
            read, written = (self._edges(block, side) for side in (("in", "inout"), ("out", "inout")))
            self._blocks.setdefault(block.compute_set, []).append((read, written))

    def check(self, programs: list[host.Program]) -> None:
        """Check all programs. They run in any order, so each may find the results of another: iterate to a fixed
        point."""
        written = [v for kind, _, tensor in self._store.host_copies if kind == "write" for v in tensor.view.variables()]
        differing = np.array([*self._store.variables.by_replica], np.int64)
        before = frozenset([*self._store.variable_of(differing).tolist(), *written])
        while True:
            after = frozenset.union(before, *(self._after(program, before, False) for program in programs))
            if after == before:
                break
            before = after
        for program in programs:
            self._after(program, before, True)

    def _edges(self, block: VertexBlock, directions: tuple[str, ...]) -> Variables:
        found: list[int] = []
        for name, edges in block.edges.items():
            if block.type.fields_by_name[name].direction in directions and len(edges.starts):
                found += np.unique(self._store.variable_of(edges.starts)).tolist()
        return frozenset(found)

    def _after(self, program: host.Program, unequal: Variables, checking: bool) -> Variables:
        """Variables that may differ after a program. `checking`: raise where one of them decides."""
        match program:
            case host.LibraryGroup() | host.CrossReplicaCopy():
                return self._after_copy(program, unequal, False)
            case host.Sequence():
                for part in program.programs:
                    unequal = self._after(part, unequal, checking)
                return unequal
            case host.Execute():
                agreed = frozenset(v for tensor in program.writes() for v in tensor.view.variables())
                unequal = unequal - agreed
                for read, written in self._blocks.get(program.compute_set, ()):
                    unequal = unequal | written | agreed if read & unequal else unequal
                return unequal
            case host.AssumeEqualAcrossReplicas():
                return unequal - frozenset(program.tensor.view.variables())
            case host.Call() if program.host_function is None:
                return self._after(self._store.functions[program.function], unequal, checking)
            case host.Copy() | host.Call():
                return self._after_copy(program, unequal, _differs(self._store, program))
            case host.RepeatWhile() | host.Repeat() | host.Loop():
                return self._loop(program, unequal, checking)
            case host.If() | host.Switch():
                self._decide(program, unequal, checking)
                ways = [self._after(body, unequal, checking) for body in program.nested()]
                return frozenset.union(*ways) if ways else unequal
            case _:
                for body in program.nested():
                    unequal = self._after(body, unequal, checking)
                return unequal

    def _after_copy(self, program: host.Program, unequal: Variables, differs: bool) -> Variables:
        read = {v for tensor in program.reads() for v in tensor.view.variables()}
        for tensor in program.writes():
            variables = frozenset(tensor.view.variables())
            if differs or read & unequal:
                unequal = unequal | variables
            elif self._covers_variables(tensor, variables):
                unequal = unequal - variables
        return unequal

    def _covers_variables(self, tensor: Tensor, variables: Variables) -> bool:
        numels = (self._store.variables.numel[v] for v in variables)
        return not tensor.containsAliases() and sum(numels) == tensor.numElements()

    def _loop(
        self, program: host.RepeatWhile | host.Repeat | host.Loop, unequal: Variables, checking: bool
    ) -> Variables:
        *conditions, body = program.nested()
        while True:
            after_condition = unequal
            for condition in conditions:
                after_condition = self._after(condition, after_condition, checking)
            if isinstance(program, host.RepeatWhile):
                self._decide(program, after_condition, checking)
            again = unequal | self._after(body, after_condition, checking)
            if again == unequal:
                return after_condition if conditions else again
            unequal = again

    def _decide(self, program: host.Program, unequal: Variables, checking: bool) -> None:
        (control,) = program.reads()
        bad = sorted(unequal & frozenset(control.view.variables()))
        if checking and bad:
            name = self._store.variables.name[bad[0]] or f"variable {bad[0]}"
            raise graph_replication_error(
                f"{type(program).__name__}: '{name}' decides, but it may differ between the {self._store.replicas} "
                "replicas; if it does not, run AssumeEqualAcrossReplicas on it before."
            )


def _differs(store: GraphStore, program: host.Copy | host.Call) -> bool:
    """True where the data that a program brings from the host or remote memory may differ between replicas."""
    if isinstance(program, host.Call) or program.kind == "from_remote":
        return True
    return program.kind == "host_to_device" and not store.streams.broadcast[program.source.id]
