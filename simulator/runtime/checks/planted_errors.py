"""Simulated errors: plant them at locations, and stop a run that reaches one.

A location is a tile with a lowered program or with the code of a vertex type. A run reaches it with the program that
its row belongs to, or, for rows outside all programs (the control copies at the root), when it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulator.base.errors import ErrorCode, ErrorInfo, ErrorLocation, poplar_error, raised_for
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.ir.program_visits import Place
from simulator.graph.program import Program
from simulator.runtime.checks.error_locations import ErrorLocations
from simulator.runtime.checks.watch import Action


class PlantedErrors:
    """The errors planted in one engine, by location. `places` = programs that run separately, not within a kernel."""

    def __init__(self, executable: CompiledGraph, places: Iterable[Place]) -> None:
        self._locations = ErrorLocations(executable)
        self._spans: Mapping[Place, tuple[int, int]] = executable.lowered.spans
        self._places = [place for place in places if place in self._spans]
        self._planted: dict[ErrorLocation, ErrorCode] = {}

    @property
    def any(self) -> bool:
        return bool(self._planted)

    def insert(self, code: ErrorCode, location: ErrorLocation) -> None:
        """Plant an error. Raises poplar_error for NONE, a location of another program, or one with an error already."""
        if not isinstance(code, ErrorCode) or code is ErrorCode.NONE:
            raise poplar_error(f"insertSimulatedError: {code!r} is not an error; give an ErrorCode other than NONE.")
        self._locations.check(location)
        if location in self._planted:
            raise poplar_error(
                f"insertSimulatedError: an error is simulated at {location} already; erase it first with "
                "eraseSimulatedError."
            )
        self._planted[location] = code

    def erase(self, location: ErrorLocation) -> None:
        """Remove an error. Raises poplar_error where there is none."""
        if location not in self._planted:
            raise poplar_error(f"eraseSimulatedError: no error is simulated at {location}.")
        del self._planted[location]

    def clear(self) -> None:
        self._planted = {}

    def at_start(self, branch: int) -> None:
        """Raise errors planted outside all programs, when a run begins."""
        self._stop([e for e in self._all() if self._before_programs(e[0], branch)])

    def at_host_copy(self, branch: int) -> None:
        """Raise errors planted below the row of a host read or write, or outside all programs."""
        below = self._locations.below(branch)
        self._stop([e for e in self._all() if e[0] in below or self._locations.is_around_all(e[0])])

    def wrap(self, place: Place, program: Program, action: Action) -> Action:
        mine = [e for e in self._all() if self._innermost(e[0]) == place]
        if not mine:
            return action
        return lambda: self._stop(mine)

    def wrap_row(self, row: int, action: Action) -> Action:
        """As `wrap`, for one lowered program, where programs run row by row."""
        mine = [error for error in self._all() if error[0] == row] if self._planted else []
        return (lambda: self._stop(mine)) if mine else action

    def _all(self) -> list[tuple[int, ErrorLocation, ErrorCode]]:
        """(row, location, code) of every planted error; one of a vertex type counts in each of its compute sets."""
        found = [
            (row, location, code) for location, code in self._planted.items() for row in self._locations.rows(location)
        ]
        return sorted(found, key=lambda error: (error[0], error[1].tile))

    def _innermost(self, row: int) -> Place | None:
        """The smallest program that runs separately and contains this row."""
        around = [(span[1] - span[0], place) for place in self._places if _within(row, span := self._spans[place])]
        return min(around)[1] if around else None

    def _before_programs(self, row: int, branch: int) -> bool:
        if self._innermost(row) is not None:
            return False
        return row == branch or self._locations.is_around_all(row)

    def _stop(self, errors: list[tuple[int, ErrorLocation, ErrorCode]]) -> None:
        """Raise the errors of the first row: a run stops at the first program that fails."""
        if not errors:
            return
        first = [error for error in errors if error[0] == errors[0][0]]
        infos = [ErrorInfo(code, location, True) for _, location, code in first]
        texts = "; ".join(f"{info.code.name} on {info.location}" for info in infos)
        raise raised_for(infos[0].code)(f"The program stopped at a simulated error: {texts}.", infos)


def _within(row: int, span: tuple[int, int]) -> bool:
    return span[0] <= row < span[1]
