"""The tile-to-tile matrix of one exchange program, or of its difference between two reports, kept ready for windows.

A difference is target - source, message by message, of the program that `match_programs` found; tiles are matched by
their id, and messages of tiles that only one machine has are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.exchange.messages import (
    Block,
    Messages,
    block,
    in_order,
    largest_cell,
    messages_of,
    ranks,
    summed,
)
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Matrix:
    """`messages` have positions in place of tiles; `left_out` messages (of a difference) lie on tiles that only one of
    the machines has."""

    messages: Messages
    tiles: int
    left_out: int = 0
    _largest: dict[int, int] = field(default_factory=dict, repr=False)

    def block(self, rows: tuple[int, int], columns: tuple[int, int], size: int) -> Block:
        """A window in cells of `size` x `size` positions; rows are sources, in bytes."""
        return block(self.messages, rows, columns, size)

    def largest(self, size: int) -> int:
        """The largest cell of the whole matrix in such cells, by absolute value."""
        if size not in self._largest:
            self._largest[size] = largest_cell(self.messages, size)
        return self._largest[size]


def matrix_of(source: ReportSource, program: int, order: str, target: ReportSource | None = None) -> Matrix:
    """The matrix of a program, or of its difference when there is a target. Raises NotRecordedError with the reason
    where there are no messages or the target has no such program, ValueError for an unknown program or order."""
    kept = source.kept if target is None else source.kept.beside(target)
    return kept.recent(("exchange matrix", program, order), lambda: _matrix(source, program, order, target))


def partner_of(source: ReportSource, target: ReportSource, program: int) -> int:
    """The target's program that is `program` of the source. Raises NotRecordedError when there is none."""
    found = match_programs(source, target).target_rows()
    if not 0 <= program < len(found) or found[program] < 0:
        name = programs_of(source).name[program] if 0 <= program < len(found) else ""
        raise NotRecordedError(
            f"Program {program} {name}".rstrip() + " is not in the target, so it has no difference: see Programs below."
        )
    return int(found[program])


def difference_messages(source: ReportSource, target: ReportSource, program: int) -> tuple[Messages, int]:
    """(target - source by pair of tiles, messages left out). Raises as `matrix_of`."""
    other = messages_of(target, partner_of(source, target, program))
    one = messages_of(source, program)
    tiles = min(target_of(source).num_tiles, target_of(target).num_tiles)
    parts, left_out = [], 0
    for found, sign in ((one, -1), (other, 1)):
        common = (found.src < tiles) & (found.dst < tiles)
        left_out += int(np.count_nonzero(~common))
        parts.append((found.src[common], found.dst[common], sign * found.bytes[common]))
    src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return summed(src, dst, size, target_of(source).num_tiles), left_out


def _matrix(source: ReportSource, program: int, order: str, target: ReportSource | None) -> Matrix:
    machine = target_of(source)
    found, left_out = (
        (messages_of(source, program), 0) if target is None else difference_messages(source, target, program)
    )
    return Matrix(in_order(found, ranks(machine, order)), machine.num_tiles, left_out)
