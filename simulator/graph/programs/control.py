"""Control flow: loops and branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, overload

import numpy as np

from simulator.base.errors import control_program_error
from simulator.base.types import UNSIGNED_INT
from simulator.graph.debug_context import Context, as_context
from simulator.graph.programs.abort import Abort
from simulator.graph.programs.base import Changeable, Program, Sequence, checked
from simulator.graph.programs.checks import CONTROL_TYPES, PREDICATE_TYPES, check_scalar
from simulator.graph.tensor import Tensor

Cases = Iterable[tuple[int, Program]] | Mapping[int, Program]


class Repeat(Program):
    """Run a body a fixed number of times."""

    def __init__(self, count: int, prog: Program, debugContext: Context = "") -> None:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count < 2**32:
            raise control_program_error(f"Repeat: the count {count!r} is not an unsigned 32-bit integer.")
        self.count = int(count)
        self.body = checked(prog)
        self.debug = as_context(debugContext)

    def nested(self) -> SequenceOf[Program]:
        return (self.body,)


class Loop(Program):
    """Run a body repeatedly, until an Abort in it or `Engine.stop` ends the run."""

    def __init__(self, body: Program, debugContext: Context = "") -> None:
        self.body = checked(body)
        self.debug = as_context(debugContext)

    def nested(self) -> SequenceOf[Program]:
        return (self.body,)


class RepeatWhile(Program):
    """A loop over a predicate: run `cond`, then read the predicate; while its truth value is `wanted`, run the body and
    `cond`, and read it again."""

    wanted: bool

    def __init__(self, cond: Program, predicate: Tensor, body: Program, debugContext: Context = "") -> None:
        self.cond = checked(cond)
        self.predicate = check_scalar(predicate, f"{type(self).__name__}: the predicate", PREDICATE_TYPES)
        self.body = checked(body)
        self.debug = as_context(debugContext)

    def nested(self) -> SequenceOf[Program]:
        return (self.cond, self.body)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.predicate,)


class RepeatWhileTrue(RepeatWhile):
    """Run `cond`; while the predicate is then not 0, run the body and `cond`.

    Raises `control_program_error` unless the predicate is a scalar of type BOOL, INT or UNSIGNED_INT."""

    wanted = True


class RepeatWhileFalse(RepeatWhile):
    """Run `cond`; while the predicate is then 0, run the body and `cond`. Raises as RepeatWhileTrue does."""

    wanted = False


class If(Program):
    """Run one of two programs: `trueBody` when the predicate is not 0, else `falseBody`.

    Raises `control_program_error` unless the predicate is a scalar of type BOOL, INT or UNSIGNED_INT."""

    def __init__(self, predicate: Tensor, trueBody: Program, falseBody: Program, debugContext: Context = "") -> None:
        self.predicate = check_scalar(predicate, "If: the predicate", PREDICATE_TYPES)
        self.true_body = checked(trueBody)
        self.false_body = checked(falseBody)
        self.debug = as_context(debugContext)

    def nested(self) -> SequenceOf[Program]:
        return (self.true_body, self.false_body)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.predicate,)


class Switch(Changeable):
    """Run the case whose value the controlling scalar has, or the default where no case has it (nothing, unless
    given). `cases`: pairs (value, program), or a dict.

    Raises `control_program_error` unless `control` is a scalar of type INT or UNSIGNED_INT, and for values that are
    no 32-bit integers or occur twice."""

    _grows = "cases"

    @overload
    def __init__(self, control: Tensor, cases: Cases, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(
        self, control: Tensor, cases: Cases, defaultCaseBody: Program, /, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(self, control: Tensor, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, control: Tensor, defaultCaseBody: Program, /, debugContext: Context = "") -> None: ...
    @overload
    def __init__(
        self, control: Tensor, *, cases: Cases = ..., defaultCaseBody: Program = ..., debugContext: Context = ""
    ) -> None: ...
    def __init__(
        self,
        control: Tensor,
        *arguments: Any,
        cases: Cases = (),
        defaultCaseBody: Program | None = None,
        debugContext: Context = "",
    ) -> None:
        rest = list(arguments)
        if rest and isinstance(rest[0], Mapping | list | tuple) and not _is_context(rest[0]):
            cases = rest.pop(0)
        if rest and isinstance(rest[0], Program):
            defaultCaseBody = rest.pop(0)
        if rest:
            debugContext = rest.pop(0)
        if rest:
            raise control_program_error(f"Switch: {rest[0]!r} is one argument too many; see Switch's four forms.")
        self.control = check_scalar(control, "Switch: the controlling tensor", CONTROL_TYPES)
        self.cases: list[tuple[int, Program]] = []
        self.default: Program = Sequence() if defaultCaseBody is None else checked(defaultCaseBody)
        self.reachable_default = True  #: whether other values may occur
        self.bounds_checked = False  #: whether other values are an error of the run
        self.debug = as_context(debugContext)
        for case in cases.items() if isinstance(cases, Mapping) else cases:
            if not isinstance(case, tuple | list) or len(case) != 2:
                raise control_program_error(f"Switch: a case is a pair of a value and a program, got {case!r}.")
            self.add(*case)

    def add(self, value: int, body: Program) -> Switch:
        """Add a case. Returns the switch, so that calls can be chained."""
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not -(2**31) <= value < 2**31:
            raise control_program_error(f"Switch: the case value {value!r} is not a signed 32-bit integer.")
        if any(known == value for known, _ in self.cases):
            raise control_program_error(f"Switch: there is a case {value} already; case values must be unique.")
        self._grow((int(value), checked(body)))
        return self

    @staticmethod
    def switchWithBoundsChecking(control: Tensor, cases: Cases, debugContext: Context = "") -> Switch:
        """A switch over these cases; a run in which `control` has another value ends with
        `application_runtime_error`."""
        switch = Switch(control, cases, debugContext)
        switch.bounds_checked = True
        switch.default = Abort()
        return switch

    @staticmethod
    def switchWithUnreachableDefault(control: Tensor, debugContext: Context = "") -> Switch:
        """A switch whose cases (see `add`) are all values that occur, so that the compiler leaves out the test for
        others. What a device does with another value is undefined; here the run ends with
        `application_runtime_error`."""
        switch = Switch(control, debugContext)
        switch.reachable_default = False
        return switch

    def branch_of(self, value: int) -> int:
        """The index in `nested()` of the program that runs for a value; LookupError for a value that must not occur."""
        signed = value - 2**32 if self.control.elementType() is UNSIGNED_INT and value >= 2**31 else value
        for place, (known, _) in enumerate(self.cases):
            if known == signed:
                return place
        if self.bounds_checked or not self.reachable_default:
            raise LookupError(value)
        return len(self.cases)

    def nested(self) -> SequenceOf[Program]:
        return [body for _, body in self.cases] + ([self.default] if self.reachable_default else [])

    def reads(self) -> SequenceOf[Tensor]:
        return (self.control,)


def _is_context(value: Any) -> bool:
    """Whether a pair is a debug context (DebugInfo, name) and not two cases."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)
