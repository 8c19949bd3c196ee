"""What autograd knows of a module's forward and an exported graph does not: where gradients stop.

A mode of torch sees every call while the module is traced. Calls without gradients (torch.no_grad, inference_mode) are
marked on their nodes; `.data` and frozen tensors become `detach`. A write that autograd does not see leaves the way of
the gradient as it was: who reads the tensor afterwards gets a `popvision::rewritten`. What has no form in a graph is
refused by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from simulator.frontends.capture.loss_functions import ctc_loss, gaussian_nll_loss
from simulator.frontends.capture.mixed_types import tensors_of, with_one_type
from simulator.frontends.capture.operators import CaptureError, is_users
from simulator.frontends.captured import WITHOUT_GRADIENT

#: properties of a tensor, by their descriptors
_PROPERTIES = {getattr(torch.Tensor, name): name for name in ("data", "grad", "grad_fn", "requires_grad")}
_ON_THE_DEVICE = (
    "Gradients stay on the device: poptorch.Options().anchorTensor(name, 'Gradient___<weight>') sends one to the host."
)
_HOST_VALUES = "values are on the device only while the model runs; use torch's operators, or return the tensor."
#: what asks for values, or for sizes that depend on them
_ON_THE_HOST = {
    **{
        name: f"Tensor.{name} cannot be used in forward on the IPU: {_HOST_VALUES}"
        for name in ("numpy", "tolist", "__array__")
    },
    "_pack_padded_sequence": "Packed sequences cannot be on the IPU, since their sizes are data: give the layer the "
    "padded batch, and mask what lies behind the ends in its results.",
}
_REFUSED = {
    "backward": "The model runs the backward pass after forward; return the loss.",
    "retain_grad": _ON_THE_DEVICE,
    "get grad": _ON_THE_DEVICE,
    "set grad": "The model computes gradients after forward; leave them to it.",
    "register_post_accumulate_grad_hook": "The optimizer runs on the device; use Tensor.register_hook.",
}


@torch.library.custom_op("popvision::rewritten", mutates_args=(), schema="(Tensor old, Tensor new) -> Tensor")
def _rewritten(old: Any, new: Any) -> Any:
    return new.clone()


@_rewritten.register_fake
def _rewritten_shape(old: Any, new: Any) -> Any:
    return torch.empty_like(new)


_rewritten.register_autograd(lambda ctx, slope: (slope, None))


class GradModes(TorchFunctionMode):
    """Watches the calls of one forward."""

    def __init__(self, training: bool) -> None:
        super().__init__()
        self._training = training
        self._frozen: dict[int, Any] = {}  #: tensors that take no gradient from here on
        self._storages: dict[int, dict[int, Any]] = {}  #: tensors with a gradient, by their storage
        self._rewritten: dict[int, Any] = {}  #: what stands for a tensor after a write that autograd did not see
        self._old: dict[int, Any] = {}
        #: what Tensor.register_hook does, (tensor, hook) -> handle
        self.hook_tensor: Callable[[Any, Any], Any] | None = None
        self.differentiates = False  #: whether forward called torch.autograd.grad

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func is torch._C._set_grad_enabled:  # no node of the graph: every node says it for itself
            with torch._C.DisableTorchFunction():
                return func(*args)
        name = name_of(func)
        if self._training and name in _REFUSED:
            raise refusal(f"Tensor.{name.rpartition(' ')[2]} cannot be used in forward on the IPU. {_REFUSED[name]}")
        if name == "register_hook" and self.hook_tensor is not None:
            with self:
                return self.hook_tensor(*args, **named)
        if name == "get data":
            self._note(args[0])
            return args[0].detach()
        if name == "set data" and args[0].is_leaf and (args[0].shape, args[0].dtype) == (args[1].shape, args[1].dtype):
            with self, torch.no_grad():
                args[0].copy_(args[1])
            return None
        if name == "set data":
            raise refusal("Tensor.data cannot be set in forward on the IPU; write x.copy_(values) in torch.no_grad().")
        if name == "random_" and len(args) > 2:  # no graph can be written with an operator "random.from"
            low, high = args[1:3]
            return self._call("random_", lambda x: x.random_(high - low).add_(low), args[:1], named)
        if name == "ctc_loss":
            with self:
                return ctc_loss(*args, **named)
        if name == "gaussian_nll_loss":
            with self:
                return gaussian_nll_loss(*args, **named)
        if name in _ON_THE_HOST:
            raise refusal(_ON_THE_HOST[name])
        if name in ("set requires_grad", "requires_grad_", "detach_"):
            return self._switch(name, func, args, named)
        if not self._training:
            return with_one_type(name, func, args, named)
        _check_transforms()
        return self._call(name, func, args, named)

    def _switch(self, name: str, func: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """A tensor takes gradients from here on, or takes none."""
        tensor = args[0]
        wanted = name != "detach_" and (args[1] if len(args) > 1 else named.get("requires_grad", True))
        made = func(*args, **named)
        if wanted:
            self._frozen.pop(id(tensor), None)
        else:
            self._frozen[id(tensor)] = tensor
        return made

    def _call(self, name: str, func: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        self.differentiates |= func is torch.autograd.grad
        without = not torch.is_grad_enabled() or _gives_plain_gradients(func, named)
        target = written_tensor(name, args, named)
        for tensor in tensors_of((args, named)):
            self._note(tensor)
        touched = self._unseen(target, without)
        for tensor in touched:
            if id(tensor) not in self._old:
                self._old[id(tensor)] = tensor.clone()
        if touched:
            args = [args[0], *self._replaced(list(args[1:]))] if target is args[0] else self._replaced(list(args))
        else:
            args, named = self._replaced(list(args)), self._replaced(dict(named))
        with torch.fx.traceback.annotate({WITHOUT_GRADIENT: True}) if without else nullcontext():
            made = with_one_type(name, func, args, named)
        for tensor in touched:
            self._rewritten[id(tensor)] = torch.ops.popvision.rewritten(self._old[id(tensor)], tensor.detach())
        for tensor in tensors_of(made):
            self._note(tensor)
        return made

    def _note(self, tensor: Any) -> None:
        if tensor.requires_grad:
            self._storages.setdefault(_storage(tensor), {})[id(tensor)] = tensor

    def _unseen(self, target: Any, without: bool) -> list[Any]:
        """Tensors with a gradient that a write to `target` changes without autograd."""
        if target is None or (target.requires_grad and not without):
            return []
        return list(self._storages.get(_storage(target), {}).values())

    def current(self, argument: Any) -> Any:
        """The argument of a call, with what stands for its tensors by now."""
        return self._replaced(argument)

    def _current(self, tensor: Any) -> Any:
        return self._rewritten.get(id(tensor), tensor)

    def _replaced(self, argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            return argument.detach() if id(argument) in self._frozen else self._current(argument)
        if type(argument) in (tuple, list):
            return type(argument)(self._replaced(part) for part in argument)
        if type(argument) is dict:
            return {key: self._replaced(part) for key, part in argument.items()}
        return argument


def refusal(text: str) -> CaptureError:
    """The error of a construct in forward, with the user's line at which the interpreter stands."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file, ("/simulator/frontends/", "<")):
            return CaptureError(f"{file}:{frame.f_lineno}: {text}")
        frame = frame.f_back
    return CaptureError(text)


