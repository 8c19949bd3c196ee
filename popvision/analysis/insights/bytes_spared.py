"""Rules of memory that could be free: gaps, a full interleaved region, constants, variables that one step uses, code of
exchanges that are alike.

All but the last speak only where a tile is short of memory; elsewhere spared bytes save nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.insights.bytes_used import CLOSE
from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.program_code import program_code
from popvision.analysis.insights.steps import line_of_program, line_of_variable
from popvision.analysis.memory.usage import MemoryByTile, category_arrays, memory_by_tile
from popvision.analysis.report.columns import stored_variables

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Memory is short from this part of the fullest tile.
_SHORT = 0.75
#: Bytes that are worth a finding, as a part of those in use.
_LARGE = 0.1
#: A region is full from this part, and another has room with that part free.
_FULL, _ROOM = 0.95, 0.25
_TOP = 3
_IN_USE = "of all bytes in use"


def gaps(source: ReportSource) -> Iterator[Finding]:
    """Unused bytes below the highest address of the fullest tile."""
    memory = memory_by_tile(source, None)
    if not _is_short(memory, CLOSE):
        return
    tile = int(memory.including_gaps.argmax())
    lost = int(memory.gaps[tile])
    if lost < _LARGE * memory.capacity:
        return
    yield Finding(
        "gaps",
        f"{lost:,} B of the {int(memory.including_gaps[tile]):,} B of tile {tile} are gaps between variables.",
        lost,
        "bytes",
        lost / int(memory.including_gaps[tile]),
        "of what the tile needs",
        f"highest used address ({int(memory.including_gaps[tile]):,}) less the bytes in use "
        f"({int(memory.excluding_gaps[tile]):,})",
        (Evidence("tile", tile, f"tile {tile}", lost, "bytes"),),
        "Variables of products lie in interleaved memory, which begins at a fixed address: give products that need it "
        "less (availableMemoryProportion), or spread them over more tiles.",
    )


def interleaved(source: ReportSource) -> Iterator[Finding]:
    """A full interleaved region beside room elsewhere, where that room could take what is over the tile's memory."""
    target = source.reader.target()
    size = target.bytes_per_tile - target.region_split
    if target.region_split <= 0 or size <= 0:
        return
    used = {"interleaved": np.zeros(target.num_tiles, np.int64), "nonInterleaved": np.zeros(target.num_tiles, np.int64)}
    for (_, region, overlapped), values in category_arrays(source).items():
        if region in used and not overlapped:
            used[region] = used[region] + values
    full = used["interleaved"] >= _FULL * size
    room = used["nonInterleaved"] <= (1 - _ROOM) * target.region_split
    memory = memory_by_tile(source, None)
    excess = np.maximum(memory.including_gaps - memory.capacity, 0)
    tiles = np.flatnonzero(full & room & (excess <= target.region_split - used["nonInterleaved"]))
    if not len(tiles):
        return
    tile = int(tiles[0])
    free = target.region_split - int(used["nonInterleaved"][tile])
    yield Finding(
        "interleaved",
        f"Interleaved memory is full on {len(tiles):,} tiles while {free:,} B of the other memory of tile {tile} are "
        "free.",
        0,
        "bytes",
        0.0,
        "",
        f"tiles with at least {_FULL:.0%} of their {size:,} B of interleaved memory in use and {_ROOM:.0%} of the rest "
        "free",
        (Evidence("tile", tile, f"tile {tile}", int(used["interleaved"][tile]), "bytes"),),
        "Lower availableMemoryProportion of the products there: their operands ask for interleaved memory and fall "
        "back to slower codelets without it.",
    )


def constants(source: ReportSource) -> Iterator[Finding]:
    """Constants that take much of a memory that is short."""
    memory = memory_by_tile(source, None)
    if not _is_short(memory, _SHORT):
        return
    sums = [
        int(values.sum(dtype=np.int64))
        for (category, _, overlapped), values in category_arrays(source).items()
        if category == "constant" and not overlapped
    ]
    total, used = sum(sums), int(memory.excluding_gaps.sum())
    if not used or total < _LARGE * used:
        return
    yield Finding(
        "constants",
        f"Constants take {total:,} B on tiles that are short of memory.",
        total,
        "bytes",
        total / used,
        _IN_USE,
        f"bytes of the category constant, all tiles ({total:,})",
        (Evidence("category", -1, "Constant", total, "bytes"),),
        "Send them from the host when they are needed (graph.addHostToDeviceFIFO), or keep them in a remote buffer "
        "(graph.addRemoteBuffer) and copy the part in use.",
    )


