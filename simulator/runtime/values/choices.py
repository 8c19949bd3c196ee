"""Decisions of programs that choose: which branch, another trip, abort or go on.

`values` are those of one scalar, one per replica. They must agree, because all replicas run the same code at the same
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.compiler.ir.program_visits import Place
from simulator.graph import program as host
from simulator.runtime.values.host_side import RunEndedError
from simulator.runtime.values.print_tensor import tensor_text

Values = Sequence[int]
Decision = Callable[[Values], int]
"""Maps the values of the control scalar to the index in `Program.nested()` that runs next; of a loop 1 for its body and
0 for the end; of an abort 0 for going on."""


def decision(program: host.Program, place: Place) -> Decision:
    """The decision of a program. It raises RunEndedError for values without a branch."""
    match program:
        case host.If():
            return lambda values: 0 if _agreed(values, "If", place) else 1
        case host.Switch():
            return lambda values: _case(program, _agreed(values, "Switch", place), place)
        case host.RepeatWhile():
            name = type(program).__name__
            return lambda values: int(bool(_agreed(values, name, place)) == program.wanted)
        case host.AbortOnCondition():
            return lambda values: _abort(program.message, place) if any(values) else 0
        case _:
            raise TypeError(f"{type(program).__name__} does not choose")


def ending(program: host.Abort | host.ErrorProgram, place: Place) -> Callable[[Sequence[object]], None]:
    """The function of a program that always ends the run, given the tensor that it shows, one per replica."""

    def end(shown: Sequence[object]) -> None:
        if isinstance(program, host.Abort):
            _abort(program.message, place)
        text = ", ".join(tensor_text("", values, host.PrintTensorFmt()) for values in shown)  # type: ignore[arg-type]
        raise RunEndedError(f"{program.message} {text}".lstrip(), place)

    return end


def _agreed(values: Values, what: str, place: Place) -> int:
    if any(value != values[0] for value in values):
        raise RunEndedError(
            f"{what}: the replicas have different control values ({list(values)}); all of them must take the same "
            "branch.",
            place,
        )
    return values[0]


def _case(switch: host.Switch, value: int, place: Place) -> int:
    try:
        return switch.branch_of(value)
    except LookupError:
        cases = ", ".join(str(case) for case, _ in switch.cases) or "none"
        raise RunEndedError(f"Switch: the value {value} has no case (cases: {cases}) and no default.", place) from None


def _abort(message: str, place: Place) -> int:
    raise RunEndedError(message or "The program aborted.", place)
