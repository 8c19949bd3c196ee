"""One exchange program on every tile: bytes, partners, code, and the cycles that determine its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import EXCHANGE_TYPES, exchange_programs, moved_bytes, recorded_totals
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: What the floor plan and the plot by tile can show: field of ExchangeTiles -> label.
QUANTITIES = {
    "received": "Bytes received",
    "sent": "Bytes sent",
    "code": "Exchange code",
    "fan_in": "Tiles it receives from",
    "fan_out": "Tiles it sends to",
}


@dataclass(frozen=True)
class ExchangeTiles:
    """Per tile of all IPUs, of one execution; None = not recorded. `recorded` are the cycles of execution step
    `step`, -1 where none ran. `moving` is what the tile's own bytes take: the larger of received and sent, rounded up
    to words, at `exchange_bytes_per_cycle`; only for exchanges within an IPU."""

    program: int
    received: Int64Array
    sent: Int64Array
    code: Int64Array | None
    fan_in: Int64Array | None
    fan_out: Int64Array | None
    moving: Int64Array | None
    estimated: Int64Array | None
    recorded: Int64Array | None
    step: int


def exchange_of(source: ReportSource, program: int | None, step: int | None) -> tuple[int | None, int | None]:
    """(exchange program, step) that a selection means: the step's program when that moves data, else `program`, where
    Begin and End of a host copy stand for its Mid; without either the program that moved most bytes over the recorded
    runs, before any run the one that receives most. (None, None) where the report has no such program."""
    programs = programs_of(source)
    steps = np.asarray(source.reader.steps().program)
    if step is not None and 0 <= step < len(steps):
        transfer = _transfer(source, int(steps[step]))
        if transfer is not None:
            return transfer, step if transfer == int(steps[step]) else None
    if program is not None and 0 <= program < len(programs.type):
        transfer = _transfer(source, program)
        if transfer is not None:
            return transfer, None
    rows, r = exchange_programs(source), recorded_totals(source)
    if not rows:
        return None, None
    total = r.received + r.sent
    most = np.flatnonzero(total == total.max())
    if len(most) > 1:  # before the first run all of them: what one execution receives decides, then what it sends
        m = moved_bytes(source)
        most = most[np.lexsort((-m.sent[most], -m.received[most]))]
    return rows[int(most[0])], None


def _transfer(source: ReportSource, program: int) -> int | None:
    types = programs_of(source).type
    if types[program] in ("StreamCopyBegin", "StreamCopyEnd"):
        program += 1 if types[program] == "StreamCopyBegin" else -1
    is_exchange = 0 <= program < len(types) and types[program] in EXCHANGE_TYPES
    return program if is_exchange else None


def exchange_tiles(source: ReportSource, program: int, step: int | None = None) -> ExchangeTiles:
    """Columns of a program; `recorded` are those of `step`, else of its last execution. Raises ValueError."""
    types = programs_of(source).type
    if not 0 <= program < len(types) or types[program] not in EXCHANGE_TYPES:
        raise ValueError(f"program {program} moves no data")
    target = target_of(source)
    received, sent, code, estimated = (
        _column_of_all_tiles(source, program, c) for c in ("rx", "tx", "exchange_code", "cycles")
    )
    nothing = np.zeros(target.num_tiles, np.int64)
    received, sent = (nothing if each is None else each for each in (received, sent))
    code = (nothing if code is None else code) if holds_code(source) else None
    moving = None
    if types[program] == "DoExchange":
        moving = np.ceil(np.maximum(received, sent) / target.exchange_bytes_per_cycle).astype(np.int64)
    fan_in = fan_out = None
    try:
        messages = messages_of(source, program)
        fan_in, fan_out = (np.bincount(column, minlength=target.num_tiles) for column in (messages.dst, messages.src))
    except NotRecordedError:
        pass
    recorded, at = _recorded_cycles(source, program, step)
    return ExchangeTiles(program, received, sent, code, fan_in, fan_out, moving, estimated, recorded, at)


def _column_of_all_tiles(source: ReportSource, program: int, column: str) -> Int64Array | None:
    target = target_of(source)
    parts = source.reader.program_columns(column, [program])
    if not parts:
        return None
    all_tiles = np.zeros(target.num_tiles, np.int64)
    for _, ipu, values in parts:
        all_tiles[ipu * target.tiles_per_ipu :][: len(values)] = values
    return all_tiles


def _recorded_cycles(source: ReportSource, program: int, step: int | None) -> tuple[Int64Array | None, int]:
    if step is None:
        steps = np.flatnonzero(np.asarray(source.reader.steps().program) == program)
        step = int(steps[-1]) if len(steps) else None
    if step is None:
        return None, -1
    ipus = range(target_of(source).num_ipus)
    ids = [int(source.reader.steps_on_ipu(ipu).cycles_array[step]) for ipu in ipus]
    tiles = target_of(source).tiles_per_ipu
    arrays = iter(source.reader.arrays([identity for identity in ids if identity >= 0]))
    parts = [np.asarray(next(arrays), np.int64) if each >= 0 else np.zeros(tiles, np.int64) for each in ids]
    return np.concatenate(parts), step
