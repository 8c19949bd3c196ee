"""Programs of the lowered tree, and the visitor that dispatches on their type."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from popvision.formats.profile import model
from popvision.pva.vertices import ComputeSet

if TYPE_CHECKING:
    from popvision.pva.columns import Columns
    from popvision.pva.debug_context import DebugContext

_ProgramType = Enum("Type", list(model.PROGRAM_TYPES), start=0)  # type: ignore[misc]


class Program:
    """One program of the tree. `_id` is the Id shown in the viewer and stable between all access paths; programs
    are equal when they are the same program of the same opened report."""

    Type = _ProgramType

    __slots__ = ("_columns", "_id")

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self._id = id

    @property
    def type(self) -> Any:
        """A member of `Program.Type`."""
        return self.Type[self._columns.programs.type[self._id]]

    @property
    def name(self) -> str:
        """Debug name, maybe empty; syncs are named "Internal" or "External"."""
        return self._columns.programs.name[self._id]

    @property
    def children(self) -> list[Program]:
        """Programs directly below this one; empty for leaves."""
        return [make_program(self._columns, child) for child in self._columns.children_of(self._id)]

    @property
    def controlCodeByTile(self) -> list[int]:
        """Bytes of control code per tile, children included; empty when not known for any of them."""
        total: list[int] = []
        pending, seen = [self._id], set()
        while pending:
            program = pending.pop()
            if program in seen:
                continue
            seen.add(program)
            pending += self._columns.children_of(program)
            own = self._columns.program_by_tile(program, "control_code")
            total = own if not total else [a + b for a, b in zip(total, own, strict=True)] if own else total
        return total

    @property
    def estimatedCyclesByTile(self) -> list[int]:
        """Estimated cycles of one execution per tile; empty when there is no estimate."""
        return self._columns.program_by_tile(self._id, "cycles")

    @property
    def debugContexts(self) -> list[DebugContext]:
        """The debug context this program was made under, if the debug file is there."""
        from popvision.pva.debug_context import DebugContext

        id = int(self._columns.programs.debug_id[self._id])
        return [DebugContext(self._columns, id)] if id >= 0 else []

    def accept(self, visitor: ProgramVisitor) -> None:
        """Call `visitor.visit<Type>(self)`; children are not visited."""
        getattr(visitor, f"visit{self._columns.programs.type[self._id]}", _ignore)(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._id))

    def __repr__(self) -> str:
        return f"Program(_id={self._id}, type={self._columns.programs.type[self._id]}, name={self.name!r})"


class OnTileExecuteProgram(Program):
    """Runs a compute set."""

    __slots__ = ()

    @property
    def computeset(self) -> ComputeSet:
        """The compute set it runs."""
        return ComputeSet(self._columns, int(self._columns.programs.compute_set[self._id]))


class DoExchangeProgram(Program):
    """An exchange between the tiles of an IPU."""

    __slots__ = ()

    @property
    def codeBytesByTile(self) -> list[int]:
        """Bytes of exchange code per tile; empty when not known."""
        return self._columns.program_by_tile(self._id, "exchange_code")


class GlobalExchangeProgram(DoExchangeProgram):
    """An exchange between IPUs."""

    __slots__ = ()


class StreamCopyProgram(DoExchangeProgram):
    """One of the three parts of a copy to or from the host."""

    __slots__ = ()


_CLASSES: dict[str, type[Program]] = {
    "OnTileExecute": OnTileExecuteProgram,
    "DoExchange": DoExchangeProgram,
    "GlobalExchange": GlobalExchangeProgram,
    "StreamCopyBegin": StreamCopyProgram,
    "StreamCopyMid": StreamCopyProgram,
    "StreamCopyEnd": StreamCopyProgram,
}


def make_program(columns: Columns, id: int) -> Program:
    """The program with this id, as the class of its type."""
    return _CLASSES.get(columns.programs.type[id], Program)(columns, id)


def _ignore(program: Program) -> None:
    """What `visit<Type>` does unless overridden."""


class ProgramVisitor:
    """Subclass and override `visitOnTileExecute`, `visitDoExchange` ...; the others do nothing."""

    def __init__(self) -> None:
        pass


def _visitor_method(self: ProgramVisitor, program: Program) -> None:
    """Does nothing unless overridden."""


for _name in model.PROGRAM_TYPES:
    setattr(ProgramVisitor, f"visit{_name}", _visitor_method)
