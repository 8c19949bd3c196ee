"""`loops`: loops of a function that runs on the IPU, carrying a list of tensors and taking elements of a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from simulator.frontends.tensorflow.infeed_queue import IPUInfeedQueue, body_arguments


def repeat(
    n: int,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: IPUInfeedQueue | None = None,
    use_while_v1: bool = True,
) -> Any:
    """Values after `n` calls of `body`, each on the values of the call before it, first on `inputs`: a list, a tensor
    where there is one, None where there are none. With a queue each call takes an element of it as further arguments:
    those of a tuple one by one, those of a dictionary by name. Operations that the body returns run with it.
    `use_while_v1` changes nothing: there is one kind of loop.

    Raises TypeError where the body returns another number of values or other element types than it takes."""
    return while_loop(lambda *values: True, body, inputs, infeed_queue, n)


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: IPUInfeedQueue | None = None,
    maximum_iterations: int | None = None,
    use_while_v1: bool = True,
) -> Any:
    """Values after calls of `body` while `condition` of them holds, as from `repeat`."""
    first = [tf.convert_to_tensor(one) for one in _as_list([] if inputs is None else inputs)]

    def call(_: Any, *values: Any) -> list[Any]:
        positional, named = ([], {}) if infeed_queue is None else body_arguments(infeed_queue._dequeue())
        given = [one for one in _as_list(body(*values, *positional, **named)) if one is not None]
        operations = [one for one in given if isinstance(one, tf.Operation)]
        results = [tf.convert_to_tensor(one) for one in given if not isinstance(one, tf.Operation)]
        types = [[one.dtype.name for one in side] for side in (first, results)]
        if types[0] != types[1]:
            raise TypeError(f"Mismatch between input types and output types for loop body: {types[0]} vs {types[1]}.")
        with tf.control_dependencies(operations):
            return [tf.identity(one) for one in (_, *results)]

    count = tf.constant(0)  # TensorFlow's loop carries at least one tensor
    _, *last = tf.while_loop(
        lambda _, *values: condition(*values), call, [count, *first], maximum_iterations=maximum_iterations
    )
    if not last:
        return None
    return last[0] if len(last) == 1 else last


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]
