"""Programs of the lowered tree, and the visitor that dispatches on their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.formats.profile import model
from popvision.pva.debug_context import DebugContext
from popvision.pva.enums import BoundEnum
from popvision.pva.listview import ListView, PrintedList
from popvision.pva.lowered import LoweredVar, lowered_of
from popvision.pva.vertices import ComputeSet

if TYPE_CHECKING:
    from popvision.pva.columns import Columns

_ProgramType: Any = BoundEnum(  # type: ignore[call-arg]
    "Type", list(model.PROGRAM_TYPES), module=__name__, qualname="Program.Type", start=0
)


class Program:
    """One program of the tree. `_id` is the Id that the viewer shows, the same by every access path; two objects are
    equal when they are the same program of the same opened report."""

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
        columns = self._columns
        return PrintedList([make_program(columns, child) for child in columns.children_of(self._id)], columns.printing)

    @property
    def vars(self) -> ListView[LoweredVar]:
        """Allocations on all tiles of the variables that it reads or writes itself; its children's are left out."""
        return lowered_of(self._columns, [self._id])

    @property
    def controlCodeByTile(self) -> list[int]:
        """Bytes of control code on each tile of the target, children included; empty where it is not known."""
        return self._columns.control_code.by_tile(self._id) or self._columns.not_known(self._id, "control_code")

    @property
    def estimatedCyclesByTile(self) -> list[int]:
        """Estimated cycles of one execution on each tile of the target; empty where there is no estimate: of programs
        that wait (StreamCopyBegin, syncs) or run others."""
        return self._columns.program_by_tile(self._id, "cycles")

    @property
    def debugContexts(self) -> list[DebugContext]:
        """The debug context of this program; empty without a debug file."""
        id = int(self._columns.programs.debug_id[self._id])
        contexts = [DebugContext(self._columns, id)] if id in self._columns.source.debug else []
        return PrintedList(contexts, self._columns.printing)

    def accept(self, visitor: ProgramVisitor) -> None:
        """Call `visitor.visit<Type>(self)`; children are not visited."""
        getattr(visitor, f"visit{self._columns.programs.type[self._id]}")(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._id))

    def __repr__(self) -> str:
        type_ = self._columns.programs.type[self._id]
        return f"{type(self).__name__}(_id={self._id}, type={type_}, name={self.name!r})"


class OnTileExecuteProgram(Program):
    """Runs a compute set."""

    __slots__ = ()

    @property
    def computeset(self) -> ComputeSet:
        """The compute set it runs."""
        return ComputeSet(self._columns, int(self._columns.programs.compute_set[self._id]))


class _Exchange(Program):
    """A program that moves data between tiles, IPUs or the host, with code for it on the tiles."""

    __slots__ = ()

    @property
    def codeBytesByTile(self) -> list[int]:
        """Bytes of exchange code on each tile of the target; empty where it is not known."""
        return self._columns.program_by_tile(self._id, "exchange_code")


class DoExchangeProgram(_Exchange):
    """An exchange between the tiles of an IPU."""

    __slots__ = ()


class GlobalExchangeProgram(_Exchange):
    """An exchange between IPUs."""

    __slots__ = ()


class StreamCopyProgram(_Exchange):
    """One of the three parts of a copy to or from the host."""

    __slots__ = ()


class StreamCopyBeginProgram(StreamCopyProgram):
    """Waiting for the host."""

    __slots__ = ()


class StreamCopyMidProgram(StreamCopyProgram):
    """Moving the data."""

    __slots__ = ()


class StreamCopyEndProgram(StreamCopyProgram):
    """Cleaning up."""

    __slots__ = ()


_CLASSES: dict[str, type[Program]] = {
    "OnTileExecute": OnTileExecuteProgram,
    "DoExchange": DoExchangeProgram,
    "GlobalExchange": GlobalExchangeProgram,
    "StreamCopyBegin": StreamCopyBeginProgram,
    "StreamCopyMid": StreamCopyMidProgram,
    "StreamCopyEnd": StreamCopyEndProgram,
}


def make_program(columns: Columns, id: int) -> Program:
    """The program with this id, as the class of its type."""
    return _CLASSES.get(columns.programs.type[id], Program)(columns, id)


class ProgramVisitor:
    """Subclass and override `visitOnTileExecute`, `visitDoExchange` ...; the others do nothing."""

    def __init__(self) -> None:
        pass


def _visitor_method(self: ProgramVisitor, program: Program) -> None:
    """Does nothing unless overridden."""


for _name in model.PROGRAM_TYPES:
    setattr(ProgramVisitor, f"visit{_name}", _visitor_method)
