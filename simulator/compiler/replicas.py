"""The report of a replicated program, from the columns of one replica.

Replicas are alike: same programs, same memory, same estimates, on different IPUs. IPUs and tiles of a report count over
all replicas, replica after replica; liveness and the size of the graph are those of one (pva-api 2.2, 2.3). The only
difference is the target of a GlobalExchange: the replica that the program's map names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import IntegerArray
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.machine import Machine
from simulator.compiler.memory.lowered_tiles import LoweredTiles


def over_replicas(one: model.Compilation, machine: Machine, table: ProgramTable) -> model.Compilation:
    """The columns of all replicas; the same object for one replica."""
    if machine.num_replicas == 1:
        return one
    ipus = [r * machine.num_ipus for r in range(machine.num_replicas)]  # the first IPU of each replica
    variables, live = one.variables, one.liveness
    return replace(
        one,
        target=replace(one.target, num_ipus=machine.device_ipus, num_replicas=machine.num_replicas),
        program_on_ipu=[replace(row, ipu=row.ipu + first) for first in ipus for row in one.program_on_ipu],
        messages=list(_messages(one.messages, machine, table)),
        sendings=[
            replace(row, ipu=row.ipu + first, src=row.src + first * machine.tiles_per_ipu)
            for first in ipus
            for row in one.sendings
        ],
        compute_set_vertices=[replace(row, ipu=row.ipu + first) for first in ipus for row in one.compute_set_vertices],
        copy_vertices=[replace(row, ipu=row.ipu + first) for first in ipus for row in one.copy_vertices],
        vertex_lanes=[replace(row, ipu=row.ipu + first) for first in ipus for row in one.vertex_lanes],
        category_memory=[replace(row, ipu=row.ipu + first) for first in ipus for row in one.category_memory],
        tile_memory=None if one.tile_memory is None else _tile_memory(one.tile_memory, machine),
        variables=None if variables is None else replace(variables, bytes=variables.bytes * machine.num_replicas),
        liveness=None if live is None else replace(live, bytes_by_ipu=live.bytes_by_ipu * machine.num_replicas),
        vars_info=None if one.vars_info is None else _vars_info(one.vars_info, machine),
        lowered=one.lowered.over_replicas(machine.num_replicas) if isinstance(one.lowered, LoweredTiles) else (),
    )


def _messages(rows: Sequence[model.Messages], machine: Machine, table: ProgramTable) -> Iterator[model.Messages]:
    tiles = machine.tiles
    for replica in range(machine.num_replicas):
        for row in rows:
            to = table.work[row.program].replica_map
            target = to[replica] if to else replica
            yield replace(
                row,
                ipu=row.ipu + replica * machine.num_ipus,
                src=row.src + replica * tiles,
                dst=row.dst + target * tiles,
            )


def _tile_memory(one: model.TileMemory, machine: Machine) -> model.TileMemory:
    columns = (one.including_gaps, one.excluding_gaps, one.always_live, one.not_always_live, one.overflowed)
    return model.TileMemory(*(np.tile(column, machine.num_replicas) for column in columns))


def _vars_info(
    one: tuple[IntegerArray, ...], machine: Machine
) -> tuple[IntegerArray, IntegerArray, IntegerArray, IntegerArray]:
    tile, category, name, size = one
    shift = np.repeat(np.arange(machine.num_replicas) * machine.tiles, len(tile))
    again = [np.tile(column, machine.num_replicas) for column in (tile, category, name, size)]
    return again[0] + shift, again[1], again[2], again[3]
