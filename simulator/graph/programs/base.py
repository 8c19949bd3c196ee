"""The base of control programs, and the programs that only contain others in order.

Programs are values, as in Poplar: a program contains others as they were when they were added; what is added to those
later does not reach it. Only programs that can grow need a copy for that, one shallow copy for each version.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf
from typing import Any, ClassVar, overload

from simulator.base.errors import control_program_error
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments
from simulator.graph.debug_context import Context, DebugContext, as_context
from simulator.graph.tensor import Tensor


class Program:
    """The base of all programs."""

    debug: DebugContext

    def __init_subclass__(cls) -> None:
        methods_refuse_wrong_arguments()(cls)

    def isEmpty(self) -> bool:
        return False

    def as_part(self) -> Program:
        """This program as it is now, for another one to contain."""
        return self

    def nested(self) -> SequenceOf[Program]:
        """The programs that this one contains, in the order in which they are laid out."""
        return ()

    def reads(self) -> SequenceOf[Tensor]:
        """The tensors that it reads itself: not its compute set, nor the programs that it contains."""
        return ()

    def writes(self) -> SequenceOf[Tensor]:
        """The tensors that it writes itself."""
        return ()


class Changeable(Program):
    """A program that can be added to. Others contain a frozen copy of it, the same one until something is added."""

    _grows: ClassVar[str]  #: the attribute with the list that `add` adds to
    _frozen_copy: Changeable | None = None  #: the copy that other programs contain, None before there is one
    _frozen = False  #: whether it is such a copy

    def as_part(self) -> Program:
        if self._frozen:
            return self
        if self._frozen_copy is None:
            part = copy.copy(self)
            part._frozen = True
            setattr(part, self._grows, list(getattr(self, self._grows)))
            self._frozen_copy = part
        return self._frozen_copy

    def _grow(self, item: Any) -> None:
        require_changeable(self)
        getattr(self, self._grows).append(item)
        self._frozen_copy = None


class Sequence(Changeable):
    """Programs one after another. `Sequence(a, b)` and `Sequence([a, b])` are the same.

    As in Poplar it keeps programs as they are when they are added: adding to one of them later does not reach it."""

    _grows = "programs"

    @overload
    def __init__(self, *programs: Program, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, programs: Iterable[Program], debugContext: Context = "", /) -> None: ...
    def __init__(self, *programs: Any, debugContext: Context = "") -> None:
        if programs and not isinstance(programs[0], Program):
            if not isinstance(programs[0], str | DebugContext | Iterable):
                checked(programs[0])
            items = list(programs[0]) if not isinstance(programs[0], str | DebugContext) else []
            contexts = programs[1:] if not isinstance(programs[0], str | DebugContext) else programs
            debugContext = contexts[0] if contexts else debugContext
        else:
            items = list(programs)
            if items and not isinstance(items[-1], Program):
                debugContext = items.pop()
        self.programs: list[Program] = [checked(item) for item in items]
        self.debug = as_context(debugContext)

    def add(self, program: Program) -> None:
        """Append a program, as it is now."""
        self._grow(checked(program))

    def isEmpty(self) -> bool:
        return not self.programs

    def nested(self) -> SequenceOf[Program]:
        return self.programs


def require_changeable(program: Changeable) -> None:
    """Raise `control_program_error` for what others contain."""
    if program._frozen:
        raise control_program_error(
            f"This {type(program).__name__} is a part of another program and cannot be added to; add to the one that "
            "you made."
        )


def put_instead(sequence: Sequence, programs: Iterable[Program]) -> None:
    """Let a sequence contain other programs than it does."""
    require_changeable(sequence)
    sequence.programs = [checked(program) for program in programs]
    sequence._frozen_copy = None


def copied(program: Program) -> Program:
    """A copy: what is added to it does not reach the other one. For C++, where programs are values."""
    if not isinstance(program, Changeable):
        return program
    twin = copy.copy(program.as_part())
    assert isinstance(twin, Changeable)
    twin._frozen = False
    setattr(twin, twin._grows, list(getattr(twin, twin._grows)))
    return twin


def checked(program: Any) -> Program:
    """The program as another one contains it; raises `control_program_error` for what is no program."""
    if not isinstance(program, Program):
        raise control_program_error(
            f"{program!r} is not a program; wrap compute sets in Execute and functions in Call."
        )
    return program.as_part()


class LibraryGroup(Sequence):
    """The programs of one library operation, with the kernel that computes its result over whole arrays.

    Lowering treats it as its programs; the numeric plan calls the kernel registered as `kernel` with `inputs` and
    `outputs` instead of running their vertices."""

    def __init__(
        self,
        programs: Iterable[Program],
        kernel: str,
        inputs: SequenceOf[Tensor],
        outputs: SequenceOf[Tensor],
        attributes: dict[str, Any] | None = None,
        debugContext: Context = "",
    ) -> None:
        super().__init__(list(programs), debugContext)
        self.kernel = kernel
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.attributes = attributes or {}

    def reads(self) -> SequenceOf[Tensor]:
        return self.inputs

    def writes(self) -> SequenceOf[Tensor]:
        return self.outputs
