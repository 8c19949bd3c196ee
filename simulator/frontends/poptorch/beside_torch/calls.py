"""Calls of torch's functions, numbered alike while a module is captured and while it runs in eager torch.

A call is known by its function, the user's line, the innermost line and how often all three were met before: a hash map
from these to a number. The capture notes the number on the operators that a call made; so each tensor of eager torch
finds its value on the device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from simulator.frontends.capture.operators import is_users

#: key of a place's annotations: the number of the call
CALL = "call"
#: element types that are rounded more than the wide one of a run
_NARROW = {
    torch.float32: (torch.float16, torch.bfloat16),
    torch.float64: (torch.float16, torch.bfloat16, torch.float32),
}
#: methods that name an element type
_CASTS = {"half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32}

#: functions that draw inside: the argument that says so, its place, and the value without
_INNER_DRAWS: dict[str, tuple[str, int, Any]] = {
    "scaled_dot_product_attention": ("dropout_p", 4, 0.0),
    "multi_head_attention_forward": ("dropout_p", 10, 0.0),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), ("dropout", 5, 0.0)),
    "rrelu": ("training", 3, False),
}


def _gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """torch.nn.functional.gumbel_softmax by the functions that it calls, so that what it draws is a call of its own."""
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    zeros = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format)
    return zeros.scatter_(dim, chosen, 1.0) - soft.detach() + soft


#: functions that draw inside and are taken apart
_IN_PARTS = {"gumbel_softmax": _gumbel_softmax}

Key = tuple[Any, ...]


@dataclass
class CallNumbers:
    """The numbers of one capture's calls."""

    numbers: dict[Key, int] = field(default_factory=dict)

    def add(self, key: Key) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


class Calls(TorchFunctionMode):
    """Watches the calls of one forward. `wide` is the element type in place of narrower ones, if any; with
    `without_draws` functions that draw random numbers inside leave that."""

    def __init__(self, wide: Any = None, without_draws: bool = False) -> None:
        super().__init__()
        self._wide, self._without_draws = wide, without_draws
        self._met: dict[Key, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        key = self._key(str(getattr(func, "__name__", "")))
        given, named = tuple(args), dict(kwargs or {})
        if key[0] in _IN_PARTS:
            with self:
                return _IN_PARTS[key[0]](*given, **named)
        if self._without_draws and key[0] in _INNER_DRAWS:
            given, named = replaced(given, named, *_INNER_DRAWS[key[0]])
        if self._wide is not None:
            func, given, named = self._widened(func, given, named)
        return self.call(key, func, given, named)

    def call(self, key: Key, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Do the call."""
        raise NotImplementedError

    def _key(self, name: str) -> Key:
        innermost: tuple[str, int] | None = None
        frame: Any = sys._getframe(2)
        while frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            innermost = innermost or place
            if is_users(place[0], ("/simulator/frontends/", "<")):
                break
            frame = frame.f_back
        key = name, innermost, None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        self._met[key] = self._met.get(key, 0) + 1
        return (*key, self._met[key])

    def _widened(self, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        cast = _CASTS.get(getattr(func, "__name__", ""))
        if cast in _NARROW[self._wide] and args and isinstance(args[0], torch.Tensor):
            return torch.Tensor.to, (args[0], self._wide), {}
        narrow = _NARROW[self._wide]
        args = tuple(self._wide if isinstance(one, torch.dtype) and one in narrow else one for one in args)
        named = {
            key: self._wide if isinstance(one, torch.dtype) and one in narrow else one for key, one in named.items()
        }
        return func, args, named


class CapturedCalls(Calls):
    """Notes the number of each call on the operators that it makes."""

    def __init__(self, numbers: CallNumbers, wide: Any = None, without_draws: bool = False) -> None:
        super().__init__(wide, without_draws)
        self._numbers = numbers

    def call(self, key: Key, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with torch.fx.traceback.annotate({CALL: self._numbers.add(key)}):
            return func(*args, **named)


def replaced(
    args: tuple[Any, ...], named: dict[str, Any], name: str, place: int, value: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with another value of one of them."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), named
    return args, {**named, name: value}


@contextmanager
def watching(module: Any, calls: Calls) -> Iterator[None]:
    """The calls of a module's forward are watched while this is open."""
    handles = [
        module.register_forward_pre_hook(lambda *_: calls.__enter__() and None),
        module.register_forward_hook(lambda *_: calls.__exit__(None, None, None), always_call=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
