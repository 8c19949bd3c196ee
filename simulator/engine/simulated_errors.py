"""The part of `Engine` that simulates errors of the machine."""

from __future__ import annotations

from typing import overload

from simulator.base.errors import ErrorCode, ErrorLocation, poplar_error
from simulator.engine.state import EngineState
from simulator.runtime.watching.error_locations import ErrorLocations

#: What Poplar's default argument ~0 is, as a signed and as an unsigned number.
_ALL_TILES = (~0, 0xFFFFFFFF)


class SimulatedErrorMethods(EngineState):
    def insertSimulatedError(self, error: ErrorCode, location: ErrorLocation) -> None:
        """Let the program fail with `error` when it comes to `location`: then `run` stops and raises runtime_error,
        whose `errors` name code and location and are marked `isSimulated`. Several errors may be planted; a run
        reports those of the first program that fails.

        Raises poplar_error before the engine is loaded, for ErrorCode.NONE, for a location of another engine's
        program, and for one where an error is simulated already."""
        if not self._core.loaded:
            raise poplar_error("The engine is not loaded; call load(device) before insertSimulatedError.")
        self._core.planted.insert(error, location)
        self._core.bind()

    def eraseSimulatedError(self, location: ErrorLocation) -> None:
        """Undo one insertSimulatedError. Raises poplar_error where no error is simulated."""
        self._core.planted.erase(location)
        self._core.bind()

    def clearSimulatedErrors(self) -> None:
        """Undo all insertSimulatedError calls; load() then brings the program to its beginning."""
        self._core.planted.clear()
        self._core.bind()

    @overload
    def getSimulatedErrorLocations(self, programId: int, tile: int = ~0) -> list[ErrorLocation]: ...
    @overload
    def getSimulatedErrorLocations(self, vertexName: str, tile: int = ~0) -> list[ErrorLocation]: ...
    def getSimulatedErrorLocations(  # type: ignore[misc]
        self, program: int | str | None = None, tile: int = ~0, *, programId: int | None = None, vertexName: str = ""
    ) -> list[ErrorLocation]:
        """Where a program, or the code of a vertex type, can fail: one location for each tile it is on, or that of
        `tile`, which is empty where the tile does not have it.

        `programId` is the number in the programs table of profile.pop, `_id` in pva and Id on the Program Tree page.
        For a program that runs vertices that is the place which launches them; `vertexName` gives their own code.
        Raises poplar_error for an id or a tile there is not, unknown_vertex_type for a name."""
        asked = program if program is not None else programId if programId is not None else vertexName
        locations = ErrorLocations(self._core.compiled)
        wanted = None if tile in _ALL_TILES else tile
        if isinstance(asked, str):
            return locations.of_vertex(asked, wanted)
        return locations.of_program(int(asked), wanted)