def name_of(func: Any) -> str:
    """The name of a function of torch; "get data" and "set data" of a property."""
    name = str(getattr(func, "__name__", ""))
    if name in ("__get__", "__set__"):
        return f"{name.strip('_')} {_PROPERTIES.get(getattr(func, '__self__', None), '')}"
    return name


def _check_transforms() -> None:
    """Raises CaptureError inside torch.func.grad, vjp and their like, whose backward pass torch.export cannot trace."""
    inner = torch._C._functorch.peek_interpreter_stack()
    if inner is not None and inner.key() == torch._C._functorch.TransformType.Grad:
        raise refusal(
            "torch.func.grad, vjp, jacrev and hessian cannot be traced in forward for the IPU; torch.func.jvp, jacfwd "
            "and vmap can."
        )


def _gives_plain_gradients(func: Any, named: Mapping[str, Any]) -> bool:
    """Whether this is torch.autograd.grad whose results have no gradients of their own."""
    return func is torch.autograd.grad and not named.get("create_graph", False)


def written_tensor(name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The tensor that a call writes to, if any."""
    if isinstance(named.get("out"), torch.Tensor):
        return named["out"]
    in_place = name.endswith("_") and not name.endswith("__")
    if in_place or named.get("inplace") or name == "__setitem__" or name.startswith("__i"):
        return args[0] if args and isinstance(args[0], torch.Tensor) else None
    return None


def _storage(tensor: Any) -> int:
    """The number of the memory that a tensor shares with its views; its own where torch does not tell."""
    try:
        with torch._C.DisableTorchFunction():
            return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return id(tensor)


@contextmanager
def watched(module: Any, mode: GradModes) -> Iterator[None]:
    """The mode is on while the module's forward runs."""

    def enter(*_: Any) -> None:
        mode.__enter__()

    def leave(*_: Any) -> None:
        mode.__exit__(None, None, None)

    handles = [
        module.register_forward_pre_hook(enter, prepend=True),
        module.register_forward_hook(leave, always_call=True),
    ]
    before = torch.autograd.graph.saved_tensors_hooks.__enter__
    torch.autograd.graph.saved_tensors_hooks.__enter__ = _refuse_other_hooks(before)
    try:
        yield
    finally:
        torch.autograd.graph.saved_tensors_hooks.__enter__ = before
        for handle in handles:
            handle.remove()


def _refuse_other_hooks(enter: Any) -> Any:
    def entered(hooks: Any) -> Any:
        if not str(hooks.pack_hook.__module__).startswith("torch."):
            raise refusal(
                "torch.autograd.graph.saved_tensors_hooks cannot run on the IPU: its backward pass keeps what it needs "
                "itself; leave the hooks out."
            )
        return enter(hooks)

    return entered
