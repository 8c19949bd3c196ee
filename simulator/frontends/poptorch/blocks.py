"""Blocks: the parts of a module that an execution strategy places, marked while the module's forward is captured.

The mark is an annotation of torch.fx: the innermost block is written to `node.meta["custom"]` of every operator that
is captured inside it, under the keys "ipu_block", "ipu_stage" and "ipu". Outside a capture blocks do nothing, so that
the same module runs in PyTorch.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch.fx import traceback

from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.strategies import ExecutionStrategy, Placement

#: keys of the annotations
BLOCK, STAGE, IPU = "ipu_block", "ipu_stage", "ipu"
NAME_SCOPE = "name_scope"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Capture:
    """The blocks of one capture. `placements` has each that began, in that order."""

    strategy: ExecutionStrategy
    placements: dict[str, Placement] = field(default_factory=dict)
    _stages: dict[str, int] = field(default_factory=dict)
    _next_id: int = 0

    @property
    def ipus(self) -> int:
        """IPUs of one replica: one more than the largest number of a block's."""
        return 1 + max((placement.ipu for placement in self.placements.values()), default=0)

    def begin(self, block: str | None, ipu_id: int | None) -> dict[str, Any]:
        """The annotations of a block that begins now; one without an id is numbered."""
        name = self.numbered() if block is None else block
        placement = self.strategy.placement(name, ipu_id, self._stages)
        self.placements[name] = placement
        return {BLOCK: name, STAGE: placement.stage, IPU: placement.ipu}

    def numbered(self) -> str:
        """The next automatic id."""
        self._next_id += 1
        return str(self._next_id - 1)

    def number_from_zero(self) -> None:
        """Start automatic ids again."""
        self._next_id = 0


_current: Capture | None = None


@contextlib.contextmanager
def capturing(strategy: ExecutionStrategy) -> Iterator[Capture]:
    """Blocks mark operators while this is open; `torch.export.export` runs inside it, within
    `torch.fx.traceback.preserve_node_meta()`. Raises RuntimeError inside another capture."""
    global _current
    if _current is not None:
        raise RuntimeError("A capture is running already; compile one model at a time.")
    _current = Capture(strategy)
    try:
        yield _current
    finally:
        _current = None
        _forget(traceback.current_meta.get("custom"))


def isRunningOnIpu() -> bool:
    """Whether the module's forward is being captured for the device, and is not running in PyTorch."""
    return _current is not None


class Block:
    """Context manager: operators inside it belong to the block `user_id`, on IPU `ipu_id` of the model unless the
    strategy chooses another."""

    def __init__(self, user_id: str | None = None, ipu_id: int | None = None) -> None:
        _check(user_id, ipu_id)
        self._user_id, self._ipu_id = user_id, ipu_id
        self._open: list[Any] = []

    @staticmethod
    def useAutoId() -> None:
        """Number blocks without an id from 0 on; called where `forward` begins."""
        if _current is not None:
            _current.number_from_zero()

    @staticmethod
    def start(user_id: str | None = None, ipu_id: int | None = None) -> None:
        """Begin a block that lasts until the next one begins."""
        _check(user_id, ipu_id)
        if _current is not None:
            _mark(_current.begin(user_id, ipu_id))

    def __enter__(self) -> None:
        if _current is None:
            self._open.append(contextlib.nullcontext())
        else:
            self._open.append(traceback.annotate(_current.begin(self._user_id, self._ipu_id)))
        self._open[-1].__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._open.pop().__exit__(*raised)


def BlockFunction(user_id: str | None = None, ipu_id: int | None = None) -> Callable[[F], F]:
    """Decorator: operators that the function calls belong to the block."""
    _check(user_id, ipu_id)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with Block(user_id, ipu_id):
                return function(*arguments, **named)

        return call  # type: ignore[return-value]

    return decorate


class _BeginningHook:
    """Runs before a module's forward: its block begins, and lasts until the next one."""

    def __init__(self, user_id: str | None, ipu_id: int | None) -> None:
        self.user_id, self.ipu_id = user_id, ipu_id

    def __call__(self, module: Any, arguments: Any) -> None:
        if _current is not None:
            if self.user_id is None:
                self.user_id = _current.numbered()
            _mark(_current.begin(self.user_id, self.ipu_id))

    def __repr__(self) -> str:
        return f"BeginBlock(user_id={self.user_id}, ipu_id={self.ipu_id})"


class _BeginningFunction(torch.nn.Module):
    """A function that begins a block."""

    def __init__(self, function: Callable[..., Any], hook: _BeginningHook) -> None:
        super().__init__()
        self._function, self._hook = function, hook

    def forward(self, *arguments: Any, **named: Any) -> Any:
        self._hook(self, arguments)
        return self._function(*arguments, **named)


def BeginBlock(layer_to_call: Any, user_id: str | None = None, ipu_id: int | None = None) -> Any:
    """Operators from the call of this module on belong to the block, until another block begins. Returns the module.

    Raises Error for a module that begins a block already, and for what cannot be called."""
    _check(user_id, ipu_id)
    hook = _BeginningHook(user_id, ipu_id)
    if not isinstance(layer_to_call, torch.nn.Module):
        if callable(layer_to_call):
            return _BeginningFunction(layer_to_call, hook)
        raise Error("module is not an instance of torch.nn.Module or function.")
    if any(isinstance(other, _BeginningHook) for other in layer_to_call._forward_pre_hooks.values()):
        raise Error("module has already been assigned to a block.")
    layer_to_call.register_forward_pre_hook(hook)
    return layer_to_call


def removeBlocks(module: Any) -> None:
    """Take every BeginBlock off a module and the modules in it."""
    if not isinstance(module, torch.nn.Module):
        raise AssertionError(f"removeBlocks takes a torch.nn.Module, not {type(module).__name__}.")
    for part in module.modules():
        for key, hook in list(part._forward_pre_hooks.items()):
            if isinstance(hook, _BeginningHook):
                del part._forward_pre_hooks[key]


class NameScope:
    """Context manager: names of operators inside it begin with `name`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise AssertionError("Parameter to NameScope must be a string")
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> None:
        outer = (traceback.current_meta.get("custom") or {}).get(NAME_SCOPE)
        full = f"{outer}/{self.name}" if outer else self.name
        self._open.append(contextlib.nullcontext() if _current is None else traceback.annotate({NAME_SCOPE: full}))
        self._open[-1].__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._open.pop().__exit__(*raised)


def _mark(annotations: dict[str, Any]) -> None:
    """Annotate every operator from now on."""
    traceback.current_meta["custom"] = {**(traceback.current_meta.get("custom") or {}), **annotations}


def _forget(custom: dict[str, Any] | None) -> None:
    for key in (BLOCK, STAGE, IPU, NAME_SCOPE):
        (custom or {}).pop(key, None)


def _check(user_id: Any, ipu_id: Any) -> None:
    if user_id is not None and (not isinstance(user_id, str | int) or isinstance(user_id, bool)):
        raise AssertionError(f"The id of a block is a string or a whole number, not {user_id!r}.")
    if ipu_id is not None and (not isinstance(ipu_id, int) or isinstance(ipu_id, bool) or ipu_id < 0):
        raise AssertionError(f"ipu_id is the number of an IPU within the model, from 0 on, not {ipu_id!r}.")
