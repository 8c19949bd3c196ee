"""Gradients that a module brings along: torch.autograd.Function, and hooks of tensors, weights and modules.

While forward is traced, a function's backward and each hook run too, on stand-ins of the gradients, "popvision::slope".
Their operators lie between the stand-ins and a mark, which names what they compute; `backward_bodies` finds them.
Python of a hook runs once, when the model is compiled.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction

from simulator.frontends.capture.grad_modes import GradModes, refusal
from simulator.frontends.capture.operators import CaptureError
from simulator.frontends.lowering.differentiation import IS_GRADIENT

_library = torch.library.custom_op


@_library("popvision::slope", mutates_args=(), schema="(Tensor x) -> Tensor")
def _slope(x: Any) -> Any:
    return torch.zeros_like(x)


@_library(
    "popvision::differentiated",
    mutates_args=(),
    schema="(Tensor[] inputs, Tensor[] outs, Tensor[] slopes, Tensor[] gradients) -> Tensor[]",
)
def _differentiated(inputs: Any, outs: Any, slopes: Any, gradients: Any) -> Any:
    return [out.clone() for out in outs]


@_library(
    "popvision::hooked", mutates_args=(), schema="(Tensor[] values, Tensor[] slopes, Tensor[] gradients) -> Tensor"
)
def _hooked(values: Any, slopes: Any, gradients: Any) -> Any:
    return slopes[0].new_zeros(())


@_library("popvision::passed", mutates_args=(), schema="(Tensor[] values) -> Tensor[]")
def _passed(values: Any) -> Any:
    return [value.clone() for value in values]


_slope.register_fake(lambda x: torch.empty_like(x))
_differentiated.register_fake(lambda inputs, outs, slopes, gradients: [torch.empty_like(out) for out in outs])
_hooked.register_fake(lambda values, slopes, gradients: slopes[0].new_empty(()))
_passed.register_fake(lambda values: [torch.empty_like(value) for value in values])


def _refuse_second(ctx: Any, slopes: Any) -> Any:
    raise CaptureError(
        "torch.autograd.grad in forward cannot be traced through a torch.autograd.Function or a module with hooks."
    )


_differentiated.register_autograd(_refuse_second)
_passed.register_autograd(lambda ctx, slopes: (slopes,))
torch.fx.node.has_side_effect(torch.ops.popvision.hooked.default)

SLOPE, DIFFERENTIATED, HOOKED = (
    getattr(torch.ops.popvision, name).default for name in ("slope", "differentiated", "hooked")
)


class _Context(torch.autograd.function.FunctionCtx):
    """The `ctx` of a function that is traced."""

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs)
        self.to_save: Any = ()
        self.non_differentiable: Any = ()
        self.dirty_tensors: Any = None

    @property
    def saved_tensors(self) -> Any:
        return self.to_save


@contextmanager
def _gradients() -> Iterator[None]:
    """Operators of a backward pass: without gradients, and named after what they are."""
    with torch.no_grad(), torch.fx.traceback.annotate({IS_GRADIENT: True}):
        yield


class OwnGradients:
    """Traces functions and hooks of one forward, whose calls `modes` watches."""

    def __init__(self, modes: GradModes) -> None:
        self._modes = modes
        self._kept: list[tuple[weakref.ref[Any], str]] = []  #: stand-ins, and the hook that got each

    # torch.autograd.Function

    def apply(self, function: Any, *args: Any, **named: Any) -> Any:
        """What Function.apply does: forward without gradients, and the backward pass that belongs to it."""
        if function.__module__ == "torch._library.autograd":  # part of an operator
            return torch._C._FunctionBase.__dict__["apply"].__get__(None, function)(*args, **named)
        if function is torch.utils.checkpoint.CheckpointFunction:
            return args[0](*args[2:])
        args = self._modes.current(args)
        asked = [torch.is_grad_enabled() and isinstance(one, torch.Tensor) and one.requires_grad for one in args]
        ctx = _Context(asked)
        with torch.no_grad():
            if function.setup_context is _SingleLevelFunction.setup_context:
                made = function.forward(ctx, *args, **named)
            else:
                made = function.forward(*args, **named)
                function.setup_context(ctx, args, made)
        if ctx.dirty_tensors:
            raise refusal(
                f"{function.__name__}: a torch.autograd.Function with mark_dirty cannot run on the IPU; let forward "
                "return a new tensor."
            )
        return self._differentiated(function, ctx, args, asked, made) if any(asked) else made

    def _differentiated(self, function: Any, ctx: Any, args: Any, asked: Sequence[bool], made: Any) -> Any:
        outs = made if isinstance(made, tuple) else (made,)
        plain = {id(one) for one in ctx.non_differentiable}
        live = [
            number
            for number, one in enumerate(outs)
            if isinstance(one, torch.Tensor) and one.is_floating_point() and id(one) not in plain
        ]
        if not live:
            return made
        with _gradients():
            slopes = {number: torch.ops.popvision.slope(outs[number]) for number in live}
            given = [
                slopes.get(number, torch.zeros_like(one) if isinstance(one, torch.Tensor) else None)
                for number, one in enumerate(outs)
            ]
            back = function.vjp if function.backward is _SingleLevelFunction.backward else function.backward
            gradients = back(ctx, *given)
            pairs = _pairs(function, args, asked, gradients if isinstance(gradients, tuple) else (gradients,))
        if not pairs:
            return made
        results = torch.ops.popvision.differentiated(
            [one for one, _ in pairs], [outs[number] for number in live], list(slopes.values()), [g for _, g in pairs]
        )
        filled = list(outs)
        for number, result in zip(live, results, strict=True):
            filled[number] = result
        return tuple(filled) if isinstance(made, tuple) else filled[0]

    # Hooks

    def hook_tensor(self, tensor: Any, hook: Callable[[Any], Any]) -> Any:
        """What Tensor.register_hook does. Raises CaptureError where the hook is taken off in forward."""
        tensor = self._modes.current(tensor)
        if not tensor.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if tensor.is_leaf:
            raise refusal(
                "A hook of a weight that forward registers would be one more with each step; register it once, before "
                "the model is wrapped."
            )
        self._trace_hook(tensor, hook)
        return _Handle()

    def _trace_hook(self, tensor: Any, hook: Callable[[Any], Any]) -> None:
        with _gradients():
            slope = torch.ops.popvision.slope(tensor)
            self._note_kept(slope, hook)
            changed = hook(slope)
            torch.ops.popvision.hooked([tensor], [slope], [slope if changed is None else changed])

    def hook_weights(self, module: Any, hooks: dict[str, list[Any]]) -> None:
        """Trace the hooks of weights, by their names, on the tensors that stand for them."""
        weights = dict(module.named_parameters(remove_duplicate=False))
        for name, functions in hooks.items():
            for function in functions:
                self._trace_hook(weights[name], function)

    def _note_kept(self, slope: Any, hook: Any) -> None:
        self._kept.append((weakref.ref(slope), _described(hook)))

    def check_kept(self) -> None:
        """Raises CaptureError for a hook that kept its gradient: on the host there is none to keep."""
        for reference, hook in self._kept:
            if reference() is not None:
                raise CaptureError(
                    f"The hook {hook} keeps the gradient, which stays on the device; poptorch.Options().anchorTensor("
                    "name, 'Gradient___<weight>') sends that of a weight to the host."
                )

    def module_hooks(self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> _ModuleHooks:
        return _ModuleHooks(self, module, hooks, pre_hooks)


class _Handle:
    """Of a hook that is part of the program."""

    def remove(self) -> None:
        raise refusal("A hook that forward registers cannot be removed in forward on the IPU; do not register it.")


class _ModuleHooks:
    """Full backward hooks of one call of a module, in place of torch.utils.hooks.BackwardHook."""

    def __init__(self, gradients: OwnGradients, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self._gradients, self._module, self._hooks, self._pre_hooks = gradients, module, hooks, pre_hooks
        self._inputs: list[Any] = []
        self._form: tuple[Any, ...] = ()

    def setup_input_hook(self, args: Any) -> Any:
        self._inputs, self._form, passed = self._pass(args)
        return passed

    def setup_output_hook(self, result: Any) -> Any:
        several = isinstance(result, tuple)
        outs, form, passed = self._pass(result if several else (result,))
        if outs:
            with _gradients():
                self._run(outs, form)
        return passed if several else passed[0]

    def _pass(self, args: Any) -> tuple[list[Any], tuple[Any, ...], Any]:
        """Tensors with gradients on the border of the module, where they stand among the arguments, and the
        arguments."""
        places = [number for number, one in enumerate(args) if isinstance(one, torch.Tensor) and one.requires_grad]
        if not places or not torch.is_grad_enabled():
            return [], tuple(None for _ in args), args
        passed = torch.ops.popvision.passed([self._gradients._modes.current(args[number]) for number in places])
        filled = list(args)
        form: list[int | None] = [None] * len(args)
        for position, (number, one) in enumerate(zip(places, passed, strict=True)):
            filled[number], form[number] = one, position
        return list(passed), tuple(form), type(args)(filled) if type(args) in (tuple, list) else type(args)(*filled)

    def _run(self, outs: list[Any], form: tuple[Any, ...]) -> None:
        slopes = self._slopes(outs)
        given = _filled(form, slopes)
        for hook in self._pre_hooks:
            given = _changed(hook(self._module, given), given)
        torch.ops.popvision.hooked(outs, slopes, [given[n] for n, at in enumerate(form) if at is not None])
        inner = self._slopes(self._inputs)
        before = _filled(self._form, inner)
        for hook in self._hooks:
            before = _changed(hook(self._module, before, given), before)
        if inner:
            torch.ops.popvision.hooked(
                self._inputs, inner, [before[n] for n, at in enumerate(self._form) if at is not None]
            )

    def _slopes(self, tensors: list[Any]) -> list[Any]:
        slopes = [torch.ops.popvision.slope(one) for one in tensors]
        for slope in slopes:
            for hook in (*self._hooks, *self._pre_hooks):
                self._gradients._note_kept(slope, hook)
        return slopes


def _filled(form: tuple[Any, ...], tensors: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if at is None else tensors[at] for at in form)


def _changed(returned: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients after a hook, which may return None for "as they are"."""
    if returned is None:
        return before
    after = returned if isinstance(returned, tuple) else (returned,)
    if len(after) != len(before):
        raise refusal(f"A backward hook returned {len(after)} gradients for {len(before)}; return one for each.")
    return after


