"""Bytes of control code: what runs the programs of a tile, one after another."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.lowering.program_table import ProgramTable
from simulator.compiler.machine import Machine
from simulator.machine import footprint

_CONTROL_CODE = {
    "OnTileExecute": footprint.CONTROL_CODE_PER_EXECUTE,
    "DoExchange": footprint.CONTROL_CODE_PER_EXCHANGE,
    "GlobalExchange": footprint.CONTROL_CODE_PER_EXCHANGE,
    "StreamCopyBegin": footprint.CONTROL_CODE_PER_STREAM_PART,
    "StreamCopyMid": footprint.CONTROL_CODE_PER_STREAM_PART,
    "StreamCopyEnd": footprint.CONTROL_CODE_PER_STREAM_PART,
    "Sync": footprint.CONTROL_CODE_PER_SYNC,
    "Repeat": footprint.CONTROL_CODE_PER_REPEAT,
    "Call": footprint.CONTROL_CODE_PER_CALL,
    "If": footprint.CONTROL_CODE_PER_CHOICE,
    "Switch": footprint.CONTROL_CODE_PER_CHOICE,
    "RepeatWhile": footprint.CONTROL_CODE_PER_WHILE,
    "SetLocalConsensusFromVar": footprint.CONTROL_CODE_PER_CONSENSUS,
    "SetLocalConsensus": footprint.CONTROL_CODE_PER_CONSENSUS,
    "GetGlobalConsensus": footprint.CONTROL_CODE_PER_CONSENSUS,
    "Abort": footprint.CONTROL_CODE_PER_ABORT,
    "AbortOnCondition": footprint.CONTROL_CODE_PER_ABORT,
}


def control_code(table: ProgramTable, machine: Machine, state_is_low: bool = False) -> list[Int64Array | None]:
    """Bytes of control code of each lowered program on every tile, children not included; None where there is none.
    `state_is_low`: vertex state lies below the border, so that one instruction loads its address."""
    if not machine.counts_code:
        return [None] * len(table)
    constant: dict[int, Int64Array] = {}
    code: list[Int64Array | None] = []
    for row, type_ in enumerate(table.type):
        size = footprint.CONTROL_CODE_ROOT if row == 0 else _CONTROL_CODE.get(type_, 0)
        if type_ in ("If", "Switch"):
            size += footprint.CONTROL_CODE_PER_BRANCH * max(0, len(table.children[row]) - 1)
        if state_is_low and type_ == "OnTileExecute":
            size -= footprint.CONTROL_CODE_LOW_STATE
        if size and size not in constant:
            constant[size] = np.full(machine.tiles, size, np.int64)
        code.append(constant[size] if size else None)
    return code
