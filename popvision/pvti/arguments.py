"""Sentences about arguments of the wrong type, the same whether tracing is on or off: a program must not fail only
when somebody looks at it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_text(value: object, what: str) -> None:
    """Raises TypeError unless the value is a str; `what` names it: "the label of an event"."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}.")


def not_a_channel(value: object) -> TypeError:
    """The error about what should be a channel."""
    return TypeError(f"a channel must be made by createTraceChannel, not be of type {type(value).__name__}.")


def check_channel(value: Any) -> None:
    """Raises TypeError unless the value is a channel."""
    if not hasattr(value, "scopes"):
        raise not_a_channel(value)


def is_number_type(kind: type, *, whole: bool = False) -> bool:
    """Whether all values of a type are numbers, whole ones on demand."""
    return hasattr(kind, "__index__") or (not whole and hasattr(kind, "__float__"))
