"""Select the programs that lightweight profiling records.

`profiler.blocks.filter` selects among Block programs; `profiler.programs.filter` among all lowered programs with a
name, which are recorded as if a Block enclosed each. A filter must match a whole name: `stage.*` is published to mean
"begins with stage". Stream copies are recorded where debug.instrumentExternalExchange is on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simulator.base.options.compile import CompileSettings
from simulator.graph import program as host

#: Name of the flushes in published program trees.
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
    """The profiler.* options of lightweight profiling. A filter of "" selects nothing."""

    blocks: str = ""  #: regular expression over names of Block programs
    programs: str = ""  #: regular expression over names of lowered programs
    tile: int = 0  #: of each IPU
    buffer_bytes: int = 1000
    implicit_flush: bool = True
    stream_copies: bool = False

    def records(self, type_: str, name: str) -> bool:
        """True where a lowered program of this type and name is recorded."""
        stream_copy = type_.startswith("StreamCopy")
        if stream_copy and (self.stream_copies or name == FLUSH):
            return self.stream_copies
        filters = [self.programs, self.blocks] if type_ == "Block" else [self.programs]
        return bool(name) and any(text and re.fullmatch(text, name) for text in filters)

    def records_inside(self, program: host.Program, functions: Sequence[host.Program], sets: Sequence[str]) -> bool:
        """True where a program that is not lowered yet contains a recorded Block, compute set or stream copy.
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
