"""Which programs lightweight profiling records: those that its two filters name, and stream copies.

A filter matches a whole name, as `stage.*` is published to mean "begins with stage". `profiler.blocks.filter` chooses
among Block programs, `profiler.programs.filter` among all lowered programs that have a name, which are then recorded as
if a Block stood around each. Stream copies are recorded where debug.instrumentExternalExchange is on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simulator.base.options.compile import CompileSettings
from simulator.graph import program as host

#: Name of the copies that empty the buffers, as published program trees label them.
FLUSH = "BlockFlush"


def block_settings(settings: CompileSettings) -> BlockSettings | None:
    """Those of an engine; None where no filter turns lightweight profiling on, and for modules, which cannot hand their
    records to the host."""
    if not settings.records_blocks or settings.module:
        return None
    return BlockSettings(
        settings.block_filter,
        settings.program_filter,
        settings.block_tile,
        settings.block_buffer_bytes,
        settings.block_flushes,
        settings.external_exchange,
    )


@dataclass(frozen=True)
class BlockSettings:
    """The profiler.* options of lightweight profiling. A filter of "" names nothing."""

    blocks: str = ""  #: regular expression over names of Block programs
    programs: str = ""  #: regular expression over names of lowered programs
    tile: int = 0  #: of each IPU
    buffer_bytes: int = 1000
    implicit_flush: bool = True
    stream_copies: bool = False

    def records(self, type_: str, name: str) -> bool:
        """Whether a lowered program of this type and name is recorded."""
        stream_copy = type_.startswith("StreamCopy")
        if stream_copy and (self.stream_copies or name == FLUSH):
            return self.stream_copies
        filters = [self.programs, self.blocks] if type_ == "Block" else [self.programs]
        return bool(name) and any(text and re.fullmatch(text, name) for text in filters)

    def records_inside(self, program: host.Program, functions: Sequence[host.Program], sets: Sequence[str]) -> bool:
        """Whether a program that is not lowered yet holds a Block, a compute set or a stream copy that is recorded.
        `functions` and `sets` are the graph's functions and the names of its compute sets."""
        pending, called = [program], set[int]()
        while pending:
            each = pending.pop()
            if isinstance(each, host.Block) and self.records("Block", each.debug.getPathName()):
                return True
            if isinstance(each, host.Execute) and self.records("OnTileExecute", sets[each.compute_set]):
                return True
            if isinstance(each, host.Copy) and each.kind not in ("tensor", "function") and self.stream_copies:
                return True
            if isinstance(each, host.Call) and each.function >= 0 and each.function not in called:
                called.add(each.function)
                pending.append(functions[each.function])
            pending += each.nested()
        return False
