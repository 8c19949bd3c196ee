"""Programs that end a run with an exception on the host."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any, overload

from simulator.base.errors import control_program_error
from simulator.graph.debug_context import Context, DebugContext, as_context
from simulator.graph.programs.base import Program
from simulator.graph.programs.checks import PREDICATE_TYPES, check_scalar
from simulator.graph.tensor import Tensor, require_valid


class Abort(Program):
    """Stop all tiles; the run raises `application_runtime_error` with the message, if there is one.

    `Abort(message)`: a plain string is the message, as in Poplar; give a name as `debugContext=`."""

    @overload
    def __init__(self, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, message: str, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, *, message: str = "", debugContext: Context = "") -> None: ...
    def __init__(self, *arguments: Any, message: str = "", debugContext: Context = "") -> None:
        self.message, self.debug = _message_and_context("Abort", arguments, message, debugContext)


class AbortOnCondition(Program):
    """Abort if the predicate is not 0.

    Raises `control_program_error` unless the predicate is a scalar of type BOOL, INT or UNSIGNED_INT."""

    @overload
    def __init__(self, predicate: Tensor, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, predicate: Tensor, message: str, debugContext: Context = "", /) -> None: ...
    @overload
    def __init__(self, predicate: Tensor, *, message: str = "", debugContext: Context = "") -> None: ...
    def __init__(self, predicate: Tensor, *arguments: Any, message: str = "", debugContext: Context = "") -> None:
        self.predicate = check_scalar(predicate, "AbortOnCondition: the predicate", PREDICATE_TYPES)
        self.message, self.debug = _message_and_context("AbortOnCondition", arguments, message, debugContext)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.predicate,)


class ErrorProgram(Program):
    """End the run with `application_runtime_error`: the message and the contents of a tensor."""

    def __init__(self, message: str, t: Tensor, debugContext: Context = "") -> None:
        if not isinstance(message, str):
            raise control_program_error(f"ErrorProgram: the message must be a string, got {message!r}.")
        if not isinstance(t, Tensor):
            raise control_program_error(f"ErrorProgram '{message}' needs a tensor to show, got {t!r}.")
        require_valid(t)
        self.message = message
        self.tensor = t
        self.debug = as_context(debugContext)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.tensor,)


def _message_and_context(
    what: str, arguments: tuple[Any, ...], message: str, context: Context
) -> tuple[str, DebugContext]:
    rest = list(arguments)
    if rest and isinstance(rest[0], str):
        message = rest.pop(0)
    if rest:
        context = rest.pop(0)
    if rest or not isinstance(message, str):
        raise control_program_error(f"{what}: {(rest or [message])[0]!r} is neither its message nor a debug context.")
    return message, as_context(context)
