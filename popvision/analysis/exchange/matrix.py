"""The tile-to-tile matrix of one exchange program: sparse messages in display order, largest cells cached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from popvision.analysis.exchange.messages import (
    Block,
    Messages,
    block,
    in_order,
    largest_cell,
    messages_of,
    ranks,
)
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
        """The largest cell of the entire matrix in such cells, by absolute value."""
        if size not in self._largest:
            self._largest[size] = largest_cell(self.messages, size)
        return self._largest[size]


def matrix_of(source: ReportSource, program: int, order: str) -> Matrix:
    """The matrix of a program. Raises NotRecordedError with the reason where there are no messages, ValueError for an
    unknown program or order."""

    def read() -> Matrix:
        machine = target_of(source)
        return Matrix(in_order(messages_of(source, program), ranks(machine, order)), machine.num_tiles)

    return source.kept.recent(("exchange matrix", program, order), read)
