"""Merge adjacent independent copies into one; name copies after their variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.region_set import RegionSet
from simulator.compiler.ir.element_map import ElementMap
from simulator.graph import program as host
from simulator.graph.tensor import Tensor

#: Kinds of copies between tensors and streams.
STREAMED = ("host_to_device", "device_to_host")

#: Variables shown in a name; an ellipsis stands for the others.
NAMES_SHOWN = 8


def group_copies(programs: Sequence[host.Program]) -> Iterator[host.Program | list[host.Copy]]:
    """The programs in order; adjacent independent copies form a list: those between tensors, those from streams, those
    to streams. Copies of nothing are dropped; copies of one stream stand apart."""
    group: list[host.Copy] = []
    read, written = RegionSet(), RegionSet()
    streams: set[str] = set()
    for program in programs:
        if not isinstance(program, host.Copy) or program.kind not in ("tensor", *STREAMED):
            if group:
                yield group
                group = []
            yield program
            continue
        source, destination = (_runs(end) for end in (program.source, program.destination))
        if program.kind == "tensor" and program.source.numElements() == 0:
            continue
        handle = {"host_to_device": program.source, "device_to_host": program.destination}.get(program.kind)
        meets = written.meets(source) or written.meets(destination) or read.meets(destination)
        if group and (program.kind != group[0].kind or meets or (handle is not None and handle.name in streams)):
            yield group
            group = []
        if not group:
            read, written, streams = RegionSet(), RegionSet(), set()
        read.add(source)
        written.add(destination)
        streams.update(() if handle is None else (handle.name,))
        group.append(program)
    if group:
        yield group


def _runs(end: Any) -> tuple[Int64Array, Int64Array]:
    """The regions of a tensor; none of a stream."""
    return end.regions() if isinstance(end, Tensor) else (np.empty(0, np.int64), np.empty(0, np.int64))


def regions_of(tensors: Sequence[Any]) -> tuple[Int64Array, Int64Array]:
    """The regions of several tensors, concatenated."""
    parts = [tensor.regions() for tensor in tensors]
    if len(parts) == 1:
        return parts[0][0], parts[0][1]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def copy_name(
    source: tuple[Int64Array, Int64Array],
    destination: tuple[Int64Array, Int64Array],
    emap: ElementMap,
    names: Sequence[str],
) -> str:
    """`Copy_<source>_to_<destination>`, with braces around several variables."""
    return f"Copy_{_variables_text(source, emap, names)}_to_{_variables_text(destination, emap, names)}"


def _variables_text(runs: tuple[Int64Array, Int64Array], emap: ElementMap, names: Sequence[str]) -> str:
    variables: dict[str, None] = {}
    starts = runs[0][runs[1] > 0]
    while len(starts) and len(variables) <= NAMES_SHOWN:  # a variable at a time: most tensors have one or two
        first, end = emap.variable_around(int(starts[0]))
        variables[names[emap.variable[first]] or "<anonymous>"] = None
        starts = starts[(starts < emap.begin[first]) | (starts >= emap.end[end - 1])]
    shown = [*variables][:NAMES_SHOWN] + (["..."] if len(variables) > NAMES_SHOWN else [])
    return shown[0] if len(shown) == 1 else "{" + ",".join(shown) + "}"
