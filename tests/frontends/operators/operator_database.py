"""torch's own database of operators and samples (`op_db`), each sample on the simulated IPU beside torch in float64."""

from __future__ import annotations

import functools
import sys
import types
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from simulator.poplar import poplar_error
from tests.frontends.operators.operator_twin import as_array, in_torch, on_ipu

RTOL = 1e-4
#: float32 torch may be this many times nearer to float64 than the device
WORSE_THAN_TORCH = 16


_SEED = torch.manual_seed


class Outcome(Enum):
    AGREES = "agrees"
    DIFFERS = "differs"
    REFUSED = "refused"
    BREAKS = "breaks"  #: any other exception
    NOT_COMPARED = "not compared"  #: torch itself raises, or draws random numbers


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    text: str = ""


@functools.cache
def database() -> tuple[Any, ...]:
    """Every entry of op_db. Its module wants expecttest for the base class of torch's own tests only."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return tuple(op_db)


def full_name(entry: Any) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else str(entry.name)


def samples(entry: Any, most: int | None = None) -> Iterator[Any]:
    """Samples of an entry in float32, or in the first type that it takes; `most` of them, spread over all."""
    if not entry.dtypes:  # made for another device
        return
    dtype = torch.float32 if torch.float32 in entry.dtypes else sorted(entry.dtypes, key=str)[0]
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            every = list(entry.sample_inputs("cpu", dtype, requires_grad=False))
    except (RuntimeError, NotImplementedError, AttributeError):  # made for another device
        return
    count = len(every) if most is None else min(most, len(every))
    for number in range(count):
        yield every[number * len(every) // count]


def judge(entry: Any, sample: Any, plain_sum: bool = False) -> Verdict:
    """What becomes of one sample: results and gradients of all operands are compared; the gradients are of a sum of
    the results, times random numbers unless it is a plain sum."""
    leaves, structure = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))

    def function(*given: Any) -> list[Any]:
        positional, named = pytree.tree_unflatten(given, structure)
        made = entry.op(*positional, **named)
        return [one for one in pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            factors = _factors(entry, function, leaves, plain_sum)
            expected, near = in_torch(function, leaves, factors), _in_float32(function, leaves, factors)
            repeats = _is_repeatable(function, leaves)
        except Exception as error:
            return Verdict(Outcome.NOT_COMPARED, f"torch: {_first_line(error)}")
        if not repeats:
            return Verdict(Outcome.NOT_COMPARED, "random")
        try:
            got = on_ipu(function, leaves, factors)
        except poplar_error as error:
            return Verdict(Outcome.REFUSED, str(error))
        except Exception as error:
            return Verdict(Outcome.BREAKS, f"{type(error).__name__}: {_first_line(error)}")
    return _compared(got, expected, near, leaves)


def _factors(entry: Any, function: Callable[..., Any], leaves: Sequence[Any], plain_sum: bool) -> list[Any] | None:
    """Random numbers, one for each element of the floating results, where the sample has a gradient; else None. For a
    plain sum they are single, so that the slope of each result is one number, broadcast."""
    floating = [one for one in leaves if isinstance(one, torch.Tensor) and one.is_floating_point()]
    if not (entry.supports_autograd and floating):
        return None
    wanting = [one.detach().clone().requires_grad_() if any(one is x for x in floating) else one for one in leaves]
    made = function(*wanting)
    results = [one for one in made if one.is_floating_point()]
    if any(one.is_complex() for one in made) or not any(one.requires_grad for one in results):
        return None
    generator = torch.Generator().manual_seed(7)
    if plain_sum:
        return [torch.ones((1,) * (one.dim() + 1)) for one in results]
    return [torch.randn(one.shape, generator=generator) for one in results]


def _in_float32(function: Callable[..., Any], leaves: Sequence[Any], factors: Any) -> Any:
    """The same as `in_torch` gives, in the samples' own type."""
    given = [
        one.detach().clone().requires_grad_(one.is_floating_point()) if isinstance(one, torch.Tensor) else one
        for one in leaves
    ]
    made = function(*given)
    if factors is None:
        return [as_array(one) for one in made], {}
    floating = [one for one in made if one.is_floating_point()]
    total = sum((one * factor).sum() for one, factor in zip(floating, factors, strict=True))
    total.backward()
    gradients = {
        f"operand{number}": np.zeros(one.shape) if one.grad is None else one.grad.numpy()
        for number, one in enumerate(given)
        if isinstance(one, torch.Tensor) and one.is_floating_point()
    }
    return [as_array(one) for one in made], gradients


def _is_repeatable(function: Callable[..., Any], leaves: Sequence[Any]) -> bool:
    """Whether two calls give the same. Entries of random operators seed them with one number, which is changed."""
    made = []
    for number in range(2):

        def seed(given: int, more: int = number) -> Any:
            return _SEED(given + more)

        with unittest.mock.patch("torch.manual_seed", seed):
            made.append(function(*(one.clone() if isinstance(one, torch.Tensor) else one for one in leaves)))
    return all(torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)) for one, other in zip(*made, strict=True))


def _compared(got: Any, expected: Any, near: Any, leaves: Sequence[Any]) -> Verdict:
    for number, (one, other, third) in enumerate(zip(got[0], expected[0], near[0], strict=True)):
        text = _difference(one, other, third, 0.0)
        if text:
            return Verdict(Outcome.DIFFERS, f"result {number}: {text}")
    for name, other in expected[1].items():
        operand = leaves[int(name.removeprefix("operand"))].detach().double().numpy()
        finite = np.isfinite(operand)  # gradients are read off a step of size 1
        scale = np.abs(operand[finite]).max(initial=0.0)
        text = _difference(got[1][name].reshape(other.shape)[finite], other[finite], near[1][name][finite], scale)
        if text:
            return Verdict(Outcome.DIFFERS, f"gradient of {name}: {text}")
    return Verdict(Outcome.AGREES)


def _difference(got: Any, expected: Any, near: Any, scale: float) -> str:
    """What is wrong, or nothing."""
    if got.shape != expected.shape:
        return f"shape {got.shape} for {expected.shape}"
    if expected.dtype.kind in "bi":
        wrong = np.flatnonzero((got != expected) & (near == expected))
    else:
        got, expected, near = (one.astype(np.float64) for one in (got, expected, near))
        finite = np.isfinite(expected) & np.isfinite(near)
        largest = np.abs(expected[finite]).max(initial=0.0) + scale
        error = np.abs(near[finite] - expected[finite]).max(initial=0.0)
        bound = RTOL * max(largest, 1e-6) + WORSE_THAN_TORCH * error
        same = np.abs(got - expected) <= bound + RTOL * np.abs(expected)
        same |= (got == expected) | (np.isnan(got) & np.isnan(expected)) | ~(finite | (near == expected))
        same |= np.isnan(near) & np.isnan(expected) & np.isnan(got)
        wrong = np.flatnonzero(~same)
    if not wrong.size:
        return ""
    first = wrong[0]
    return f"{wrong.size} of {expected.size} elements, {got.flat[first]} for {expected.flat[first]}"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
