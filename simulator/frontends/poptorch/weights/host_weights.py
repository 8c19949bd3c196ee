"""Weights of a module on the host, kept equal to those on a device: a write-back cache of two levels with versions.

After a training step the device has the newest values. Parameters and buffers of the user's module become `_Synced`
tensors, which fetch them when anything reads one: `state_dict`, an inference model that shares the module, a print. A
write on the host is seen by the tensor's version and sent before the next run. Writes through `.data` or an array leave
no trace in the version: a tensor that gave its memory away is compared with a copy before each run.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from simulator.frontends.poptorch.weights.replica_groups import Groupable, compiled

#: the executor whose device has newer values than the host, by the id of the tensor
_owners: dict[int, weakref.ReferenceType[HostWeights]] = {}


class _Synced:
    """What a parameter or buffer of a wrapped module does before anything else: fetch its newest value."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            for argument in args:
                if isinstance(argument, _Synced):
                    _refresh(argument)
            if args and isinstance(args[0], _Synced) and _gives_memory(func) and args[0] not in _exposed:
                _exposed[args[0]] = torch.clone(args[0]).detach()
            made = func(*args, **(kwargs or {}))
            if getattr(func, "__name__", "") == "__set__" and args and isinstance(args[0], _Synced):
                _note_written(args[0])
            return made


class SyncedParameter(_Synced, Groupable, torch.nn.Parameter):
    """A parameter of a wrapped module."""


class SyncedBuffer(_Synced, torch.Tensor):
    """A buffer of a wrapped module."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A tensor of its own, with the newest values."""
        _refresh(self)
        with torch._C.DisableTorchFunctionSubclass():
            memo[id(self)] = self.detach().as_subclass(torch.Tensor).clone()
        return memo[id(self)]


_written: dict[int, int] = {}
#: every tensor that some device has
_synced: Any = WeakIdKeyDictionary()
#: tensors whose memory others may write to, with their values when the device had them last
_exposed: Any = WeakIdKeyDictionary()


def _gives_memory(func: Any) -> bool:
    """Whether a function gives out memory whose writes torch does not count."""
    name = getattr(func, "__name__", "")
    return name in _MEMORY or (name == "__get__" and getattr(func, "__self__", None) == torch.Tensor.data)


_MEMORY = frozenset({"detach", "numpy", "__array__", "data_ptr", "storage", "untyped_storage"})


def _find_writes(tensors: Iterable[Any]) -> None:
    """Note those exposed tensors that were written to."""
    for tensor in tensors:
        before = _exposed.get(tensor)
        if before is not None and not torch.equal(before, tensor.detach()):
            _note_written(tensor)
            before.copy_(tensor.detach())


def _refresh(tensor: Any) -> None:
    owner = _owners.get(id(tensor))
    weights = owner() if owner is not None else None
    if weights is not None:
        weights.bring_to_host()


def _note_written(tensor: Any) -> None:
    _written[id(tensor)] = _written.get(id(tensor), 0) + 1


def watch(tensors: Iterable[Any]) -> None:
    """Make tensors of a wrapped module fetch their newest values when they are read."""
    for tensor in tensors:
        if type(tensor) is torch.nn.Parameter:
            tensor.__class__ = SyncedParameter
        elif type(tensor) is torch.Tensor:
            tensor.__class__ = SyncedBuffer
        if isinstance(tensor, _Synced):
            _synced[tensor] = True


class HostWeights:
    """The tensors that one executor keeps on its device. `fetch` reads them from there."""

    def __init__(self, tensors: Mapping[str, Any], fetch: Callable[[], Mapping[str, Any]]) -> None:
        self.tensors = dict(tensors)
        self._fetch = fetch
        self._sent: dict[str, tuple[int, int, int]] = {}
        self.device_is_newer = False
        watch(self.tensors.values())
        compiled.update(dict.fromkeys(self.tensors.values(), True))

    def bring_to_host(self) -> None:
        """Copy the device's values into the module's tensors, if they are newer."""
        if not self.device_is_newer:
            return
        self.device_is_newer = False
        with torch._C.DisableTorchFunctionSubclass():
            values = self._fetch()
            for name, tensor in self.tensors.items():
                target = tensor.data
                target.copy_(torch.from_numpy(values[name]).to(target.dtype))
                _note_written(tensor)
                before = _exposed.get(tensor)
                if before is not None:
                    before.copy_(target)
            self.note_sent()

    def newest(self) -> Mapping[str, Any] | None:
        """Values to send before a run, None where the device has them all. Fetches from another executor's device what
        is newer there."""
        with torch._C.DisableTorchFunctionSubclass():
            for tensor in self.tensors.values():
                owner = _owners.get(id(tensor))
                weights = owner() if owner is not None else None
                if weights is not None and weights is not self:
                    weights.bring_to_host()
            _find_writes(self.tensors.values())
            if all(self._sent.get(name) == _version(tensor) for name, tensor in self.tensors.items()):
                return None
            return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in self.tensors.items()}

    def note_sent(self) -> None:
        """The device has the host's values now."""
        self._sent = {name: _version(tensor) for name, tensor in self.tensors.items()}

    def note_unsent(self) -> None:
        """The device has nothing yet."""
        self._sent = {}

    def note_trained(self) -> None:
        """The device's values are newer from now on."""
        self.device_is_newer = True
        reference = weakref.ref(self)
        for tensor in self.tensors.values():
            _owners[id(tensor)] = reference

    def forget(self) -> None:
        """Give the tensors back as they are."""
        self.bring_to_host()
        for tensor in self.tensors.values():
            compiled.pop(tensor, None)
            owner = _owners.get(id(tensor))
            if owner is not None and owner() is self:
                del _owners[id(tensor)]


def _version(tensor: Any) -> tuple[int, int, int]:
    return id(tensor), tensor._version, _written.get(id(tensor), 0)


@contextmanager
def plain_tensors(module: Any) -> Iterator[None]:
    """Let torch see a module's own parameters and buffers, with the newest values, as while capturing; and constants
    that another wrapped module has too."""
    changed: list[tuple[Any, Any]] = []
    with torch._C.DisableTorchFunctionSubclass():
        for tensor in (*module.parameters(), *module.buffers()):
            _refresh(tensor)
        for tensor in list(_synced):
            if isinstance(tensor, _Synced):
                changed.append((tensor, type(tensor)))
                tensor.__class__ = torch.nn.Parameter if isinstance(tensor, SyncedParameter) else torch.Tensor
    try:
        yield
    finally:
        for tensor, kind in changed:
            tensor.__class__ = kind