def used_once(source: ReportSource) -> Iterator[Finding]:
    """Always-live variables that a single program reads or writes, where memory is short."""
    memory = memory_by_tile(source, None)
    touched, variables = source.reader.program_variables(), stored_variables(source)
    if not _is_short(memory, _SHORT) or touched is None or variables is None:
        return
    users = np.zeros(len(variables.name), np.int64)
    user = np.full(len(variables.name), -1, np.int64)
    for program, rows in zip(touched, source.reader.arrays(list(touched.values())), strict=True):
        users[rows] += 1
        user[rows] = program
    sizes = np.where(np.asarray(variables.always_live) & (users == 1), np.asarray(variables.bytes, np.int64), 0)
    total, used = int(sizes.sum()), int(memory.excluding_gaps.sum())
    if not used or total < _LARGE * used:
        return
    order = np.argsort(-sizes, kind="stable")[:_TOP]
    evidence = tuple(
        Evidence(
            "variable",
            int(row),
            str(variables.name[row]),
            int(sizes[row]),
            "bytes",
            *line_of_variable(source, int(row)),
        )
        for row in order.tolist()
        if sizes[row]
    )
    program = int(user[order[0]])
    name = source.reader.programs().name[program]
    yield Finding(
        "used_once",
        f"{int(np.count_nonzero(sizes)):,} variables of {total:,} B are always live, and one program each uses them; "
        f"the largest is {evidence[0].name} ({evidence[0].value:,} B), used by {name or f'program {program}'}.",
        total,
        "bytes",
        total / used,
        _IN_USE,
        f"bytes of always-live variables with one reader or writer ({total:,})",
        evidence,
        "Keep them in a remote buffer (graph.addRemoteBuffer) or stream them in, and copy them to the tiles for this "
        "program alone.",
    )


def alike_exchanges(source: ReportSource) -> Iterator[Finding]:
    """Exchanges with the same bytes from and to every tile, whose code stands once for each."""
    reader = source.reader
    memory = memory_by_tile(source, None)
    figures = reader.program_figures()
    chosen = np.flatnonzero((figures["exchange_code_array"] >= 0) & (figures["rx_array"] >= 0))
    if not len(chosen):
        return
    # Equal columns are stored once, so exchanges that are alike have the same numbers of arrays.
    names = ("ipu", "rx_array", "tx_array", "exchange_code_array")
    keys = np.stack([figures[name][chosen] for name in names], axis=1)
    _, first, group, count = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    exchange_code = program_code(source, "exchange_code")
    code = dict(zip(exchange_code.program.tolist(), exchange_code.bytes.tolist(), strict=True))
    each = np.array([code.get(int(figures["program"][chosen[row]]), 0) for row in first.tolist()], np.int64)
    spared = each * (count - 1)
    lost, used = int(spared.sum()), int(memory.excluding_gaps.sum())
    if not used or lost < _LARGE * used:
        return
    most = int(spared.argmax())
    members = figures["program"][chosen[np.flatnonzero(group.reshape(-1) == most)]].tolist()
    labels = reader.programs().name
    yield Finding(
        "alike_exchanges",
        f"{int(count[count > 1].sum()):,} exchanges are alike in groups, and each has its own code; the largest group "
        f"has {len(members):,} of {int(each[most]):,} B each, such as {labels[members[0]]}.",
        lost,
        "bytes",
        lost / used,
        _IN_USE,
        f"code of each group of alike exchanges x (1 - 1 / their number), added up ({lost:,})",
        tuple(
            Evidence(
                "program",
                int(program),
                labels[program],
                int(each[most]),
                "bytes",
                *line_of_program(source, int(program)),
            )
            for program in members[:_TOP]
        ),
        "Make one function (graph.addFunction) of layers or steps that are alike and call it with copies of what "
        "differs: its code stands once.",
    )


def _is_short(memory: MemoryByTile, part: float) -> bool:
    return memory.capacity > 0 and bool((memory.including_gaps >= part * memory.capacity).any())
