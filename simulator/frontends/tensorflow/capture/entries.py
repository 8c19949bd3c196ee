"""What stands for a tensor of a TensorFlow graph while it is captured: a sum type.

A tensor is known on the host (`Known`), computed on the device (`Computed`), a handle of a variable (`Handle`) or of a
list of tensors (`ListHandle`), the key of random draws (`RandomKey`), or a resource of the host (`HostResource`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Value


class CaptureError(poplar_error):
    """A graph asks for what a program on the device cannot do: shapes that depend on data, tensors of text."""


@dataclass(frozen=True)
class Known:
    """A tensor whose elements are known before the program runs."""

    array: np.ndarray[Any, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


@dataclass(frozen=True)
class Computed:
    """A tensor on the device. `dtype` is TensorFlow's element type, before 64-bit types are narrowed."""

    value: Value
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


@dataclass
class Variable:
    """A variable of the user's, which stays on the device. `current` is its value at this point of the program."""

    name: str
    value: Value  #: when the program begins
    dtype: str
    handle: Any  #: TensorFlow's tensor of the handle
    current: Value
    is_written: bool = False


@dataclass(frozen=True)
class Handle:
    """A tensor that names a variable."""

    variable: Variable


@dataclass
class ListShape:
    """What is known of the elements of a list; all values of one list share it. Its shape may come to light only when
    the first element is written."""

    dtype: str
    length: int | None  #: elements that the list has room for
    element: tuple[int, ...] | None = None
    constant: Known | None = None  #: what every element is, for a list that only one known tensor was pushed to
    varies: bool = False  #: whether other elements were pushed too

    @property
    def needs_storage(self) -> bool:
        return self.constant is None or self.varies


@dataclass(frozen=True)
class ListHandle:
    """A list of tensors of one shape: `value` is [length, *element] on the device, None before the shape is known.
    `count` is the number of elements that were pushed, for lists which grow."""

    shape: ListShape
    value: Value | None = None
    count: Value | int | None = None


@dataclass(frozen=True)
class RandomKey:
    """The key of random draws: the seed, [2], that it was made from; None where the program's own seed serves."""

    seed: Value | None


@dataclass(frozen=True)
class HostResource:
    """A handle of what only the host has, such as an iterator over a data set."""

    tensor: Any


Entry = Known | Computed | Handle | ListHandle | RandomKey | HostResource


@dataclass
class Environment:
    """Entries of one graph by the name of the tensor, and where the graph stands in the outermost one."""

    path: str = ""  #: scopes of the call, "" for the outermost graph
    entries: dict[str, Entry] = field(default_factory=dict)
