"""Rules of memory: what does not fit, little headroom, the largest temporary at the peak, code larger than data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.insights.finding import Evidence, Finding
from popvision.analysis.insights.steps import line_of_program, line_of_variable
from popvision.analysis.liveness.variables import lifetime, live_table
from popvision.analysis.memory.capacity import memory_excess
from popvision.analysis.memory.usage import category_arrays, memory_by_tile
from popvision.analysis.report.memory_labels import CATEGORY_LABELS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: The fullest tile is close to its limit from this part of its memory.
CLOSE = 0.9
#: A temporary is worth a finding from this part of the bytes live at the peak.
_LARGE = 0.2
_TOP = 3
#: Categories that grow with the program, not with its data.
_OF_PROGRAM = ("internalExchangeCode", "hostExchangeCode", "globalExchangeCode", "controlCode", "vertexCode")
_OF_PROGRAM_DATA = ("vertexInstanceState", "vertexFieldData", "copyDescriptor", "vectorListDescriptor")


def does_not_fit(source: ReportSource) -> Iterator[Finding]:
    """Tiles over their memory."""
    excess = memory_excess(source)
    if excess is None:
        return
    largest = _largest_on(source, excess.tile)
    names = ", ".join(f"{each.name} ({each.value:,} B)" for each in largest)
    yield Finding(
        "out_of_memory",
        f"The program does not fit: {excess.tiles_over:,} of {excess.tiles:,} tiles are over their memory, "
        f"tile {excess.tile} by {excess.excess:,} B; most of it is {names}.",
        excess.excess,
        "bytes",
        excess.excess / excess.needed,
        "of what the tile needs",
        f"highest used address of the tile ({excess.needed:,}) less its memory ({excess.capacity:,})",
        (Evidence("tile", excess.tile, f"tile {excess.tile}", excess.needed, "bytes"), *largest),
        "Spread the largest variables over more tiles, lower availableMemoryProportion of products and convolutions, "
        "or keep in remote buffers what is not needed all the time.",
    )


def little_headroom(source: ReportSource) -> Iterator[Finding]:
    """A program that fits, but hardly."""
    memory = memory_by_tile(source, None)
    if memory.capacity <= 0 or len(memory.over_capacity):
        return
    full = np.flatnonzero(memory.including_gaps >= CLOSE * memory.capacity)
    if not len(full):
        return
    tile = int(memory.including_gaps.argmax())
    left = memory.capacity - int(memory.including_gaps[tile])
    yield Finding(
        "little_headroom",
        f"{_tiles(len(full))} within {1 - CLOSE:.0%} of the memory of a tile; tile {tile} has {left:,} B left.",
        0,
        "bytes",
        0.0,
        "",
        f"tiles whose highest used address is at least {CLOSE:.0%} of {memory.capacity:,} B",
        (Evidence("tile", tile, f"tile {tile}", int(memory.including_gaps[tile]), "bytes"), *_largest_on(source, tile)),
        "Spread the largest variables of these tiles over others (graph.setTileMapping).",
    )


def large_temporary(source: ReportSource) -> Iterator[Finding]:
    """The largest variable that is live at the peak and not always."""
    liveness = source.reader.liveness()
    if liveness is None or not len(liveness.bytes):
        return
    peak = int(np.argmax(liveness.bytes))
    memory = source.reader.tile_memory()
    total = 0 if memory is None else int(memory.always_live.sum(dtype=np.int64)) + int(liveness.bytes[peak])
    table = live_table(source, [peak])
    sizes = table["size_bytes"]
    if not total or not len(sizes):
        return
    size, variable = int(sizes[0]), int(table["variable"][0])
    if size < _LARGE * total:
        return
    name = str(table["name"][0])
    place = line_of_variable(source, variable) if variable >= 0 else ("", 0)
    evidence = [Evidence("variable", variable, name, size, "bytes", *place)]
    keeper = _last_user(source, variable, peak)
    until = ""
    if keeper is not None:
        index, program, label = keeper
        until = f" It is live until {label} (index {index})."
        evidence.append(Evidence("program", program, label, size, "bytes", *line_of_program(source, program)))
    received = name.endswith("/message")
    yield Finding(
        "large_temporary",
        f"{name} takes {size:,} B of the {total:,} B live at the peak (index {peak}).{until}",
        size,
        "bytes",
        size / total,
        "of what is live at the peak",
        f"bytes of the variable ({size:,}), live at index {table['live'][0]}",
        tuple(evidence),
        "It holds what tiles receive before they compute: map operands where they are read, or lower "
        "availableMemoryProportion of the product or convolution."
        if received
        else "Lower availableMemoryProportion of the product or convolution that makes it, or compute in place "
        "(popops.addInPlace and the other InPlace forms).",
    )


def _last_user(source: ReportSource, variable: int, peak: int) -> tuple[int, int, str] | None:
    """(liveness index, program, its name) at which the range of a variable's life around the peak ends."""
    ranges = (lifetime(source, variable) if variable >= 0 else None) or []
    last = next((end - 1 for begin, end in ranges if begin <= peak < end), None)
    liveness = source.reader.liveness()
    if last is None or liveness is None or last >= len(liveness.program):
        return None
    program = int(liveness.program[last])
    return last, program, source.reader.programs().name[program] or f"program {program}"


def code_larger_than_data(source: ReportSource) -> Iterator[Finding]:
    """Code and vertex state that take more than all variables."""
    sums: dict[str, int] = {}
    for (category, _, overlapped), values in category_arrays(source).items():
        if not overlapped:
            sums[category] = sums.get(category, 0) + int(values.sum(dtype=np.int64))
    program = {each: sums.get(each, 0) for each in (*_OF_PROGRAM, *_OF_PROGRAM_DATA)}
    data, total = sums.get("variable", 0) + sums.get("constant", 0), sum(program.values())
    used = sum(sums.values())
    if not used or total <= data or total < used / 2:
        return
    largest = sorted(program, key=lambda each: -program[each])[:_TOP]
    evidence = tuple(
        Evidence("category", -1, CATEGORY_LABELS.get(each, each), program[each], "bytes") for each in largest
    )
    yield Finding(
        "code_larger_than_data",
        f"Code and vertex state take {total:,} B, the program's data {data:,} B; most is {evidence[0].name} "
        f"({evidence[0].value:,} B).",
        total - data,
        "bytes",
        (total - data) / used,
        "of all bytes in use",
        f"bytes of code, vertex state and descriptors ({total:,}) less those of variables and constants ({data:,})",
        evidence,
        "Use fewer, larger vertices and copies; graph.addFunction for parts that are alike; engine option "
        "opt.internalExchangeOptimisationTarget=memory.",
    )


def _tiles(number: int) -> str:
    return "1 tile is" if number == 1 else f"{number:,} tiles are"


def _largest_on(source: ReportSource, tile: int) -> tuple[Evidence, ...]:
    """The categories that take most on a tile."""
    sums: dict[str, int] = {}
    for (category, _, overlapped), values in category_arrays(source).items():
        if not overlapped:
            sums[category] = sums.get(category, 0) + int(values[tile])
    largest = sorted(sums, key=lambda each: -sums[each])[:_TOP]
    return tuple(_category(each, sums[each]) for each in largest if sums[each])


def _category(category: str, size: int) -> Evidence:
    return Evidence("category", -1, CATEGORY_LABELS.get(category, category), size, "bytes")
