"""`ipu_outfeed_queue`: tensors that a program on the device gives to the host while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any
from weakref import WeakSet

import numpy as np
import tensorflow as tf

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error
from simulator.frontends.session.connection import ConnectionType
from simulator.frontends.tensorflow.host_calls import Enqueue, calling
from simulator.frontends.tensorflow.infeed_queue import check_replicas
from simulator.frontends.tensorflow.system import current


class IPUOutfeedMode(Enum):
    """Which elements a queue keeps until they are dequeued."""

    ALL = "all"
    LAST = "get_last"


class IPUOutfeedQueue:
    """A queue of elements: tensors, tuples or dictionaries of tensors. It has those enqueued since it was dequeued."""

    def __init__(
        self,
        feed_name: str | IPUOutfeedMode | None = None,
        outfeed_mode: IPUOutfeedMode | None = None,
        device_ordinal: int = 0,
        replication_factor: int = 1,
        io_batch_size: int = 1,
        buffer_depth: int = 1,
    ) -> None:
        """The mode may stand first, as in SDK 3.4; the name of the feed, the replication, which programs then must
        have, and `io_batch_size` are those of the SDKs before 2.3. `buffer_depth` changes nothing: the host takes each
        element at once.

        Raises ValueError for a mode or depth that is none, poplar_error for another device or several elements at a
        time."""
        if feed_name is not None and not isinstance(feed_name, str):
            outfeed_mode = feed_name
        mode = outfeed_mode or IPUOutfeedMode.ALL
        if not isinstance(mode, IPUOutfeedMode):
            raise ValueError(
                "Expected `outfeed_mode` value to be of `ipu_outfeed_queue.IPUOutfeedMode` type, but is "
                f"{type(outfeed_mode)}."
            )
        if not isinstance(device_ordinal, int) or device_ordinal < 0:
            raise ValueError("Device ordinal must be an integer >= 0")
        if buffer_depth <= 0:
            raise ValueError("Outfeed buffer depth cannot be less than 1")
        if device_ordinal or io_batch_size != 1:
            raise poplar_error(
                f"Queues here serve /device:IPU:0, an element at a time, not /device:IPU:{device_ordinal}, "
                f"{io_batch_size} at a time; leave device_ordinal and io_batch_size out."
            )
        self._mode, self._asked_replicas = mode, replication_factor
        self._replicas = 1  #: of the program that gives elements
        self._structure: Any = None
        self._types: list[Any] = []
        self._shapes: list[tuple[int, ...]] = []
        self._graphs: WeakSet[Any] = WeakSet()
        self._elements: list[Sequence[AnyArray]] = []

    @property
    def mode(self) -> IPUOutfeedMode:
        return self._mode

    @property
    def enqueued(self) -> bool:
        """Whether the graph at hand, or one that it traced, enqueues."""
        return tf.compat.v1.get_default_graph() in self._graphs

    def enqueue(self, tensors: Any) -> Any:
        """Send an element from the device; an operation. Raises ValueError where the graph enqueues already, and for
        tensors without fixed shapes."""
        if self.enqueued:
            raise ValueError("An outfeed can only be enqueued once.")
        flat = [tf.convert_to_tensor(one) for one in tf.nest.flatten(tensors)]
        for one in flat:
            if not one.shape.is_fully_defined():
                raise ValueError(f"The shape {one.shape} of '{one.name}' is not fixed; an outfeed needs fixed shapes.")
        self._types = [one.dtype for one in flat]
        self._shapes = [tuple(one.shape.as_list()) for one in flat]
        self._structure = tf.nest.map_structure(lambda _: 0, tensors)
        graph: Any = tf.compat.v1.get_default_graph()
        while graph is not None:
            self._graphs.add(graph)
            graph = getattr(graph, "outer_graph", None)
        return calling(Enqueue(self), lambda *arrays: self.put(arrays), flat, [], "outfeed_enqueue")

    def put(self, element: Sequence[AnyArray]) -> None:
        """Take the arrays of one element, with a row for each replica where there are several."""
        if self._mode is IPUOutfeedMode.LAST:
            self._elements.clear()
        self._elements.append(element)

    def note_replicas(self, replicas: int) -> None:
        """So many replicas of a program give elements. Raises poplar_error where the queue was made for another
        number."""
        check_replicas("IPUOutfeedQueue", self._asked_replicas, replicas)
        self._replicas = replicas

    def dequeue(self, wait_for_completion: bool = False) -> Any:
        """What was enqueued: [elements, ...] of each tensor for ALL, the last element for LAST; where a program has
        several replicas each element has a row for each. In graph mode these are tensors that a session computes. Runs
        are complete when they return, so `wait_for_completion` changes nothing.

        Raises ValueError before a program enqueues, tf.errors.FailedPreconditionError where there is no last
        element."""
        if self._structure is None:
            raise ValueError("Trying to dequeue an outfeed which has not been enqueued.")
        if tf.executing_eagerly():
            flat = [tf.constant(one) for one in self._taken()]
        else:
            made = tf.numpy_function(self._taken, [], self._types, name="outfeed_dequeue")
            flat = list(made) if isinstance(made, list | tuple) else [made]
            rows = [None] if self._mode is IPUOutfeedMode.ALL else []
            if current().connection.target.getNumIPUs() == 1:  # else the program, compiled later, may have replicas
                for tensor, shape in zip(flat, self._shapes, strict=True):
                    tensor.set_shape([*rows, *shape])
        return tf.nest.pack_sequence_as(self._structure, flat)

    def __iter__(self) -> Iterator[Any]:
        """The elements that were enqueued, one after another, in eager mode. They leave the queue."""
        taken = self._taken()
        rows = taken if self._mode is IPUOutfeedMode.ALL else [one[None] for one in taken]
        for parts in zip(*rows, strict=True):
            yield tf.nest.pack_sequence_as(self._structure, [tf.constant(one) for one in parts])

    @property
    def deleter(self) -> Any:
        """Drop the elements: now in eager mode, by an operation in graph mode."""
        if tf.executing_eagerly():
            self._elements.clear()
            return None
        return tf.numpy_function(self._elements.clear, [], [], name="outfeed_deleter")

    def _taken(self) -> list[AnyArray]:
        """One array for each tensor."""
        elements, self._elements[:] = list(self._elements), []
        types = [one.as_numpy_dtype for one in self._types]
        shapes = [(self._replicas, *one) if self._replicas > 1 else one for one in self._shapes]
        if current().connection.type is ConnectionType.PRE_COMPILE:
            elements = [[np.zeros(shape, dtype) for shape, dtype in zip(shapes, types, strict=True)]]
        if self._mode is IPUOutfeedMode.LAST:
            if not elements:
                raise tf.errors.FailedPreconditionError(
                    None, None, "The IPUOutfeedQueue is empty, so there is no last element to dequeue."
                )
            return [np.asarray(one).astype(dtype) for one, dtype in zip(elements[-1], types, strict=True)]
        return [
            np.array([element[number] for element in elements], dtype).reshape(len(elements), *shape)
            for number, (shape, dtype) in enumerate(zip(shapes, types, strict=True))
        ]
