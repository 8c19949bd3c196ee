"""Indices that a program reads, as the host sees them in its arrays: compared with the size that they index.

Nothing of it is on the device: no code, no exchange, no cycles. Programs that run compute set by compute set
(`debug.verify`, `debug.trace`) are not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from simulator.graph.program import LibraryGroup
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.runtime.values.kernels import register

#: is told of an operand with an index out of range: the operand's name, the first such index and the size
Listener = Callable[[str, int, int], None]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a function of every operand with an index out of range that programs of this process read."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def watch_indices(
    index: Tensor, prog: ProgramSequence, name: str, size: int, low: int = 0, ignored: int | None = None
) -> None:
    """Let `prog` compare integers with `low` to `size`; `ignored` is in range besides."""
    bounds = {"name": name, "size": size, "low": low, "ignored": ignored}
    prog.add(LibraryGroup([], "popops.watchIndices", [index], [], bounds))


@register("popops.watchIndices")
def _watch_kernel(outputs: list[Any], inputs: list[Any], attributes: dict[str, Any]) -> None:
    values, ignored = np.asarray(inputs[0]), attributes["ignored"]
    if not _listeners or not values.size:
        return
    low, size = attributes["low"], attributes["size"]
    if values.min() >= low and values.max() < size:
        return
    beyond = (values < low) | (values >= size)
    if ignored is not None:
        beyond &= values != ignored
    wrong = values[beyond]
    if wrong.size:
        for listener in list(_listeners):
            listener(attributes["name"], int(wrong.flat[0]), size)
