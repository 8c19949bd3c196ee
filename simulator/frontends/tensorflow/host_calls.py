"""What calls of the host in a trace stand for on the device: a hash map from the token of a `PyFunc` to its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import gen_dataset_ops

from simulator.arrays import AnyArray


class Source(Protocol):
    """Where elements for the device come from."""

    def next_element(self) -> list[AnyArray]:
        """The arrays of the next element. Raises tf.errors.OutOfRangeError behind the last one."""

    def note_replicas(self, replicas: int) -> None:
        """So many replicas of a program take elements. Raises poplar_error where the source is for another number."""


class Sink(Protocol):
    """Where elements from the device go."""

    def put(self, element: Sequence[AnyArray]) -> None:
        """Take the arrays of one element, with a row for each replica where there are several."""

    def note_replicas(self, replicas: int) -> None:
        """So many replicas of a program give elements. Raises poplar_error where the sink is for another number."""


@dataclass(frozen=True)
class Dequeue:
    """The next element of a queue; `depth` of them may be prefetched."""

    source: Source
    depth: int
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Enqueue:
    """An element for a queue."""

    sink: Sink


@dataclass(frozen=True)
class CrossReplicaSum:
    """The sum or mean of a tensor over all replicas, or over each group of so many successive ones."""

    group_size: int | None
    is_mean: bool


#: by the token of the call
HOST_CALLS: dict[str, Any] = {}


def calling(
    meaning: Any, on_the_host: Callable[..., Any], inputs: Sequence[Any], dtypes: Sequence[Any], name: str
) -> Any:
    """A call of `on_the_host` that has this meaning on the device: a list of its results, an operation where it has
    none."""
    made = tf.numpy_function(on_the_host, list(inputs), list(dtypes), name=name)
    results = list(made) if isinstance(made, list | tuple) else [made]
    first = results[0] if results else None
    op = first if isinstance(first, tf.Operation) else getattr(first, "op", None)
    if op is not None:
        HOST_CALLS[op.get_attr("token").decode()] = meaning
    return op if not dtypes else results


@dataclass(frozen=True, eq=False)
class IteratorElements:
    """Elements of one of TensorFlow's iterators."""

    handle: Any
    types: Sequence[Any]
    shapes: Sequence[Any]

    def next_element(self) -> list[AnyArray]:
        with context.eager_mode():
            element = gen_dataset_ops.iterator_get_next(self.handle, self.types, self.shapes)
            return [np.asarray(one) for one in element]

    def note_replicas(self, replicas: int) -> None:
        """Any number of them take elements."""
