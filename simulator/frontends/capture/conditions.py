"""torch.cond on the device: both bodies run, and torch.where chooses between their results.

torch.export makes a subgraph of each body, which a compiled program has no branch for. Bodies of torch.cond write to
nothing, so that running both is the same but for time. Eager torch, beside which a step is checked, runs one of them:
torch's own cond compiles the bodies first, which modes that watch calls do not survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from simulator.frontends.capture.operators import CaptureError

Body = Callable[..., Any]


def chosen(condition: Any, sides: Sequence[Any]) -> Any:
    """The first of two like trees of tensors where the condition, one element, is true, else the second."""
    flag = condition.reshape([]).bool()
    return pytree.tree_map(lambda one, other: torch.where(flag, one, other), *sides)


def _by_choice(pred: Any, true_fn: Body, false_fn: Body, operands: Sequence[Any] = ()) -> Any:
    if isinstance(pred, bool):
        return (true_fn if pred else false_fn)(*operands)
    sides = true_fn(*operands), false_fn(*operands)
    forms = [[(tuple(one.shape), one.dtype) for one in pytree.tree_leaves(side)] for side in sides]
    if forms[0] != forms[1]:
        raise CaptureError(
            f"torch.cond's bodies must return tensors of the same shapes and types: true_fn returns {forms[0]}, "
            f"false_fn {forms[1]}."
        )
    return chosen(pred, sides)


def _by_branch(pred: Any, true_fn: Body, false_fn: Body, operands: Sequence[Any] = ()) -> Any:
    return (true_fn if bool(pred) else false_fn)(*operands)


@contextmanager
def conditions_in_graphs() -> Iterator[None]:
    """Let torch.cond choose between the results of both bodies, while a module is captured."""
    with _replaced(_by_choice):
        yield


@contextmanager
def conditions_in_eager() -> Iterator[None]:
    """Let torch.cond run one body, without a compilation."""
    with _replaced(_by_branch):
        yield


@contextmanager
def _replaced(function: Body) -> Iterator[None]:
    before = torch.cond
    torch.cond = function
    try:
        yield
    finally:
        torch.cond = before