def _pairs(function: Any, args: Any, asked: Sequence[bool], gradients: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Inputs and their gradients, in the inputs' shape and type."""
    if len(gradients) < len(args) or any(one is not None for one in gradients[len(args) :]):
        raise refusal(
            f"{function.__name__}.backward returned {len(gradients)} gradients for {len(args)} inputs; return one for "
            "each, None for what is no tensor."
        )
    pairs = []
    for one, gradient, is_asked in zip(args, gradients, asked, strict=False):
        if is_asked and gradient is not None:
            fitted = gradient if gradient.shape == one.shape else gradient.sum_to_size(one.shape)
            pairs.append((one, fitted.to(one.dtype)))
    return pairs


def _described(hook: Any) -> str:
    code = getattr(inspect.unwrap(hook), "__code__", None)
    name = getattr(hook, "__name__", type(hook).__name__)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def weight_hooks(module: Any) -> dict[str, list[Any]]:
    """Hooks of a module's weights by the weight's first name. Raises CaptureError for those that run no operators of
    the backward pass."""
    found = {}
    for name, weight in module.named_parameters():
        with torch._C.DisableTorchFunctionSubclass():
            if getattr(weight, "_post_accumulate_grad_hooks", None):
                raise CaptureError(
                    f"{name} has a hook of register_post_accumulate_grad_hook; the optimizer runs on the device: use "
                    "Tensor.register_hook."
                )
            if weight.requires_grad and weight._backward_hooks:
                found[name] = list(weight._backward_hooks.values())
    return found


@contextmanager
def traced(module: Any, own: OwnGradients) -> Iterator[None]:
    """Functions and hooks are traced while this is open."""
    for name, part in module.named_modules():
        if part._backward_hooks and not part._is_full_backward_hook:
            raise CaptureError(
                f"The module '{name}' has a hook of register_backward_hook, which torch has deprecated; use "
                "register_full_backward_hook."
            )
    hooks = weight_hooks(module)
    apply, border = getattr(_SingleLevelFunction, "__dict__", {}).get("apply"), torch.nn.modules.module.BackwardHook
    assert apply is None

    def begin(*_: Any) -> None:
        own.hook_weights(module, hooks)

    _SingleLevelFunction.apply = classmethod(own.apply)
    torch.nn.modules.module.BackwardHook = own.module_hooks
    handle = module.register_forward_pre_hook(begin)
    try:
        yield
    finally:
        handle.remove()
        del _SingleLevelFunction.apply
        torch.nn.modules.module.BackwardHook = border
