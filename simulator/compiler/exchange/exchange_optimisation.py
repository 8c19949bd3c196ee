"""Apply opt.internalExchangeOptimisationTarget to the exchanges of a lowered program."""

from __future__ import annotations

from dataclasses import replace

from simulator.compiler.exchange.exchange import Exchange
from simulator.compiler.lowering.program_table import ProgramTable
from simulator.machine.exchange_code import for_goal


def aim_exchanges(table: ProgramTable, goal: str) -> None:
    """Give every exchange within an IPU the code and cycles of its goal. Programs that run the same exchange share it
    afterwards too."""
    if goal == "cycles":
        return
    done: dict[int, tuple[Exchange, Exchange]] = {}  # the first keeps ids unique while they are keys
    for type_, work in zip(table.type, table.work, strict=True):
        if type_ != "DoExchange" or work.exchange is None:
            continue
        e = work.exchange
        if id(e) not in done:
            code, cycles = for_goal(goal, e.code, e.cycles, e.rx_runs)
            done[id(e)] = (e, replace(e, code=code, cycles=cycles))
        work.exchange = done[id(e)][1]
        work.cycles = work.exchange.cycles
