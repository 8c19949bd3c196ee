"""Cost terms of the cycles of one tile in an exchange or host copy.

By the convention of `popvision.formats.profile.model.CostTerm`, terms that begin with "+ " add up to the cycles; the
others are their inputs.
"""

from __future__ import annotations

import numpy as np

from popvision.formats.profile.model import CostTerm
from simulator.compiler.ir.exchanges import Exchange
from simulator.compiler.ir.program_table import Work
from simulator.compiler.machine import Machine
from simulator.machine import counters, exchange_code, links
from simulator.machine import exchange as fabric

_WORD = "exact: 4 B a cycle each way, 8 for what both tiles of a bus receive (published-numbers 7.7)"
_INSTRUCTIONS = "guess: one a cycle; three for each fragment (published-numbers 3)"
_ARRANGED = "exact: arrangement of the copies"
_CONCERNED = "guess: simulator/compiler/lowering/sync_domains.py"
_GLOBAL = "exact: getGlobalSyncCycles of the target (published-numbers 3)"


def program_terms(row: int, type_: str, work: Work, machine: Machine) -> list[CostTerm]:
    """Terms of the busiest tile of a lowered program; none for programs other than exchanges, host copies and syncs."""
    name = f"program:{row}"
    if type_ == "DoExchange" and work.exchange is not None:
        return exchange_terms(name, work.exchange, machine, int(work.exchange.cycles.argmax()))
    if type_ == "GlobalExchange" and work.exchange is not None:
        return [*_link_terms(name, work.exchange), *_counter_terms(name, work)]
    if type_ == "StreamCopyMid" and work.cycles is not None and work.cycles.any():
        return _host_terms(name, work, machine)
    if type_ == "Sync":
        return _sync_terms(name, work, machine)
    if type_ == "StreamCopyBegin":
        term = "+ host after the last tile has come" + _less(work, machine)
        return [CostTerm(name, term, float(np.max(work.host_wait)), machine.host_link.source)]
    if type_ == "StreamCopyEnd" and work.cycles is not None and work.cycles.any():
        busiest = int(work.cycles.argmax())
        return [
            CostTerm(name, "tile", busiest, _ARRANGED),
            CostTerm(
                name,
                "+ end of the transfer" + _less(work, machine),
                float(work.cycles[busiest]),
                machine.host_link.source,
            ),
        ]
    return []


def _less(work: Work, machine: Machine) -> str:
    return " (less where a place in the host's memory is ready)" if machine.hardware and work.stream else ""


def exchange_terms(name: str, exchange: Exchange, machine: Machine, tile: int) -> list[CostTerm]:
    """Terms of one tile of an exchange within an IPU; none for a tile that takes no part."""
    moving = exchange.moving
    if moving is None or not exchange.cycles[tile]:
        return []
    received, sent, nearest, latest, instructions = (
        int(column[tile])
        for column in (moving.received, moving.sent, moving.nearest, moving.latest, moving.instructions)
    )
    facts = {
        "tile": tile,
        "bytes received": exchange.rx[tile],
        "bytes sent": exchange.tx[tile],
        "fragments received": exchange.rx_fragments[tile],
    }
    terms = [CostTerm(name, term, float(value), _ARRANGED) for term, value in facts.items()]
    lead = int(machine.stage.lead[tile])
    if lead:
        source = "fitted: difference of sync delays (simulator/machine/sync.py)"
        terms.append(CostTerm(name, "+ wait for the last tile released by the sync", lead, source))
    terms.append(CostTerm(name, "+ launch and pipeline", fabric.LAUNCH_CYCLES, fabric.LAUNCH_SOURCE))
    way = f"fitted: {fabric.DISTANCE_SOURCE}"
    if instructions > max(received + nearest, latest, sent):
        terms.append(CostTerm(name, "+ instructions that send runs and receive fragments", instructions, _INSTRUCTIONS))
    elif sent >= max(received + nearest, latest):
        terms.append(CostTerm(name, "+ words sent", sent, _WORD))
    elif received + nearest >= latest:
        terms += [CostTerm(name, "+ words received", received, _WORD)]
        terms += [CostTerm(name, "+ way from the nearest sender", nearest, way)] if nearest else []
    else:
        terms.append(CostTerm(name, "+ words and way of the message that takes longest", latest, way))
    table = int(exchange.cycles[tile]) - int(sum(t.value for t in terms if t.term.startswith("+ ")))
    if table:
        terms.append(CostTerm(name, "+ 3 x fragments received, from a table", table, exchange_code.SOURCE))
    return terms


def _sync_terms(name: str, work: Work, machine: Machine) -> list[CostTerm]:
    """The tiles that wait. How long they wait depends on the last tile."""
    taking_part = machine.tiles if work.waiting is None else int(work.waiting.sum())
    terms = [CostTerm(name, "tiles of a replica that take part", taking_part, _CONCERNED)]
    if work.sync_group:
        group = int(work.sync_group.removeprefix("GS"))
        terms.append(CostTerm(name, "sync group (GS1: IPUs of a replica, GS2: all)", group, _CONCERNED))
        terms.append(CostTerm(name, "cycles after the last tile", machine.global_sync_cycles, _GLOBAL))
    return terms


def _link_terms(name: str, exchange: Exchange) -> list[CostTerm]:
    busiest = int(exchange.cycles.argmax())
    return [
        CostTerm(name, "tile", busiest, _ARRANGED),
        CostTerm(name, "+ launch", links.LAUNCH_CYCLES, "guess: simulator/machine/links.py"),
        CostTerm(
            name,
            "+ bytes of the busiest link on the way of its IPU's messages, and further links",
            float(exchange.cycles[busiest] - links.LAUNCH_CYCLES),
            links.SOURCE,
        ),
    ]


def _host_terms(name: str, work: Work, machine: Machine) -> list[CostTerm]:
    assert work.cycles is not None
    link, busiest = machine.host_link, int(work.cycles.argmax())
    return [
        CostTerm(name, "tile", busiest, _ARRANGED),
        CostTerm(name, "bytes a cycle of all tiles", link.bytes_per_cycle, link.source),
        CostTerm(name, "+ start of the transfer", link.mid, link.source),
        CostTerm(
            name,
            "+ bytes of its IPU, at most 4 a cycle of a tile",
            float(work.cycles[busiest] - link.mid - work.counter_cycles),
            _WORD,
        ),
        *_counter_terms(name, work),
    ]


def _counter_terms(name: str, work: Work) -> list[CostTerm]:
    """The cycle counters around an exchange, none where it is not instrumented."""
    return [CostTerm(name, counters.TERM, work.counter_cycles, counters.SOURCE)] if work.counter_cycles else []
