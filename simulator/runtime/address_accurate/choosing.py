"""Programs that choose, in the address-accurate mode: control values are read from the addresses in the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simulator.compiler.ir.program_table import SentWords
from simulator.graph import program as host
from simulator.runtime.address_accurate.compute_parts import Replica
from simulator.runtime.address_accurate.transfers import AddressedTensor, ReplicaMemory, addressed
from simulator.runtime.address_accurate.words import Words
from simulator.runtime.values.choices import decision, ending

if TYPE_CHECKING:
    from simulator.compiler.compiled_graph import LoweredPrograms
    from simulator.runtime.values.host_side import HostSide

Action = Callable[[], None]


class Choosing:
    """Actions of programs that choose or end the run. `chosen`: their last choices, by row."""

    def __init__(
        self, lowered: LoweredPrograms, replicas: Sequence[Replica], memories: Sequence[ReplicaMemory], side: HostSide
    ) -> None:
        self.chosen: dict[int, int] = {}
        self._lowered, self._replicas, self._memories, self._side = lowered, replicas, memories, side
        plans = replicas[0].plans
        self._words = {id(sent): Words(sent, replicas, memories[0].memory) for sent in plans.words.values()}
        #: by id of the exchange
        self._exchanged = {
            id(exchange): (self._words[id(sent)], exchange)
            for sent in plans.words.values()
            for exchange in (sent.exchange.internal, sent.exchange.between_ipus)
            if exchange is not None
        }

    def exchange(self, exchange: object) -> Action | None:
        """The action of an exchange of words; None for other exchanges."""
        words, own = self._exchanged.get(id(exchange), (None, None))
        return None if words is None or own is None else words.action(own)

    def action(self, row: int, program: host.Program | None, sent: SentWords | None) -> Action | None:
        """The action of a program at its own row; None for programs that do not choose. `sent`: the words that it
        reads."""
        place = self._lowered.place_of(row)
        if isinstance(program, host.Abort | host.ErrorProgram) and place is not None:
            end = ending(program, place)
            shown = [addressed(tensor, self._replicas) for tensor in program.reads()]
            return lambda: end([memory.read(tensor) for tensor in shown for memory in self._memories])
        choosing = host.If | host.Switch | host.RepeatWhile | host.AbortOnCondition
        if not isinstance(program, choosing) or place is None:
            return None
        decide = decision(program, place)
        control = addressed(program.reads()[0], self._replicas)
        words = None if sent is None else self._words[id(sent)]

        def look() -> None:
            if words is not None:
                words.check()
            self.chosen[row] = decide(self._values(control))
            if not isinstance(program, host.AbortOnCondition):
                self._side.chose(self.chosen[row])

        return look

    def _values(self, control: AddressedTensor) -> list[int]:
        return [int(memory.read(control)) for memory in self._memories]
