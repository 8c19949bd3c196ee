"""Locations of simulated errors: tiles with a lowered program, or with the code of a vertex type."""

from __future__ import annotations

import numpy as np

from simulator.arrays import BoolArray
from simulator.base.errors import ErrorLocation, poplar_error, unknown_vertex_type
from simulator.compiler.compiled_graph import CompiledGraph


class ErrorLocations:
    """Locations in one compiled graph."""

    def __init__(self, executable: CompiledGraph) -> None:
        self._compilation = executable.compilation
        self._table, self._cycles = executable.lowered.table, executable.lowered.cycles
        self._branches = set(executable.lowered.branches)
        self._machine = executable.machine
        self._owner = id(executable)
        self._vertices = {
            (row.compute_set, row.vertex_type, row.ipu): row.count for row in self._compilation.compute_set_vertices
        }

    def of_program(self, program: int, tile: int | None) -> list[ErrorLocation]:
        """The locations of the program with this id. Raises poplar_error for an unknown id or tile."""
        if not 0 <= program < len(self._table):
            raise poplar_error(
                f"There is no program with id {program}; the ids of this engine are 0 to {len(self._table) - 1} (the "
                "field Id of the Program Tree)."
            )
        return [ErrorLocation(t, program, "", self._owner) for t in self._wanted(self._tiles(program), tile)]

    def of_vertex(self, name: str, tile: int | None) -> list[ErrorLocation]:
        """The locations of a vertex type's code. Raises unknown_vertex_type for an unknown name."""
        types = self._compilation.vertex_types.name
        if name not in types:
            known = ", ".join(dict.fromkeys(types)) or "none"
            raise unknown_vertex_type(f"No vertex of this engine is called '{name}'; the vertex types are: {known}.")
        there = np.zeros(self._machine.device_tiles, np.bool_)
        for (_, type_, ipu), count in self._vertices.items():
            if types[type_] == name:
                there[self._machine.tiles_of(ipu)] |= count > 0
        return [ErrorLocation(t, -1, name, self._owner) for t in self._wanted(there, tile)]

    def rows(self, location: ErrorLocation) -> list[int]:
        """The lowered programs at a location."""
        if not location.vertex:
            return [location.program]
        types, ipu = self._compilation.vertex_types.name, location.tile // self._machine.tiles_per_ipu
        within = location.tile % self._machine.tiles_per_ipu
        sets = {
            compute_set
            for (compute_set, type_, on), count in self._vertices.items()
            if on == ipu and types[type_] == location.vertex and count[within] > 0
        }
        return [row for row, compute_set in enumerate(self._table.compute_set) if compute_set in sets]

    def check(self, location: ErrorLocation) -> None:
        """Raise poplar_error for a location of another program."""
        if not isinstance(location, ErrorLocation) or location.owner != self._owner:
            raise poplar_error(
                f"{location!r} is not a location of this engine's program; ask the engine itself with "
                "getSimulatedErrorLocations."
            )

    def is_around_all(self, row: int) -> bool:
        """True for a row outside the branches of the root switch, which every run reaches."""
        return row in self.below(0)

    def below(self, top: int) -> set[int]:
        """A row and all rows below it, without the branches of the root switch."""
        found, waiting = {top}, [top]
        while waiting:
            inner = [child for child in self._table.children[waiting.pop()] if child not in self._branches]
            found.update(inner)
            waiting += inner
        return found

    def _tiles(self, program: int) -> BoolArray:
        """Flags of the device's tiles with a program."""
        table, machine = self._table, self._machine
        if table.compute_set[program] >= 0:
            there = np.zeros(machine.device_tiles, np.bool_)
            for (compute_set, _, ipu), count in self._vertices.items():
                if compute_set == table.compute_set[program]:
                    there[machine.tiles_of(ipu)] |= count > 0
            return there
        work, cycles = table.work[program], self._cycles[program]
        if work.exchange is not None:
            own = (work.exchange.rx > 0) | (work.exchange.tx > 0)
        elif work.waiting is not None:
            own = work.waiting
        elif cycles is not None and cycles.any():
            own = cycles > 0
        else:
            own = np.ones(machine.tiles, np.bool_)
        return np.resize(own, machine.device_tiles)

    def _wanted(self, there: BoolArray, tile: int | None) -> list[int]:
        if tile is None:
            return [int(t) for t in np.flatnonzero(there)]
        if not 0 <= tile < len(there):
            raise poplar_error(f"There is no tile {tile}; the device has {len(there)}, 0 to {len(there) - 1}.")
        return [tile] if there[tile] else []


#: Poplar's default argument ~0, as a signed and as an unsigned number.
_ALL_TILES = (~0, 0xFFFFFFFF)


def error_locations(executable: CompiledGraph, program_or_vertex: int | str, tile: int) -> list[ErrorLocation]:
    """Those of a program's id or a vertex type's name, on all tiles for Poplar's ~0. Raises poplar_error for an id or a
    tile that there is not, unknown_vertex_type for a name."""
    locations = ErrorLocations(executable)
    wanted = None if tile in _ALL_TILES else tile
    if isinstance(program_or_vertex, str):
        return locations.of_vertex(program_or_vertex, wanted)
    return locations.of_program(int(program_or_vertex), wanted)
