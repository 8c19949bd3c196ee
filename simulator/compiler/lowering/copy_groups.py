"""Merge adjacent independent copies into one; name copies after their variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.region_set import RegionSet
from simulator.compiler.ir.element_map import ElementMap
from simulator.graph import program as host

#: Variables shown in a name; an ellipsis stands for the others.
NAMES_SHOWN = 8


def group_copies(programs: Sequence[host.Program]) -> Iterator[host.Program | list[host.Copy]]:
    """The programs in order; adjacent independent tensor copies form a list. Copies of nothing are dropped."""
    group: list[host.Copy] = []
    read, written = RegionSet(), RegionSet()
    for program in programs:
        if isinstance(program, host.Copy) and program.kind == "tensor":
            if program.source.numElements() == 0:
                continue
            source, destination = program.source.regions(), program.destination.regions()
            if group and (written.meets(source) or written.meets(destination) or read.meets(destination)):
                yield group
                group = []
            if not group:
                read, written = RegionSet(), RegionSet()
            read.add(source)
            written.add(destination)
            group.append(program)
            continue
        if group:
            yield group
            group = []
        yield program
    if group:
        yield group


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
