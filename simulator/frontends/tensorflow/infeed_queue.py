"""`ipu_infeed_queue`: elements of a data set that a program on the device takes while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops, options
from tensorflow.python.data.util import structure
from tensorflow.python.eager import context
from tensorflow.python.ops import gen_experimental_dataset_ops

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.frontends.tensorflow.host_calls import Dequeue, calling


class IPUInfeedQueue:
    """A queue of the elements of a data set, for `loops.repeat` and `loops.while_loop`. `initializer` starts it; in
    graph mode it and `deleter` are operations that a session runs."""

    def __init__(
        self,
        dataset: Any,
        feed_name: str | int | None = None,
        device_ordinal: int | None = None,
        replication_factor: int = 1,
        data_to_prefetch: int = 1,
        prefetch_depth: int | None = None,
    ) -> None:
        """`prefetch_depth`: elements that Poplar may prefetch (`bufferingDepth` of the streams), 1 to 255. The names of
        the feed, the replication, which programs then must have, and
        `data_to_prefetch` are those of the SDKs before 2.3.

        Raises ValueError for elements without fixed shapes and for a depth or device out of range, poplar_error for
        another device."""
        if isinstance(feed_name, int):
            feed_name, device_ordinal = None, feed_name
        depth = data_to_prefetch if prefetch_depth is None else prefetch_depth
        _check(device_ordinal or 0, depth)
        self._dataset, self._depth, self._replicas = dataset, depth, replication_factor
        self._structure = dataset.element_spec
        self._types = structure.get_flat_tensor_types(self._structure)
        shapes = structure.get_flat_tensor_shapes(self._structure)
        for shape in shapes:
            if not shape.is_fully_defined():
                raise ValueError(
                    f"Output shape {shape} is not fully defined. If using tf.Dataset.batch, set `drop_remainder=True`."
                )
        self._shapes = tuple(tuple(one.as_list()) for one in shapes)
        self._iterator: Any = None
        self._dequeued = self._initialized = False
        if not tf.executing_eagerly():
            state = options.ExternalStatePolicy.IGNORE
            serialized = dataset._as_serialized_graph(external_state_policy=state)
            self._start = tf.numpy_function(self._begin, [serialized], [], name="infeed_initializer")
            self._stop = tf.numpy_function(self._end, [], [], name="infeed_deleter")

    @property
    def dequeued(self) -> bool:
        """Whether a program takes elements."""
        return self._dequeued

    @property
    def number_of_tuple_elements(self) -> int:
        """Arguments that an element gives to the body of a loop."""
        positional, named = body_arguments(self._structure)
        return len(positional) + len(named)

    @property
    def initializer(self) -> Any:
        """Start at the first element: now in eager mode, by an operation in graph mode.

        Raises ValueError for the second operation."""
        if tf.executing_eagerly():
            self._iterator = iter(self._dataset)
            return None
        if self._initialized:
            raise ValueError("The IPUInfeedQueue `initializer` function can only be accessed once.")
        self._initialized = True
        return self._start

    @property
    def deleter(self) -> Any:
        """Drop the data: now in eager mode, by an operation in graph mode."""
        if tf.executing_eagerly():
            self._end()
            return None
        return self._stop

    def get_next(self) -> Any:
        """Raises ValueError: loops take the elements."""
        raise ValueError(
            "`get_next()` is now obsolete as the IPUInfeedQueue is now automatically dequeued by the loop."
        )

    def _dequeue(self) -> Any:
        """The next element, in a trace for the device."""
        self._dequeued = True
        meaning = Dequeue(self, self._depth, self._shapes, tuple(one.name for one in self._types))
        results = calling(meaning, self.next_element, [], self._types, "infeed_dequeue")
        for result, shape in zip(results, self._shapes, strict=True):
            result.set_shape(shape)
        return structure.from_tensor_list(self._structure, results)

    def next_element(self) -> list[AnyArray]:
        """The arrays of the next element. Raises tf.errors.OutOfRangeError behind the last one, and
        tf.errors.FailedPreconditionError before the queue was initialised."""
        if self._iterator is None:
            raise tf.errors.FailedPreconditionError(
                None, None, "The IPUInfeedQueue is not initialised; run its `initializer` before the program."
            )
        with context.eager_mode():
            try:
                element = next(self._iterator)
            except StopIteration:
                raise tf.errors.OutOfRangeError(None, None, "End of sequence: the IPUInfeedQueue is empty.") from None
            return [np.asarray(one) for one in structure.to_tensor_list(self._structure, element)]

    def note_replicas(self, replicas: int) -> None:
        """So many replicas of a program take elements, in turns. Raises poplar_error where the queue was made for
        another number."""
        check_replicas("IPUInfeedQueue", self._replicas, replicas)

    def _begin(self, serialized: Any) -> None:
        with context.eager_mode():
            variant = gen_experimental_dataset_ops.dataset_from_graph(tf.constant(serialized))
            self._iterator = iter(dataset_ops._VariantDataset(variant, self._structure))

    def _end(self) -> None:
        self._iterator = None


def body_arguments(element: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a loop's body for an element: those of a tuple one by one, those of a dictionary by name."""
    if isinstance(element, dict):
        return [], element
    if not isinstance(element, tuple):
        return [element], {}
    if element and isinstance(element[-1], dict):
        return list(element[:-1]), element[-1]
    return list(element), {}


def check_replicas(queue: str, asked: int, replicas: int) -> None:
    """Raises poplar_error where a queue was made for another number of replicas; one that names none has 1."""
    if asked not in (1, replicas):
        raise poplar_error(
            f"The {queue} has replication_factor={asked}, but the program has {replicas} replica"
            f"{'s' if replicas > 1 else ''} on the IPUs of this device; leave the argument out."
        )


def _check(ordinal: int, depth: int) -> None:
    if not isinstance(ordinal, int) or ordinal < 0:
        raise ValueError("Device ordinal must be an integer >= 0")
    if depth <= 0:
        raise ValueError(f"prefetch_depth must be greater than zero, but it is {depth}")
    if depth > 255:
        raise ValueError(f"prefetch_depth must be less than 256, but it is {depth}")
    if ordinal:
        raise poplar_error(f"Queues here serve /device:IPU:0, not /device:IPU:{ordinal}; leave device_ordinal out.")
