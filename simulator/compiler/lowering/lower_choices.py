"""Lower programs that choose.

- If and Switch: the word that decides is sent to all other tiles (Sync, DoExchange
  `copyN_switchControlBroadcastN/ExchangePre`, as published trees send the number of the program to run). An If or
  Switch on every tile then holds a Sequence per branch: the true branch of an If first, the default of a Switch last.
- RepeatWhile: a Sequence of the condition, SetLocalConsensusFromVar on the tile of the predicate, a Sync that tells its
  value to all tiles (the sync network combines answers, nothing is exchanged), and a Sequence of the body. Loop: a
  RepeatWhile that holds its body alone.
- Execute with a tensor for the results of compute(): SetLocalConsensus on all tiles, a Sync that combines their
  results, and GetGlobalConsensus, with which the tensor's tile writes the result.
- Abort, AbortOnCondition: a row of their own, without time. ErrorProgram copies its tensor to the host first.

That If uses an exchange and RepeatWhile consensus is a guess; that both exist is published (poplar-model 3.2.6). No
public figure gives the time of a branch, so it takes none besides the Sync and the exchange. Where control flow is
instrumented on hardware, each branch begins with OnTileExecute `BranchRecord`, and one follows each loop that ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulator.compiler.ir.accesses import Accesses, elements_of
from simulator.compiler.ir.program_table import Work
from simulator.compiler.lowering.lower_host import HostLowering
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sent_words import sent_words
from simulator.graph import program as host
from simulator.graph.tensor import Tensor

LowerInto = Callable[[int, host.Program], None]
"""Lowers a program below an existing Sequence."""


def named_sequence(program: host.Program) -> str:
    """The debug name of a Sequence; "" for other programs."""
    return program.debug.getPathName() if isinstance(program, host.Sequence) else ""


class ChoiceLowering:
    """Appends programs that choose to the program table."""

    def __init__(
        self, steps: Steps, host_lowering: HostLowering, lower_into: LowerInto, end_loop_body: Callable[[int], None]
    ) -> None:
        self._steps, self._host, self._lower_into, self._end_loop_body = steps, host_lowering, lower_into, end_loop_body

    def lower_repeat(self, parent: int, program: host.Repeat, debug_id: int) -> None:
        name = program.debug.getPathName()
        row = self._steps.table.add(parent, "Repeat", name, repeat_count=program.count, debug_id=debug_id)
        self._lower_loop_body(row, program.body)
        self._steps.add_branch_record(parent, debug_id)

    def lower_choice(self, parent: int, program: host.If | host.Switch, debug_id: int) -> None:
        """Add an If or a Switch."""
        control = program.reads()[0]
        everyone = np.arange(self._steps.machine.tiles)
        sent = sent_words(self._steps.plans, control, everyone, "switchControlBroadcast")
        work = Work(buffers=sent.buffers, code=sent.first_use())
        self._steps.add_exchange(parent, sent.label, sent.exchange, work, sent.moves, sent.packets, debug_id)
        names = ["true", "false"]
        if isinstance(program, host.Switch):
            names = [f"case {value}" for value, _ in program.cases] + ["default"]
        reading = Work(accesses=Accesses(reads=sent.elements), buffers=sent.buffers, words=sent)
        own, type_ = program.debug.getPathName(), type(program).__name__
        row = self._steps.table.add(parent, type_, own, work=reading, debug_id=debug_id)
        for body, name in zip(program.nested(), names, strict=False):
            branch = self._steps.table.add(row, "Sequence", name or named_sequence(body))
            self._steps.add_branch_record(branch, debug_id)
            self._lower_into(branch, body)

    def lower_while(self, parent: int, program: host.RepeatWhile, debug_id: int) -> None:
        """Add a RepeatWhileTrue or RepeatWhileFalse."""
        table = self._steps.table
        row = table.add(parent, "RepeatWhile", program.debug.getPathName(), debug_id=debug_id)
        self._lower_branch(row, program.cond, "condition")
        self._add_predicate_reader(row, "SetLocalConsensusFromVar", "", program.predicate, debug_id)
        self._steps.add_sync(row, debug_id, "GS1" if self._steps.machine.num_ipus > 1 else "", None)
        self._lower_loop_body(row, program.body, "body")
        self._steps.add_branch_record(parent, debug_id)

    def lower_endless_loop(self, parent: int, program: host.Loop, debug_id: int) -> None:
        name = program.debug.getPathName()
        self._lower_loop_body(self._steps.table.add(parent, "RepeatWhile", name, debug_id=debug_id), program.body)

    def lower_consensus(self, parent: int, agreed: Tensor, debug_id: int) -> None:
        """Combine the results of all vertices; the tile of `agreed` writes whether all were true."""
        self._steps.plans.mapped_pieces(agreed.regions())  # raises for a tensor without a tile
        self._steps.table.add(parent, "SetLocalConsensus", debug_id=debug_id)
        self._steps.add_sync(parent, debug_id, "GS1" if self._steps.machine.num_ipus > 1 else "", None)
        written = Work(accesses=Accesses(writes=elements_of([agreed.regions()])))
        self._steps.table.add(parent, "GetGlobalConsensus", work=written, debug_id=debug_id)

    def lower_abort(
        self, parent: int, program: host.Abort | host.AbortOnCondition | host.ErrorProgram, debug_id: int
    ) -> None:
        """Add a program that may end the run."""
        name = program.debug.getPathName()
        if isinstance(program, host.AbortOnCondition):
            self._add_predicate_reader(parent, "AbortOnCondition", name, program.predicate, debug_id)
            return
        if isinstance(program, host.ErrorProgram):
            self._host.lower_tensor(parent, program.tensor, program.message, False, debug_id)
        shown = elements_of([tensor.regions() for tensor in program.reads()])
        self._steps.table.add(parent, "Abort", name, debug_id=debug_id, work=Work(accesses=Accesses(reads=shown)))

    def _add_predicate_reader(self, parent: int, type_: str, name: str, predicate: Tensor, debug_id: int) -> None:
        self._steps.plans.mapped_pieces(predicate.regions())  # raises for a tensor without a tile
        work = Work(accesses=Accesses(reads=elements_of([predicate.regions()])))
        self._steps.table.add(parent, type_, name, work=work, debug_id=debug_id)

    def _lower_branch(self, row: int, body: host.Program, name: str = "") -> int:
        branch = self._steps.table.add(row, "Sequence", name or named_sequence(body))
        self._lower_into(branch, body)
        return branch

    def _lower_loop_body(self, row: int, body: host.Program, name: str = "") -> None:
        """Add the body of a loop. `end_loop_body` may append to it."""
        self._end_loop_body(self._lower_branch(row, body, name))
