"""The host's ends of transfers in the middle of a program: callbacks for streams of queues, code for host functions.

A tensor of an element has a stream of its own in each replica, and these streams may run in any order: each has a FIFO
of what elements brought or still lack. Replicas take elements in turns; what they give is one element, a row for each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.frontends.captured import Operator
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.tensorflow.host_transfers import stream_handle, transfers
from simulator.poplar import Engine


def connect_host_ends(
    engine: Engine, operators: Sequence[Operator], ends: Mapping[str, Any], replicas: int = 1
) -> None:
    """Connect the transfers of these operators to their ends: elements that were not taken whole are dropped."""
    connected: set[str] = set()
    for operator in transfers(operators):
        handle = operator.arguments["handle"]
        if handle in connected:
            continue
        connected.add(handle)
        if operator.name == "tf.HostCall":
            engine.connectHostFunction(handle, 0, _HostCode(ends[handle], operator))
            continue
        values = operator.results or operator.arguments["inputs"]
        streamed = [number for number, one in enumerate(values) if one.elements]
        element = (_Taken if operator.name == "tf.Infeed" else _Given)(ends[handle], values, streamed, replicas)
        for number in streamed:
            for replica in range(replicas):
                engine.connectStreamToCallback(
                    stream_handle(handle, number), replica, element.callback(replica, number)
                )


class _Taken:
    """Elements of a source, taken in turns by the replicas when the first of their tensors is needed."""

    def __init__(self, source: Any, values: Sequence[Any], streamed: Sequence[int], replicas: int) -> None:
        self._source, self._turn = source, 0
        self._waiting: list[dict[int, deque[AnyArray]]] = [
            {number: deque() for number in streamed} for _ in range(replicas)
        ]

    def callback(self, replica: int, number: int) -> Callable[[AnyArray], None]:
        def fill(memory: AnyArray) -> None:
            mine = self._waiting[replica][number]
            while not mine:
                self._take()
            np.copyto(memory, mine.popleft().reshape(memory.shape), casting="unsafe")

        return fill

    def _take(self) -> None:
        """Give the next element to the replica whose turn it is."""
        element = self._source.next_element()
        for number, waiting in self._waiting[self._turn].items():
            waiting.append(element[number])
        self._turn = (self._turn + 1) % len(self._waiting)


class _Given:
    """Elements for a sink, given when all of their tensors are there, from all replicas."""

    def __init__(self, sink: Any, values: Sequence[Any], streamed: Sequence[int], replicas: int) -> None:
        self._sink, self._values = sink, values
        self._waiting: list[dict[int, deque[AnyArray]]] = [
            {number: deque() for number in streamed} for _ in range(replicas)
        ]

    def callback(self, replica: int, number: int) -> Callable[[AnyArray], None]:
        def take(memory: AnyArray) -> None:
            self._waiting[replica][number].append(np.array(memory).reshape(self._values[number].shape))
            if all(waiting for of_replica in self._waiting for waiting in of_replica.values()):
                self._sink.put([self._array(index, one) for index, one in enumerate(self._values)])

        return take

    def _array(self, index: int, value: Any) -> AnyArray:
        rows = [
            of_replica[index].popleft()
            if index in of_replica
            else np.zeros(value.shape, element_type(value.dtype).dtype)
            for of_replica in self._waiting
        ]
        return rows[0] if len(rows) == 1 else np.stack(rows)


class _HostCode:
    """The code of a host function: flat memory of the device on one side, arrays on the other."""

    def __init__(self, function: Callable[[Sequence[AnyArray]], list[AnyArray]], operator: Operator) -> None:
        self._function = function
        self._shapes = [one.shape for one in operator.arguments["inputs"]]

    def __call__(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> None:
        given = [one.reshape(shape) for one, shape in zip(inputs, self._shapes, strict=True)]
        for memory, result in zip(outputs, self._function(given), strict=True):
            np.copyto(memory, result.reshape(-1), casting="unsafe")
