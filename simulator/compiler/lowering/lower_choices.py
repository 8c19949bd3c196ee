"""Programs that choose, lowered.

- If and Switch: the value that decides is sent from its tile to all others (Sync, DoExchange
  `copyN_switchControlBroadcastN/ExchangePre`, as published trees do with the number of the program to run), and an If
  or Switch on every tile holds a Sequence for each branch, an If the true one first, a Switch the default last;
- RepeatWhile: a Sequence of the condition, SetLocalConsensusFromVar on the tile of the predicate, a Sync that tells all
  tiles what it says (the sync network joins the tiles' answers, so nothing is exchanged), and a Sequence of the body,
  after which it starts again; Loop: a RepeatWhile that holds its body alone;
- Execute with a tensor for what compute() returns: SetLocalConsensus on all tiles, a Sync that joins what they say, and
  GetGlobalConsensus, with which the tensor's tile writes it down;
- Abort, AbortOnCondition: a node of their own, without time; ErrorProgram: its tensor goes to the host before.

That If goes by exchange and RepeatWhile by consensus is a guess; that both exist is published (poplar-model 3.2.6). No
public figure says how long a tile takes to branch, so it takes none beside the Sync and the exchange.
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

Into = Callable[[int, host.Program], None]
"""Lowers a program below an existing Sequence."""


def named_sequence(program: host.Program) -> str:
    """The debug name of a Sequence, which a node that stands for it bears; "" for other programs."""
    return program.debug.getPathName() if isinstance(program, host.Sequence) else ""


class ChoiceLowering:
    """Appends programs that choose to the table of `steps`."""

    def __init__(
        self, steps: Steps, host_lowering: HostLowering, into: Into, end_of_trip: Callable[[int], None]
    ) -> None:
        self._steps, self._host, self._into, self._end_of_trip = steps, host_lowering, into, end_of_trip

    def repeat(self, parent: int, program: host.Repeat, debug_id: int) -> None:
        name = program.debug.getPathName()
        row = self._steps.table.add(parent, "Repeat", name, repeat_count=program.count, debug_id=debug_id)
        self._trip(row, program.body)

    def one_of(self, parent: int, program: host.If | host.Switch, debug_id: int) -> None:
        """An If or a Switch."""
        control = program.reads()[0]
        everyone = np.arange(self._steps.machine.tiles)
        sent = sent_words(self._steps.items, control, everyone, "switchControlBroadcast")
        work = Work(buffers=sent.buffers, code=sent.first_use())
        self._steps.exchange(parent, sent.label, sent.exchange, work, sent.moves, sent.packets, debug_id)
        names = ["true", "false"]
        if isinstance(program, host.Switch):
            names = [f"case {value}" for value, _ in program.cases] + ["default"]
        looking = Work(accesses=Accesses(reads=sent.elements), buffers=sent.buffers, words=sent)
        own, type_ = program.debug.getPathName(), type(program).__name__
        row = self._steps.table.add(parent, type_, own, work=looking, debug_id=debug_id)
        for body, name in zip(program.nested(), names, strict=False):
            self._branch(row, body, name)

    def as_long_as(self, parent: int, program: host.RepeatWhile, debug_id: int) -> None:
        """A RepeatWhileTrue or RepeatWhileFalse."""
        table = self._steps.table
        row = table.add(parent, "RepeatWhile", program.debug.getPathName(), debug_id=debug_id)
        self._branch(row, program.cond, "condition")
        self._look(row, "SetLocalConsensusFromVar", "", program.predicate, debug_id)
        self._steps.sync(row, debug_id, "GS1" if self._steps.machine.num_ipus > 1 else "", None)
        self._trip(row, program.body, "body")

    def without_end(self, parent: int, program: host.Loop, debug_id: int) -> None:
        name = program.debug.getPathName()
        self._trip(self._steps.table.add(parent, "RepeatWhile", name, debug_id=debug_id), program.body)

    def consensus(self, parent: int, agreed: Tensor, debug_id: int) -> None:
        """All tiles say what their vertices returned, and the tile of `agreed` writes whether all of them said true."""
        self._steps.items.mapped_pieces(agreed.regions())  # which refuses one without a tile
        self._steps.table.add(parent, "SetLocalConsensus", debug_id=debug_id)
        self._steps.sync(parent, debug_id, "GS1" if self._steps.machine.num_ipus > 1 else "", None)
        written = Work(accesses=Accesses(writes=elements_of([agreed.regions()])))
        self._steps.table.add(parent, "GetGlobalConsensus", work=written, debug_id=debug_id)

    def ending(
        self, parent: int, program: host.Abort | host.AbortOnCondition | host.ErrorProgram, debug_id: int
    ) -> None:
        """A program that may end the run."""
        name = program.debug.getPathName()
        if isinstance(program, host.AbortOnCondition):
            self._look(parent, "AbortOnCondition", name, program.predicate, debug_id)
            return
        if isinstance(program, host.ErrorProgram):
            self._host.tensor(parent, program.tensor, program.message, False, debug_id)
        shown = elements_of([tensor.regions() for tensor in program.reads()])
        self._steps.table.add(parent, "Abort", name, debug_id=debug_id, work=Work(accesses=Accesses(reads=shown)))

    def _look(self, parent: int, type_: str, name: str, predicate: Tensor, debug_id: int) -> None:
        self._steps.items.mapped_pieces(predicate.regions())  # which refuses one without a tile
        work = Work(accesses=Accesses(reads=elements_of([predicate.regions()])))
        self._steps.table.add(parent, type_, name, work=work, debug_id=debug_id)

    def _branch(self, row: int, body: host.Program, name: str = "") -> int:
        branch = self._steps.table.add(row, "Sequence", name or named_sequence(body))
        self._into(branch, body)
        return branch

    def _trip(self, row: int, body: host.Program, name: str = "") -> None:
        """The body of a loop. `end_of_trip` may add to it."""
        self._end_of_trip(self._branch(row, body, name))
