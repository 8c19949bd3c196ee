"""`loops`: loops of a function that runs on the IPU, carrying a list of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simulator.base.errors import poplar_error


def repeat(n: int, body: Callable[..., Any], inputs: Any = None, infeed_queue: None = None) -> Any:
    """Values after `n` calls of `body`, each on the values of the call before it, first on `inputs`: a list, a tensor
    where there is one, None where there are none.

    Raises TypeError where the body returns another number of values or other element types than it takes, poplar_error
    for a queue."""
    return while_loop(lambda *values: True, body, inputs, infeed_queue, n)


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: None = None,
    maximum_iterations: int | None = None,
) -> Any:
    """Values after calls of `body` while `condition` of them holds, as from `repeat`."""
    if infeed_queue is not None:
        raise poplar_error("Loops here take no infeed_queue; give the loop its data as inputs.")
    first = [tf.convert_to_tensor(one) for one in _as_list([] if inputs is None else inputs)]

    def call(_: Any, *values: Any) -> list[Any]:
        given = body(*values)
        results = [] if given is None else [tf.convert_to_tensor(one) for one in _as_list(given)]
        types = [[one.dtype.name for one in side] for side in (first, results)]
        if types[0] != types[1]:
            raise TypeError(f"Mismatch between input types and output types for loop body: {types[0]} vs {types[1]}.")
        return [_, *results]

    count = tf.constant(0)  # TensorFlow's loop carries at least one tensor
    _, *last = tf.while_loop(
        lambda _, *values: condition(*values), call, [count, *first], maximum_iterations=maximum_iterations
    )
    if not last:
        return None
    return last[0] if len(last) == 1 else last


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]
